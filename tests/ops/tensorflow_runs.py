"""Runs samples of ops and programs on TensorFlow; `record.py` starts it under such a Python.

It reads what to run from a pickle and writes what TensorFlow gave to another; it imports nothing
of ours. Graph rewriting is off, so values are what the ops themselves compute.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_library, op_def_registry

tf.disable_v2_behavior()


def plain_session(graph: Any) -> Any:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    config.inter_op_parallelism_threads = config.intra_op_parallelism_threads = 1
    return tf.Session(graph=graph, config=config)


def argument(value: Any) -> Any:
    """An attribute in TensorFlow's form; types come as ("dtype", enum)."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "dtype":
        return tf.as_dtype(value[1])
    if isinstance(value, tuple | list):
        return [argument(v) for v in value]
    return value


def built(item: dict[str, Any], make: Any) -> list[Any]:
    """The outputs of the op on inputs that `make` makes."""
    given = {
        name: [make(v) for v in value] if isinstance(value, list) else make(value)
        for name, value in item["inputs"]
    }
    attrs = {name: argument(v) for name, v in item["attrs"].items()}
    # by the op's own names of its arguments, which `tf.raw_ops` changes; None: the default
    declared = op_def_registry.get(item["op"])
    inferred = {
        attr for a in declared.input_arg for attr in (a.type_attr, a.number_attr, a.type_list_attr)
    }
    optional = [a.name for a in declared.attr if a.HasField("default_value")]
    defaults = dict.fromkeys(set(optional) - inferred)
    made = op_def_library._apply_op_helper(item["op"], **{**defaults, **given, **attrs})[2]
    return list(made.outputs)


def shape_of(tensor: Any) -> Any:
    shape = tensor.shape
    return None if shape.rank is None else shape.as_list()


def constant(value: Any) -> Any:
    return tf.constant(value, tf.as_dtype(value.dtype))


def static_shapes(item: dict[str, Any], make: Any) -> Any:
    """What the shape function says; the name of the error's class where it refuses."""
    with tf.Graph().as_default():
        try:
            return [shape_of(t) for t in built(item, make)]
        except Exception as error:
            return type(error).__name__


def sample(item: dict[str, Any]) -> dict[str, Any]:
    """Outputs, or an error's class, with the static shapes for constants and for placeholders."""
    feeds: dict[Any, Any] = {}

    def placeholder(value: Any) -> Any:
        made = tf.placeholder(tf.as_dtype(value.dtype))
        feeds[made] = value
        return made

    found: dict[str, Any] = {
        "known": static_shapes(item, constant),
        "ranks": static_shapes(item, lambda v: tf.placeholder(v.dtype, [None] * v.ndim)),
    }
    with tf.Graph().as_default() as graph:
        try:
            tensors = built(item, placeholder)
            with plain_session(graph) as session:
                found["outputs"] = [np.asarray(v) for v in session.run(tensors, feeds)]
        except Exception as error:
            found["error"] = type(error).__name__
            found["message"] = str(error)
    return found


def program(function: Any) -> Any:
    """What a program gives; an exception's class where it raises."""
    try:
        return [np.asarray(v) for v in function(tf)]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(source: str, target: str) -> None:
    work = pickle.loads(Path(source).read_bytes())
    found = {key: sample(item) for key, item in work["samples"].items()}
    programs: dict[str, Any] = {}
    for path in work["programs"]:
        spec = importlib.util.spec_from_file_location("programs", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        programs |= {f.__name__: program(f) for f in module.PROGRAMS}
    Path(target).write_bytes(pickle.dumps({"samples": found, "programs": programs}))


if __name__ == "__main__":
    main(*sys.argv[1:])
