"""Windows over images and volumes: what no table of derivatives can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf

RNG = np.random.default_rng(5)


IMAGE = RNG.permutation(40).reshape(1, 5, 4, 2).astype(np.float32)


def _pooled(volume: bool, padding: str) -> list[Any]:
    """A pool of an image, and derivatives of squares, up to the third."""
    op, more = (tf.raw_ops.MaxPool3D, (1,)) if volume else (tf.raw_ops.MaxPool, ())
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(IMAGE.reshape(1, *more, 5, 4, 2))
        windows = {"ksize": (1, *more, 3, 2, 1), "strides": (1, *more, 2, 1, 1)}
        y = op(input=x, padding=padding, **windows)
        found = [y]
        for _ in range(3):
            y = tf.gradients(y * y, x)[0]
            found.append(y)
        return [np.asarray(v).ravel() for v in session.run(found)]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_maxima_of_volumes_are_differentiated_as_those_of_images(padding: str) -> None:
    for volume, image in zip(_pooled(True, padding), _pooled(False, padding), strict=True):
        np.testing.assert_allclose(volume, image, rtol=1e-5)


@pytest.mark.parametrize("layout", ["NDHWC", "NCDHW"])
def test_gaps_in_windows_over_volumes_are_zeros_of_a_larger_filter(layout: str) -> None:
    x, k = RNG.normal(size=(1, 4, 5, 4, 2)), RNG.normal(size=(2, 2, 1, 2, 3))
    larger = np.zeros((3, 4, 1, 2, 3))
    larger[::2, ::3] = k
    if layout == "NCDHW":
        x, gaps = np.moveaxis(x, -1, 1), (1, 1, 2, 3, 1)
    else:
        gaps = (1, 2, 3, 1, 1)
    rest = {"strides": (1,) * 5, "padding": "VALID", "data_format": layout}
    with tf.Graph().as_default(), tf.Session() as session:
        with_gaps = tf.raw_ops.Conv3D(input=x, filter=k, dilations=gaps, **rest)
        whole = tf.raw_ops.Conv3D(input=x, filter=larger, **rest)
        got, want = session.run([with_gaps, whole])
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_a_large_convolution_is_made_of_tiles() -> None:
    """Whose edges do not show."""
    x, k = RNG.normal(size=(3, 90, 60, 16)), RNG.normal(size=(3, 3, 16, 4))
    with tf.Graph().as_default(), tf.Session() as session:
        image, filters = tf.constant(x), tf.constant(k)
        y = tf.nn.conv2d(image, filters, 1, "SAME")
        got, by = session.run([y, tf.gradients(y * y, filters)[0]])
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    parts = {(i, j): padded[:, i : i + 90, j : j + 60] for i in range(3) for j in range(3)}
    want = sum(part @ k[at] for at, part in parts.items())
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    for at, part in parts.items():
        want_by = np.einsum("nhwc,nhwf->cf", part, 2 * want)
        np.testing.assert_allclose(by[at], want_by, rtol=1e-9, atol=1e-7)


def test_a_dilation_hands_gradients_to_the_greatest_sums() -> None:
    x, k = RNG.permutation(24).reshape(1, 4, 3, 2) * 1.0, RNG.permutation(8).reshape(2, 2, 2) / 9.0
    attrs = {"strides": (1, 2, 1, 1), "rates": (1, 1, 2, 1), "padding": "SAME"}
    with tf.Graph().as_default(), tf.Session() as session:
        given = [tf.constant(x), tf.constant(k)]
        y = tf.reduce_sum(
            tf.square(tf.raw_ops.Dilation2D(input=given[0], filter=given[1], **attrs))
        )
        found = session.run(tf.gradients(y, given))
        for at, (value, gradient) in enumerate(zip((x, k), found, strict=True)):
            for place in np.ndindex(value.shape):
                step = np.zeros(value.shape)
                step[place] = 1e-4
                above, below = (session.run(y, {given[at]: value + s}) for s in (step, -step))
                assert gradient[place] == pytest.approx((above - below) / 2e-4, abs=1e-6)
