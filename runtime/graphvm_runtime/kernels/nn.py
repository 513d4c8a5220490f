"""Kernels of neural networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import SINGLE, is_low, unsigned_like, widened
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.ops.nn import channel_axis

_sum_up: Callable[..., Any] = np.add.reduce
_maximum: Callable[..., Any] = np.maximum.reduce


@kernel("Relu")
def _relu(node: Node) -> Kernel:
    zero = node.attrs["T"].numpy.type(0)

    def call(x: Array, out: Array | None = None) -> Any:
        return np.maximum(x, zero, out=out)

    return Kernel(call, out=True, inplace=True)


@kernel("ReluGrad")
def _relu_grad(node: Node) -> Kernel:
    zero = node.attrs["T"].numpy.type(0)

    def call(gradients: Array, features: Array, out: Array | None = None) -> Any:
        if gradients.shape != features.shape:
            raise InvalidArgumentError(
                f"a gradient of shape {list(gradients.shape)} for features of shape "
                f"{list(features.shape)}"
            )
        return np.multiply(gradients, features > zero, out)

    return Kernel(call, out=True, inplace=True)


@kernel("BiasAdd", "BiasAddV1")
def _bias_add(node: Node) -> Kernel:
    axis = channel_axis(node.attrs.get("data_format", b"NHWC"))

    def call(value: Array, bias: Array, out: Array | None = None) -> Any:
        if value.ndim < 2 or bias.ndim != 1 or value.shape[axis] != len(bias):
            raise InvalidArgumentError(
                f"a bias of shape {list(bias.shape)} for channels on axis {axis} of the shape "
                f"{list(value.shape)}"
            )
        if axis == 1:
            bias = bias.reshape((-1,) + (1,) * (value.ndim - 2))
        return np.add(value, bias, out)

    return Kernel(call, out=True, inplace=True)


@kernel("BiasAddGrad")
def _bias_add_grad(node: Node) -> Callable[..., Any]:
    axis = channel_axis(node.attrs["data_format"])
    dtype = node.attrs["T"].numpy

    def call(gradient: Array) -> Any:
        if gradient.ndim < 2:
            raise InvalidArgumentError(f"rank 2 or more, got the shape {list(gradient.shape)}")
        channels = axis % gradient.ndim
        others = tuple(i for i in range(gradient.ndim) if i != channels)
        return _sum_up(gradient, others, gradient.dtype)

    return widened(call, dtype)


def _shifted(logits: Array) -> Array:
    """Logits less the greatest of each row, so that no exponential overflows."""
    if not logits.shape[-1]:
        return logits.copy()
    shifted: Array = logits - _maximum(logits, -1, None, None, True)
    return shifted


def _softmax_rows(logits: Array) -> Array:
    _check_rank(logits)
    out = _shifted(logits)
    np.exp(out, out)
    np.true_divide(out, _sum_up(out, -1, None, None, True), out)
    return out


def _log_softmax_rows(logits: Array) -> Array:
    _check_rank(logits)
    out = _shifted(logits)
    np.subtract(out, np.log(_sum_up(np.exp(out), -1, None, None, True)), out)
    return out


def _check_rank(logits: Array) -> None:
    if not logits.ndim:
        raise InvalidArgumentError("logits need rank 1 or more, got a scalar")


@kernel("Softmax")
def _softmax(node: Node) -> Kernel:
    dtype = node.attrs["T"].numpy
    return Kernel(widened(_softmax_rows, dtype))


@kernel("LogSoftmax")
def _log_softmax(node: Node) -> Kernel:
    dtype = node.attrs["T"].numpy
    return Kernel(widened(_log_softmax_rows, dtype))


def _cross_entropy_rows(features: Array, labels: Array) -> tuple[Array, Array]:
    if features.shape != labels.shape:
        features, labels = np.broadcast_arrays(features, labels)
    if features.ndim != 2:
        raise InvalidArgumentError(f"features are a matrix, got the shape {list(features.shape)}")
    shifted = _shifted(features)
    exponentials = np.exp(shifted)
    sums = _sum_up(exponentials, 1, None, None, True)
    loss = _sum_up(labels * (np.log(sums) - shifted), 1)
    np.true_divide(exponentials, sums, exponentials)
    return loss, np.subtract(exponentials, labels, exponentials)


@kernel("SoftmaxCrossEntropyWithLogits")
def _cross_entropy(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy
    return widened(_cross_entropy_rows, dtype)


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_cross_entropy(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy
    low = is_low(dtype)
    unsigned = unsigned_like(node.attrs["Tlabels"].numpy)

    def call(features: Array, labels: Array) -> Any:
        if features.ndim != 2 or labels.shape != features.shape[:1]:
            raise InvalidArgumentError(
                f"labels of shape {list(labels.shape)} for features of shape {list(features.shape)}"
            )
        rows, classes = features.shape
        if rows and labels.view(unsigned).max() >= classes:
            wrong = labels[(labels < 0) | (labels >= classes)][0]
            raise InvalidArgumentError(
                f"the label {wrong} is outside the valid range [0, {classes})"
            )
        shifted = _shifted(features.astype(SINGLE) if low else features)
        exponentials = np.exp(shifted)
        sums = _sum_up(exponentials, 1, None, None, True)
        at = np.arange(rows)
        loss = np.log(sums[:, 0]) - shifted[at, labels]
        np.true_divide(exponentials, sums, exponentials)
        exponentials[at, labels] -= exponentials.dtype.type(1)
        if low:
            return loss.astype(dtype), exponentials.astype(dtype)
        return loss, exponentials

    return call


def _half_square_sum(x: Array) -> Any:
    flat = x.reshape(-1)
    return np.dot(flat, flat) / flat.dtype.type(2)


@kernel("L2Loss")
def _l2_loss(node: Node) -> Callable[..., Any]:
    return widened(_half_square_sum, node.attrs["T"].numpy)
