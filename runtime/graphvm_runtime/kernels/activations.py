"""Kernels of rectifiers with a slope, a limit or an exponential below zero; softened ones.

Each step of a 16-bit float is rounded, as TensorFlow does it on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import BRAIN, HALF, is_low
from graphvm_runtime.kernels.registry import kernel

# with these the mean and variance of normal numbers stay as they are
SELU_SCALE = 1.0507009873554805
SELU_SCALE_ALPHA = 1.7580993408473768


def _of_type(value: float, like: Array) -> Any:
    return like.dtype.type(value)


def _same(function: Callable[[Array, Array], Any]) -> Callable[[Array, Array], Any]:
    """The function of two arrays after a check that they have one shape."""

    def call(gradients: Array, other: Array) -> Any:
        if gradients.shape != other.shape:
            raise InvalidArgumentError(
                f"a gradient of shape {list(gradients.shape)} for a shape {list(other.shape)}"
            )
        return function(gradients, other)

    return call


@kernel("LeakyRelu")
def _leaky(node: Node) -> Callable[..., Any]:
    alpha: float = node.attrs["alpha"]
    return lambda x: np.where(x > 0, x, x * _of_type(alpha, x))


@kernel("LeakyReluGrad")
def _leaky_grad(node: Node) -> Callable[..., Any]:
    alpha: float = node.attrs["alpha"]
    return _same(lambda g, x: np.where(x > 0, g, g * _of_type(alpha, g)))


@kernel("Relu6")
def _relu6(node: Node) -> Callable[..., Any]:
    zero, six = node.attrs["T"].numpy.type(0), node.attrs["T"].numpy.type(6)
    return lambda x: np.minimum(np.maximum(x, zero), six)


@kernel("Relu6Grad")
def _relu6_grad(node: Node) -> Callable[..., Any]:
    zero, six = node.attrs["T"].numpy.type(0), node.attrs["T"].numpy.type(6)
    return _same(lambda g, x: g * ((x > zero) & (x < six)).astype(g.dtype))


def _low_expm1(x: Array) -> Any:
    return np.exp(x) - _of_type(1, x)


def _below_zero(node: Node) -> Callable[..., Any]:
    """The exponential less one, which TensorFlow takes in two steps for 16-bit floats."""
    return _low_expm1 if is_low(node.attrs["T"].numpy) else np.expm1


@kernel("Elu")
def _elu(node: Node) -> Callable[..., Any]:
    below = _below_zero(node)
    return lambda x: np.where(x < 0, below(np.minimum(x, _of_type(0, x))), x)


@kernel("EluGrad")
def _elu_grad(node: Node) -> Callable[..., Any]:
    return _same(lambda g, y: np.where(y < 0, g * (y + _of_type(1, y)), g))


@kernel("Selu")
def _selu(node: Node) -> Callable[..., Any]:
    exponential = _below_zero(node)

    def call(x: Array) -> Any:
        below = _of_type(SELU_SCALE_ALPHA, x) * exponential(np.minimum(x, _of_type(0, x)))
        return np.where(x < 0, below, _of_type(SELU_SCALE, x) * x)

    return call


@kernel("SeluGrad")
def _selu_grad(node: Node) -> Callable[..., Any]:
    def call(g: Array, y: Array) -> Any:
        below = g * (y + _of_type(SELU_SCALE_ALPHA, y))
        return np.where(y < 0, below, g * _of_type(SELU_SCALE, g))

    return _same(call)


@kernel("Softplus")
def _softplus(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy
    if not is_low(dtype):
        return lambda x: np.logaddexp(x, _of_type(0, x))
    # what TensorFlow takes for the least that one plus it is more than one; all in 16 bits
    epsilon = dtype.type(2.0 ** {HALF: -13, BRAIN: -7}[dtype])
    far = -(np.log(epsilon) + dtype.type(2))

    def call(x: Array) -> Any:
        exponential = np.exp(x)
        return np.where(x > far, x, np.where(x < -far, exponential, np.log1p(exponential)))

    return call


@kernel("SoftplusGrad")
def _softplus_grad(node: Node) -> Callable[..., Any]:
    return _same(lambda g, x: g / (np.exp(-x) + _of_type(1, x)))


@kernel("Softsign")
def _softsign(node: Node) -> Callable[..., Any]:
    return lambda x: x / (_of_type(1, x) + np.absolute(x))


@kernel("SoftsignGrad")
def _softsign_grad(node: Node) -> Callable[..., Any]:
    return _same(lambda g, x: g / np.square(_of_type(1, x) + np.absolute(x)))
