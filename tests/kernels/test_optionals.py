"""Optionals: what they hold, what they refuse, their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.dtypes import float32, int32, string
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.values.optional import Optional
from tests.kernels.calling import Bench

KINDS: dict[str, Any] = {"output_types": (float32, string), "output_shapes": ((2,), None)}


def test_an_optional_gives_back_what_it_holds() -> None:
    bench = Bench()
    x, s = np.ones(2, np.float32), np.array(b"s", object)
    held = bench("OptionalFromValue", [x, s])
    assert bench("OptionalHasValue", held)
    got = bench("OptionalGetValue", held, **KINDS)
    assert got[0].tolist() == [1, 1]
    assert got[1] == b"s"


def test_nothing_has_no_value() -> None:
    bench = Bench()
    nothing = bench("OptionalNone")
    assert not bench("OptionalHasValue", nothing)
    with pytest.raises(InvalidArgumentError, match="has no value"):
        bench("OptionalGetValue", nothing, **KINDS)


@pytest.mark.parametrize(
    ("types", "shapes", "message"),
    [
        ((int32,), (None,), "component 0 of the optional is of float32, not int32"),
        ((float32,), ((3,),), r"has the shape \[2\], not \[3\]"),
        ((float32, float32), (None, None), "has 1 components, 2 are asked for"),
    ],
)
def test_what_is_asked_for_must_be_there(types: object, shapes: object, message: str) -> None:
    bench = Bench()
    held = bench("OptionalFromValue", [np.ones(2, np.float32)])
    with pytest.raises(InvalidArgumentError, match=message):
        bench("OptionalGetValue", held, output_types=types, output_shapes=shapes)


def test_sums_and_zeros() -> None:
    one = Optional((float32, string), (np.ones(2, np.float32), np.array([b"x"], object)))
    two = Optional((float32,), (np.ones(2, np.float32),))
    nothing = Optional((), None)
    assert [v.tolist() for v in one.zeros().values or ()] == [[0, 0], [b""]]
    assert [v.tolist() for v in two.added(two).values or ()] == [[2, 2]]
    assert nothing.zeros() is nothing
    assert nothing.added(nothing) is nothing
    with pytest.raises(InvalidArgumentError, match="cannot be added"):
        two.added(nothing)


def test_derivatives_go_through_an_optional() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([2.0, 3.0])
        held = tf.raw_ops.OptionalFromValue(components=[x, x * x, tf.constant(1)])
        a, b, _ = tf.raw_ops.OptionalGetValue(
            optional=held,
            output_types=[tf.float32, tf.float32, tf.int32],
            output_shapes=[[2], [2], []],
        )
        (g,) = tf.gradients(tf.reduce_sum(a * b), x)
        (t,) = tf.jvp(tf.reduce_sum(a * b), x, tf.ones([2]))
        (only_b,) = tf.gradients(b, x)
        got = session.run([g, t, only_b])
        assert got[0].tolist() == [12, 27]
        assert got[1] == 39
        assert got[2].tolist() == [4, 6]
