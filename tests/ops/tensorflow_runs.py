"""Runs samples of ops and programs on TensorFlow; `record.py` starts it under such a Python.

It reads what to run from a pickle and writes what TensorFlow gave to another; it imports nothing
of ours. Graph rewriting is off, so values are what the ops themselves compute.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_library, op_def_registry

tf.disable_v2_behavior()
REFUSALS = (tf.errors.OpError, TypeError, ValueError)


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


def graph_for(item: dict[str, Any]) -> Any:
    """A graph as of a time at which the op was not deprecated."""
    graph = tf.Graph()
    version = op_def_registry.get(item["op"]).deprecation.version
    if version:
        older = tf.GraphDef()
        older.versions.producer = version - 1
        with graph.as_default():
            tf.import_graph_def(older, name="")
    return graph


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
    with graph_for(item).as_default():
        try:
            return [shape_of(t) for t in built(item, make)]
        except REFUSALS as error:
            return type(error).__name__


def sample(item: dict[str, Any]) -> dict[str, Any]:
    """Outputs, or an error's class, with the static shapes for constants and for placeholders."""
    found: dict[str, Any] = {
        "known": static_shapes(item, constant),
        "ranks": static_shapes(item, lambda v: tf.placeholder(v.dtype, [None] * v.ndim)),
    }
    # some shape functions refuse what has an unknown rank, or unknown dimensions
    return found | min((run(item, known) for known in KNOWLEDGE), key=is_refused)


# how much of an input's shape is known before
KNOWLEDGE: list[Callable[[Any], Any]] = [
    lambda value: None,
    lambda value: [None] * value.ndim,
    lambda value: value.shape,
]


def is_refused(found: dict[str, Any]) -> bool:
    return "error" in found and found["error"] in ("TypeError", "ValueError")


def run(item: dict[str, Any], known: Callable[[Any], Any]) -> dict[str, Any]:
    """Outputs, or an error's class, of inputs that are fed."""
    feeds: dict[Any, Any] = {}

    def placeholder(value: Any) -> Any:
        made = tf.placeholder(tf.as_dtype(value.dtype), known(value))
        feeds[made] = np.array(value)  # some ops write into what they are given
        return made

    with graph_for(item).as_default() as graph:
        try:
            tensors = built(item, placeholder)
            with plain_session(graph) as session:
                return {"outputs": [array(v) for v in session.run(tensors, feeds)]}
        except REFUSALS as error:
            return {"error": type(error).__name__, "message": str(error)}


def array(value: Any) -> Any:
    """What was fetched as an array; NumPy's own strings would lose zeros at their end."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def program(function: Any) -> Any:
    """What a program gives; an exception's class where it raises."""
    try:
        return [array(v) for v in function(tf)]
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
