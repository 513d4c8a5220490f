"""Complex derivatives conjugate where TensorFlow's do; the values were recorded from TensorFlow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf

A = np.array([1 + 2j, -0.5 + 0.3j, 2 - 1j])
B = np.array([0.3 - 1j, 1 + 1j, -2 + 0.1j])

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "sqrt": lambda x, y: tf.sqrt(x) * y,
    "rsqrt": lambda x, y: tf.rsqrt(x),
    "tanh": lambda x, y: tf.tanh(x) * y,
    "sig": lambda x, y: tf.sigmoid(x),
    "exp": lambda x, y: tf.exp(x) * tf.log(y),
    "sq": lambda x, y: tf.square(x) - y,
    "sin": lambda x, y: tf.sin(x) * tf.cos(y),
    "pow": lambda x, y: tf.pow(x, y),
    "conj": lambda x, y: tf.conj(x) * y,
    "sum": lambda x, y: tf.reduce_sum(x * y),
    "prod": lambda x, y: tf.reduce_prod(x) * y,
    "mean": lambda x, y: tf.reduce_mean(x) * y,
    "rec": lambda x, y: 1.0 / x,
    "matmul": lambda x, y: tf.matmul(tf.reshape(x, [1, 3]), tf.reshape(y, [3, 1])),
    "neg": lambda x, y: -x * y,
    "sd": lambda x, y: tf.squared_difference(x, y),
}
RECORDED: dict[str, tuple[Any, Any]] = {
    "mul": (
        [0.95 + 1.35j, 1 - 2j, -3.05 + 0.85j],
        [0.5 - 3.5j, -0.9 - 0.2j, 3.5 + 0.5j],
    ),
    "div": (
        [-0.045872 - 1.513761j, 1 + 0.5j, -0.735661 + 0.286783j],
        [2.150492 - 2.428247j, -0.1 + 0.45j, -0.880902 - 0.037002j],
    ),
    "sqrt": (
        [0.032896 + 0.550983j, 1.436841 + 0.281459j, -0.927248 + 0.51092j],
        [1.514954 - 1.815237j, -0.062201 - 1.205765j, 2.3548 - 0.212332j],
    ),
    "rsqrt": (
        [-0.054322 - 0.230111j, 1.60762 + 0.753729j, -0.124301 + 0.201124j],
        None,
    ),
    "tanh": (
        [0.480038 - 0.9474j, 0.337442 - 1.857843j, 0.145754 + 0.184946j],
        [1.871833 - 0.218181j, -0.863498 - 0.109509j, 1.539097 - 0.456678j],
    ),
    "sig": (
        [0.421692 + 0.560633j, 0.350206 - 0.146313j, 0.081656 - 0.164606j],
        None,
    ),
    "exp": (
        [3.893304 - 3.887265j, -0.168542 - 0.80584j, 28.979911 - 23.035435j],
        [-3.689714 + 1.825756j, 0.669062 + 0.110478j, -4.720121 - 3.42917j],
    ),
    "sq": (
        [1 - 7j, -1.8 - 0.4j, 7 + 1j],
        [-1.5 + 0.5j, -1.5 + 0.5j, -1.5 + 0.5j],
    ),
    "sin": (
        [7.981225 + 3.661314j, 1.756553 + 0.723592j, 0.509558 + 0.672499j],
        [-6.79588 - 2.169138j, 1.245031 - 0.36704j, 1.640072 - 1.389042j],
    ),
    "pow": (
        [-2.34005 + 1.615663j, 0.139861 - 0.089202j, 0.05089 + 0.292238j],
        [5.858549 - 5.930009j, -0.095528 + 0.154558j, 0.212818 - 0.222134j],
    ),
    "conj": (
        [0.95 - 1.35j, 1 + 2j, -3.05 - 0.85j],
        [2.5 + 2.5j, -0.6 + 0.7j, 2.5 - 2.5j],
    ),
    "sum": (
        [0.95 + 1.35j, 1 - 2j, -3.05 + 0.85j],
        [0.5 - 3.5j, -0.9 - 0.2j, 3.5 + 0.5j],
    ),
    "prod": (
        [0.99 + 1.07j, -3.8 + 4.1j, 1.07 - 0.99j],
        [-4.2 + 1.9j, -4.2 + 1.9j, -4.2 + 1.9j],
    ),
    "mean": (
        [-0.366667 + 0.066667j, -0.366667 + 0.066667j, -0.366667 + 0.066667j],
        [1.033333 - 1.066667j, 1.033333 - 1.066667j, 1.033333 - 1.066667j],
    ),
    "rec": (
        [0.1 - 0.3j, -0.778547 + 4.584775j, -0.1 + 0.3j],
        None,
    ),
    "matmul": (
        [0.95 + 1.35j, 1 - 2j, -3.05 + 0.85j],
        [0.5 - 3.5j, -0.9 - 0.2j, 3.5 + 0.5j],
    ),
    "neg": (
        [-0.95 - 1.35j, -1 + 2j, 3.05 - 0.85j],
        [-0.5 + 3.5j, 0.9 + 0.2j, -3.5 - 0.5j],
    ),
    "sd": (
        [5.1 + 8.3j, -5.2 - 0.6j, 10.9 - 7.3j],
        [-5.1 - 8.3j, 5.2 + 0.6j, -10.9 + 7.3j],
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_gradients_are_tensorflows(name: Any) -> None:
    with tf.Graph().as_default():
        x, y = tf.constant(A), tf.constant(B)
        z = FUNCTIONS[name](x, y)
        weights = tf.zeros_like(z) + tf.constant(1.5 - 0.5j, tf.complex128)
        gradients = tf.gradients(z, [x, y], grad_ys=weights)
        with tf.Session() as sess:
            for gradient, want in zip(gradients, RECORDED[name], strict=True):
                assert (gradient is None) == (want is None)
                if want is not None:
                    np.testing.assert_allclose(sess.run(gradient), want, atol=2e-6)
