"""Inputs that do not fit are refused in the same words when it is built and when it runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.errors import InvalidArgumentError, ShapeError

A, B = np.ones([2, 3], np.float32), np.ones([4, 5], np.float32)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (lambda x, y: x + y, (A, B)),
    "less": (lambda x, y: x < y, (A, B)),
    "matmul": (tf.matmul, (A[None], B[None])),
    "matmul of other batches": (tf.matmul, (np.ones([2, 3, 3]), np.ones([4, 3, 3]))),
    "concat": (lambda x, y: tf.concat([x, y], 0), (A, B)),
    "stack": (lambda x, y: tf.stack([x, y]), (A, B)),
    "reshape": (lambda x: tf.reshape(x, [4, -1]), (A,)),
    "reshape to a size": (lambda x: tf.reshape(x, [5]), (A,)),
    "transpose": (lambda x: tf.transpose(x, [0, 1, 2]), (A,)),
    "sum": (lambda x: tf.reduce_sum(x, 5), (A,)),
    "where": (lambda x, y: tf.where(x > 0, x, y), (A, B)),
    "squeeze": (lambda x: tf.squeeze(x, [0]), (A,)),
    "expand": (lambda x: tf.expand_dims(x, 7), (A,)),
    "slice": (lambda x: tf.slice(x, [0, 0], [5, 5]), (A,)),
    "index": (lambda x: x[7], (A,)),
    "tile": (lambda x: tf.tile(x, [1]), (A,)),
    "pad": (lambda x: tf.pad(x, [[1, 1]]), (A,)),
    "split": (lambda x: tf.split(x, 2, 1)[0], (A,)),
    "unstack": (lambda x: tf.unstack(x, 3)[0], (A,)),
    "bias": (tf.nn.bias_add, (A, A[0, :2])),
    "broadcast": (lambda x: tf.broadcast_to(x, [4, 4]), (A,)),
    "softmax": (
        lambda x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=y), (A, B[:2]),
    ),
    "inverse": (tf.matrix_inverse, (A,)),
    "addn": (lambda x, y: tf.add_n([x, y]), (A, B)),
    "convolution": (lambda x, y: tf.nn.conv2d(x, y, [1, 1, 1, 1], "SAME"), (A, B)),
}  # fmt: skip


def refused(build: Callable[[], Any]) -> tuple[type[Exception], str, str, str]:
    with pytest.raises((ShapeError, InvalidArgumentError)) as raised:
        build()
    error: Any = raised.value
    return type(error), error.what, error.do, error.made


@pytest.mark.parametrize("way", ["INTERPRET", "EMIT"])
@pytest.mark.parametrize("case", CASES)
def test_running_says_of_inputs_what_building_says(case: str, way: str) -> None:
    op, values = CASES[case]
    with getattr(config, way).set(True), tf.Graph().as_default():
        known = [tf.placeholder(tf.float32, v.shape) for v in values]
        _, what, do, _ = refused(lambda: op(*known))
        unknown = [tf.placeholder(tf.float32) for _ in values]
        out = op(*unknown)
        with tf.Session() as session:
            feeds = dict(zip(unknown, values, strict=True))
            kind, said, told, made = refused(lambda: session.run(out, feeds))
            assert kind is InvalidArgumentError
            assert __file__ in made
            assert told == do
            # what a kernel checks itself it may say in its own words
            assert said == what or not said.startswith(("ValueError", "IndexError", "AxisError"))


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "at the top": lambda x, y: x + y,
    "after others": lambda x, y: tf.exp(x * 2.0) + tf.tanh(y) * y,
    "in a branch": lambda x, y: tf.cond(tf.size(x) > 0, lambda: x + y, lambda: x),
    "in a loop": lambda x, y: tf.while_loop(
        lambda i, z: i < 3, lambda i, z: (i + 1, z + y), (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape(None)),
    )[1],
    "in a function": lambda x, y: tf.map_fn(lambda z: z + y, x),
    "beside a queue": lambda x, y: tf.tuple([x + y, tf.Print(x, [])])[0],
}  # fmt: skip


@pytest.mark.parametrize("way", ["INTERPRET", "EMIT", "STRICT"])
@pytest.mark.parametrize("place", PLACES)
def test_the_words_are_the_same_wherever_the_node_lies(place: str, way: str) -> None:
    with getattr(config, way).set(True), tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        out = PLACES[place](x, y)
        with pytest.raises(InvalidArgumentError) as raised:
            session.run(out, {x: A, y: B})
        assert "do not broadcast" in raised.value.what
        assert raised.value.do == "reshape one side, or reduce it first"
        assert __file__ in raised.value.made


@pytest.mark.parametrize("lowered", [True, False])
def test_dataflow_says_it_too(lowered: bool) -> None:
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
        tf.identity(PLACES["in a loop"](x, y), name="out")
        message = graph.as_graph_def(control_flow="v1" if lowered else "functional")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        with pytest.raises(InvalidArgumentError, match="do not broadcast"):
            session.run("out:0", {"x:0": A, "y:0": B})


def test_what_cannot_be_fed_names_the_tensor_its_line_and_the_cure() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        n = tf.placeholder(tf.int8, [], name="n")
        s = tf.placeholder(tf.string, name="s")
        for tensor, value, words in [
            (x, "text", "it is text"),
            (x, [["1", "b", "c"]], "it is text"),
            (x, [[1, 2, 3], [1]], "different lengths"),
            (x, [1.0, 2.0], "which has the shape [?,3]"),
            (x, 1j, "imaginary"),
            (x, x, "is a Tensor"),
            (x, object(), "cannot be fed"),
            (n, 300, "does not fit into int8"),
            (s, 3, "cannot be fed"),
        ]:
            with pytest.raises((ShapeError, tf.errors.DTypeError)) as raised:
                session.run(tensor, {tensor: value})
            assert words in raised.value.what
            assert raised.value.do
            assert __file__ in raised.value.made
            assert raised.value.node.startswith(f"{tensor.op.name} = Placeholder")


def test_names_that_are_not_there_are_told_with_those_that_are() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.identity(tf.constant(1.0, name="weights"), name="logits")
        with pytest.raises(ValueError, match="perhaps you mean 'logits'"):
            session.run("logit:0")
        with pytest.raises(KeyError, match="perhaps you mean 'weights'"):
            graph.get_operation_by_name("weigths")
        with pytest.raises(KeyError) as raised:
            graph.get_tensor_by_name("zzz:0")
        assert "perhaps" not in str(raised.value)


def test_the_old_order_of_concat_is_told() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        with pytest.raises(ValueError, match=r"swap them: concat\(values, axis=1\)"):
            tf.concat(1, [x, x])


@pytest.mark.parametrize("way", ["run", "callable", "callable with options"])
def test_the_error_has_the_operation_and_none_of_our_frames(way: str) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        out = tf.add(x, y, name="out")
        run = session.make_callable(out, [x, y], accept_options=way == "callable with options")
        ways = {
            "run": lambda: session.run(out, {x: A, y: B}),
            "callable": lambda: run(A, B),
            "callable with options": lambda: run(
                A, B, options=tf.RunOptions(), run_metadata=tf.RunMetadata()
            ),
        }
        for _ in range(4):
            assert np.all(run(A, A) == 2)
            with pytest.raises(tf.errors.OpError) as raised:
                ways[way]()
            error = raised.value
            assert error.op is graph.get_operation_by_name("out")
            assert error.node_def.name == "out"
            assert error.__cause__ is None
            assert {Path(entry.path).name for entry in raised.traceback} <= {
                Path(__file__).name, "session.py",
            }  # fmt: skip
            again = pickle.loads(pickle.dumps(error))
            assert (again.op, again.node_name) == (None, "out")
