"""Bodies nested deeper than Python can go down."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.errors import RuleError


@pytest.mark.parametrize("kind", ["cond", "call"])
def test_bodies_too_deep_to_be_differentiated_are_an_error_that_says_so(kind: str) -> None:
    def nested(depth: int, x: Any) -> Any:
        if not depth:
            return x * x
        if kind == "cond":
            return tf.cond(x > 0, lambda: nested(depth - 1, 1.01 * x), lambda: x)
        return tf.Defun(tf.float64, func_name=f"at_{depth}")(lambda y: nested(depth - 1, y))(x)

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [])
        y = nested(40, x)
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(len(inspect.stack(0)) + 250)
        try:
            with pytest.raises(RuleError, match="bodies deep is too deep") as raised:
                tf.gradients(y, x)
            assert "setrecursionlimit" in str(raised.value)
        finally:
            sys.setrecursionlimit(before)
        assert len(tf.gradients(y, x)) == 1
