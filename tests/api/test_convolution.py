"""Convolutions, pools and activations as TensorFlow names and lays them out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import GraphError, ShapeError, UnimplementedError

IMAGE = np.arange(2 * 5 * 6 * 3, dtype=np.float32).reshape(2, 5, 6, 3) % 7
FILTER = np.arange(2 * 2 * 3 * 4, dtype=np.float32).reshape(2, 2, 3, 4) % 5 - 2


def run(fetch: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetch)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_strides_are_one_two_or_four_numbers() -> None:
    a = tf.nn.conv2d(IMAGE, FILTER, 2, "SAME")
    b = tf.nn.conv2d(IMAGE, FILTER, [2, 2], "SAME")
    c = tf.nn.conv2d(IMAGE, filters=FILTER, strides=[1, 2, 2, 1], padding="SAME")
    assert a.name == "Conv2D:0"
    assert a.shape.as_list() == [2, 3, 3, 4]
    first, second, third = run([a, b, c])
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)


def test_channels_may_come_first() -> None:
    last = tf.nn.conv2d(IMAGE, FILTER, [1, 2], [[0, 0], [1, 0], [0, 1], [0, 0]])
    first = tf.nn.conv2d(
        IMAGE.transpose(0, 3, 1, 2), FILTER, [1, 2], [[0, 0], [0, 0], [1, 0], [0, 1]],
        data_format="NCHW",
    )  # fmt: skip
    a, b = run([last, first])
    np.testing.assert_allclose(a, b.transpose(0, 2, 3, 1))


def test_a_transposed_convolution_is_its_derivative() -> None:
    x = tf.constant(IMAGE)
    y = tf.nn.conv2d(x, FILTER, 2, "SAME")
    g = np.ones([2, 3, 3, 4], np.float32)
    back = tf.nn.conv2d_transpose(g, FILTER, [2, 5, 6, 3], 2)
    assert back.name == "conv2d_transpose:0"
    np.testing.assert_allclose(*run([tf.gradients(y, x)[0], back]))


def test_backprops_are_the_derivatives() -> None:
    x, k = tf.constant(IMAGE), tf.constant(FILTER)
    y = tf.nn.conv2d(x, k, 1, "VALID")
    g = np.ones([2, 4, 5, 4], np.float32)
    by_input = tf.nn.conv2d_backprop_input(IMAGE.shape, k, g, 1, "VALID")
    by_filter = tf.nn.conv2d_backprop_filter(x, FILTER.shape, g, 1, "VALID")
    for a, b in zip(*run([tf.gradients(y, [x, k]), [by_input, by_filter]]), strict=True):
        np.testing.assert_allclose(a, b)


def test_a_separable_convolution_is_two() -> None:
    point = np.arange(12 * 2, dtype=np.float32).reshape(1, 1, 12, 2) % 3
    both = tf.nn.separable_conv2d(IMAGE, FILTER, point, [1, 1, 1, 1], "SAME")
    deep = tf.nn.depthwise_conv2d(IMAGE, FILTER, [1, 1, 1, 1], "SAME")
    assert deep.name == "depthwise:0"
    assert both.name == "separable_conv2d:0"
    a, b = run([both, tf.nn.conv2d(deep, point, 1, "VALID")])
    np.testing.assert_allclose(a, b)
    with pytest.raises(ShapeError):
        tf.nn.separable_conv2d(IMAGE, FILTER, FILTER, [1, 1, 1, 1], "SAME")


def test_a_depthwise_convolution_takes_gaps_or_strides() -> None:
    spread = np.zeros((3, 3, 3, 4), np.float32)
    spread[::2, ::2] = FILTER
    a = tf.nn.depthwise_conv2d(IMAGE, FILTER, [1, 1, 1, 1], "VALID", rate=[2, 2])
    b = tf.nn.depthwise_conv2d_native(IMAGE, spread, [1, 1, 1, 1], "VALID")
    np.testing.assert_allclose(*run([a, b]))
    with pytest.raises(GraphError, match="strides and rate cannot both"):
        tf.nn.depthwise_conv2d(IMAGE, FILTER, [1, 2, 2, 1], "VALID", rate=[2, 2])


def test_pools_have_names_as_in_tensorflow() -> None:
    x = tf.constant(IMAGE)
    pools = [tf.nn.max_pool(x, 2, 2, "SAME"), tf.nn.avg_pool(x, 2, 2, "SAME"),
             tf.nn.max_pool2d(x, [2], [2], "SAME"), tf.nn.max_pool(input=x, ksize=2, strides=1,
             padding=[[0, 0], [0, 0], [0, 0], [0, 0]])]  # fmt: skip
    assert [p.name for p in pools] == ["MaxPool:0", "AvgPool:0", "MaxPool2d:0", "MaxPool_1:0"]
    assert pools[0].shape.as_list() == [2, 3, 3, 3]
    assert pools[3].shape.as_list() == [2, 4, 5, 3]
    with pytest.raises(UnimplementedError, match="explicit padding"):
        tf.nn.avg_pool(x, 2, 2, [[0, 0], [1, 1], [0, 0], [0, 0]])


def test_windows_are_one_way_or_the_other() -> None:
    x = tf.constant(IMAGE)
    with pytest.raises(UnimplementedError, match="not both"):
        tf.nn.max_pool(x, [1, 2, 1, 3], [1, 1, 1, 3], "VALID")
    with pytest.raises(UnimplementedError, match="over the batch"):
        tf.nn.max_pool(x, [2, 1, 1, 1], 1, "VALID")
    with pytest.raises(UnimplementedError, match="over the batch"):
        tf.nn.conv2d(x, FILTER, [2, 1, 1, 1], "VALID")
    with pytest.raises(UnimplementedError, match="as long as its window"):
        tf.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 1], "VALID")
    with pytest.raises(UnimplementedError, match="AvgPool over channels"):
        tf.nn.avg_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "VALID")
    with pytest.raises(UnimplementedError, match="NCHW_VECT_C"):
        tf.nn.max_pool(x, 2, 2, "VALID", data_format="NCHW_VECT_C")


@pytest.mark.parametrize(
    ("padding", "strides", "message"),
    [
        ("EXPLICIT", 1, "as a list of pairs"),
        ([[1, 1], [0, 0]], 1, "four pairs"),
        (None, 1, "SAME, VALID or a list"),
        ("SAME", [1, 2, 3], "1, 2 or 4 numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(padding: Any, strides: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        tf.nn.conv2d(IMAGE, FILTER, strides, padding)


def test_the_greatest_of_nothing_finite_is_the_least_number() -> None:
    least = np.finfo(np.float32).min
    x = np.array([[np.nan, -np.inf], [np.nan, 2.0]], np.float32)[..., None, None]
    got = run(tf.nn.max_pool(x, [1, 2, 1, 1], 1, "VALID"))
    assert got.ravel().tolist() == [least, 2.0]


def test_activations() -> None:
    x = np.array([-2.0, 0.5, 7.0], np.float32)
    leaky = tf.nn.leaky_relu(np.array([-5, 5]), alpha=0.5)
    crelu = tf.nn.crelu(x)
    assert crelu.name == "CRelu/Relu:0"
    got = run([leaky, tf.nn.relu6(x), tf.nn.elu(x), tf.nn.selu(x), crelu])
    assert got[0].tolist() == [-2.5, 5.0]
    assert got[0].dtype == np.float32
    assert got[1].tolist() == [0.0, 0.5, 6.0]
    np.testing.assert_allclose(got[2], [np.expm1(-2), 0.5, 7.0], 1e-6)
    np.testing.assert_allclose(got[3], [-1.5201665, 0.52535, 7.354907], 1e-6)
    assert got[4].tolist() == [0.0, 0.5, 7.0, 2.0, 0.0, 0.0]
