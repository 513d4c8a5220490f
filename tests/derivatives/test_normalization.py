"""Batch normalization in one op has the derivatives of the same in many ops, to second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from tests.ops.rows import real

SHAPE = (2, 3, 2, 4)


def in_many_ops(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, axes: list[int]) -> Any:
    if mean is None:
        mean = tf.reduce_mean(x, axes, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), axes, keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 0.01) * scale + offset


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_derivatives(version: str, layout: str, training: bool) -> None:
    axis = layout.index("C")
    count = SHAPE[axis]
    x, w, u = (real(*SHAPE).astype(np.float32) for _ in range(3))
    scale, offset, mean = (real(count).astype(np.float32) for _ in range(3))
    variance = np.abs(real(count)).astype(np.float32) + 0.5
    wide = [1, 1, 1, 1]
    wide[axis] = count
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.constant(v) for v in (x, scale, offset)]
        by = tf.constant(w)
        given = [np.zeros(0, np.float32)] * 2 if training else [mean, variance]
        op = getattr(tf.raw_ops, f"FusedBatchNorm{version}")
        one = op(
            x=xs[0], scale=xs[1], offset=xs[2], mean=given[0], variance=given[1], epsilon=0.01,
            data_format=layout, is_training=training,
        ).y  # fmt: skip
        known = [None, None] if training else [v.reshape(wide) for v in (mean, variance)]
        axes = [i for i in range(4) if i != axis]
        vectors = [tf.reshape(v, wide) for v in xs[1:]]
        many = in_many_ops(xs[0], vectors[0], vectors[1], known[0], known[1], axes)
        found = []
        for y in (one, many):
            first = tf.gradients(y, xs, grad_ys=[by])
            value = tf.add_n(
                [tf.reduce_sum(g * v) for g, v in zip(first, (u, scale + 1, offset), strict=True)]
            )
            second = tf.gradients(value, [*xs[:2], by])
            (pushed,) = tf.jvp([y], xs[:1], [tf.constant(u)])
            found.append(session.run([y, *first, *second, pushed]))
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
