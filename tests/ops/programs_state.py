"""Programs of variables that end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.programs import made, outcomes


def temporary(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        variable = made(tf, "TemporaryVariable", shape=[2], dtype=tf.float32, var_name="t")
        first = tf.assign(variable, [1.0, 2.0])
        twice = tf.assign_add(first, [0.5, 0.5])
        end = made(tf, "DestroyTemporaryVariable", ref=twice, var_name="t")
        wrong = made(tf, "DestroyTemporaryVariable", ref=twice, var_name="u")
        return outcomes(tf, graph, end, end, wrong)


def destroyed(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        handle = made(tf, "VarHandleOp", dtype=tf.float32, shape=[], shared_name="v")
        write = made(tf, "AssignVariableOp", resource=handle, value=tf.constant(1.5))
        read = made(tf, "ReadVariableOp", resource=handle, dtype=tf.float32)
        end = made(tf, "DestroyResourceOp", resource=handle)
        strict = made(tf, "DestroyResourceOp", resource=handle, ignore_lookup_error=False)
        return outcomes(tf, graph, end, strict, write, read, end, read, end, write, strict, strict)


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (temporary, destroyed)
