"""Nodes that run functions of another signature are refused, and named, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime import config


@pytest.fixture(autouse=True)
def graph() -> Any:
    # users run without the checks of all rules that tests run with
    with config.VERIFY.set(False), tf.Graph().as_default() as made:
        yield made


def function(name: str, takes: int, gives: int, kind: Any = tf.float32) -> Any:
    """A function of some floats that gives some values of a kind."""

    def body(*given: Any) -> Any:
        return [tf.cast(given[0] + float(i), kind) for i in range(gives)]

    return tf.Defun(*[tf.float32] * takes, func_name=name)(body)


def less(takes: int = 1) -> Any:
    return tf.Defun(*[tf.float32] * takes, func_name="less")(lambda *given: given[0] < 3.0)


def x() -> Any:
    return tf.placeholder_with_default(1.0, [])


def loop(cond: Any, body: Any, count: int = 1) -> Any:
    return tf.raw_ops.While(input=[x() for _ in range(count)], cond=cond, body=body)


def branch(then: Any, otherwise: Any, count: int = 1) -> Any:
    return tf.raw_ops.If(
        cond=tf.placeholder_with_default(True, []), input=[x()], Tout=[tf.float32] * count,
        then_branch=then, else_branch=otherwise,
    )  # fmt: skip


def call(f: Any, count: int = 1) -> Any:
    return tf.raw_ops.PartitionedCall(args=[x()], Tout=[tf.float32] * count, f=f)


def counted(body: Any) -> Any:
    return tf.raw_ops.For(start=0, limit=3, delta=1, input=[x()], body=body)


def declared() -> Any:
    made = tf.Declare("Odd", [("n", tf.float32)], [("r", tf.bool)])(x())
    function("Odd", 1, 1).add_to_graph(tf.get_default_graph())
    return made


PROGRAMS = {
    "loop, another type": lambda: loop(less(), function("b", 1, 1, tf.int32)),
    "loop, more results": lambda: loop(less(), function("b", 1, 2)),
    "loop, fewer results": lambda: loop(less(2), function("b", 2, 1), 2),
    "loop, more parameters": lambda: loop(less(), function("b", 2, 1)),
    "condition, fewer parameters": lambda: loop(less(), function("b", 2, 2), 2),
    "condition, more parameters": lambda: loop(less(2), function("b", 1, 1)),
    "condition, two results": lambda: loop(function("two", 1, 2, tf.bool), function("b", 1, 1)),
    "branch, another type": lambda: branch(function("b", 1, 1, tf.int32), function("c", 1, 1)),
    "branch, more results": lambda: branch(function("b", 1, 1), function("c", 1, 2)),
    "branch, fewer results": lambda: branch(function("b", 1, 2), function("c", 1, 1), 2),
    "branch, more parameters": lambda: branch(function("b", 1, 1), function("c", 2, 1)),
    "call, another type": lambda: call(function("b", 1, 1, tf.int32)),
    "call, fewer results": lambda: call(function("b", 1, 1), 2),
    "call, more parameters": lambda: call(function("b", 2, 1)),
    "counted, no counter": lambda: counted(function("b", 2, 1)),
    "declared, another type": declared,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_signature_is_refused(name: str) -> None:
    made = PROGRAMS[name]()
    with tf.Session() as sess:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"(takes|gives) ") as caught:
                sess.run(made)
            assert "test_signatures.py" in str(caught.value)
        assert sess.run(tf.constant(1)) == 1
