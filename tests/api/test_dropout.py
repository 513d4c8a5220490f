"""Dropout gives TensorFlow's numbers, and the derivative sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_the_numbers_are_tensorflows() -> None:
    tf.set_random_seed(4)
    first = tf.nn.dropout(X, 0.5, seed=3)
    assert first.name == "dropout/SelectV2:0"
    assert run(first).tolist() == [[2, 4, 0, 8], [10, 0, 0, 0], [0, 0, 22, 24]]


def test_a_rate_may_be_fed_and_the_derivative_sees_the_mask() -> None:
    x, rate = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float64, [])
    y = tf.nn.dropout(x, rate=rate)
    assert y.shape.as_list() == [None, 4]
    (slope,) = tf.gradients(y, [x])
    got, by_x = run([y, slope], {x: np.ones([50, 4]), rate: 0.75})
    np.testing.assert_array_equal(got, by_x)
    assert set(np.unique(got)) == {0.0, 4.0}
    assert 0.1 < (got > 0).mean() < 0.4


@pytest.mark.parametrize("known", [True, False])
def test_a_mask_may_be_shared_along_an_axis(known: bool) -> None:
    x = tf.placeholder(tf.float32, [30, 4] if known else [None, 4])
    got = run(tf.nn.dropout(x, 0.5, noise_shape=[None, 1]), {x: np.ones([30, 4])})
    assert (got == got[:, :1]).all()
    assert set(np.unique(got)) == {0.0, 2.0}


def test_no_dropout_gives_what_it_takes() -> None:
    x = tf.constant(X)
    assert tf.nn.dropout(x, 1.0) is x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give the rate"),
        ({"keep_prob": 0.5, "rate": 0.5}, "give the rate"),
        ({"rate": 1.0}, r"is in \[0, 1\), not 1.0"),
        ({"keep_prob": 1.5}, r"is in \[0, 1\), not -0.5"),
        ({"x": [1, 2], "rate": 0.5}, "takes no int32"),
    ],
)
def test_what_is_wrong_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.nn.dropout(**{"x": X, **arguments})
