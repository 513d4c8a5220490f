"""Cotangents through quantization: TensorFlow's, as if nothing was rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf

X = np.array([[-7.0, 0.3, 9.0]], np.float32)
ONE, THREE = (np.array(v, np.float32) for v in (6, [6, 6, 6]))
INSIDE = np.array([[0, 1, 0]], np.float32)
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]] = [
    ("FakeQuantWithMinMaxArgs", (), {}, (INSIDE,)),
    ("FakeQuantWithMinMaxVars", (-ONE, ONE), {}, (INSIDE, 1, 1)),
    ("FakeQuantWithMinMaxVarsPerChannel", (-THREE, THREE), {}, (INSIDE, [1, 0, 0], [0, 0, 1])),
    ("QuantizeAndDequantizeV2", (-ONE, ONE), {"range_given": True}, (np.ones((1, 3)), None, None)),
    ("QuantizeAndDequantizeV3", (-ONE, ONE, 8), {}, (np.ones((1, 3)), None, None)),
    ("QuantizeAndDequantizeV4", (-ONE, ONE), {"range_given": True}, (INSIDE, 0, 0)),
]


@pytest.mark.parametrize(("op", "ends", "attrs", "expected"), CASES, ids=[c[0] for c in CASES])
def test_cotangents_pass_where_numbers_are_between_the_ends(
    op: str, ends: tuple[Any, ...], attrs: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant(X), *map(tf.constant, ends)]
        y = tf.get_default_graph().add_node(op, inputs, attrs).outputs[0]
        found = tf.gradients(y, inputs[: len(expected)])
        assert [g is None for g in found] == [e is None for e in expected]
        for g, e in zip(found, expected, strict=True):
            if g is not None:
                np.testing.assert_array_equal(session.run(g), e)
