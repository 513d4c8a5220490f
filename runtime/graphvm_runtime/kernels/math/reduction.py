"""Kernels of reductions, scans, sums of many, segments and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, variant
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.math.elementwise import element_type, truncated_division
from graphvm_runtime.kernels.precision import SINGLE, is_low
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.ops.math.reduction import range_length
from graphvm_runtime.values.tensor_list import TensorList

# `reduce(array, axis, dtype, out, keepdims, initial)`
_sum_up: Callable[..., Any] = np.add.reduce
_multiply_up: Callable[..., Any] = np.multiply.reduce
_maximum: Callable[..., Any] = np.maximum.reduce
_minimum: Callable[..., Any] = np.minimum.reduce
_every: Callable[..., Any] = np.logical_and.reduce
_some: Callable[..., Any] = np.logical_or.reduce


def axes_of(axes: Array) -> Any:
    """Reduction axes as NumPy takes them.

    A tuple in any case: NumPy would take the integers 0 and -1 as axes of a scalar.
    """
    found = axes.tolist()
    if axes.ndim > 1:
        found = axes.ravel().tolist()
    return tuple(found) if isinstance(found, list) else (found,)


def _reduced(reduce: Callable[..., Any], dtype: np.dtype[Any], keep: bool) -> Callable[..., Any]:
    """A sum or product that stays in its type; 16-bit floats are added up in float32."""
    if is_low(dtype):

        def low(x: Array, axes: Array) -> Any:
            wide = x.astype(SINGLE)
            return reduce(wide, axes_of(axes), SINGLE, None, keep).astype(dtype)

        return low

    def call(x: Array, axes: Array) -> Any:
        return reduce(x, axes_of(axes), dtype, None, keep)

    return call


@kernel("Sum")
def _sum(node: Node) -> Callable[..., Any]:
    return _reduced(_sum_up, element_type(node), node.attrs["keep_dims"])


@kernel("Prod")
def _prod(node: Node) -> Callable[..., Any]:
    return _reduced(_multiply_up, element_type(node), node.attrs["keep_dims"])


@kernel("Mean")
def _mean(node: Node) -> Callable[..., Any]:
    dtype = element_type(node)
    keep: bool = node.attrs["keep_dims"]
    if dtype.kind in "iu":
        wide = np.dtype(np.int64 if dtype.kind == "i" else np.uint64)

        def whole(x: Array, axes: Array) -> Any:
            total = _sum_up(x, axes_of(axes), wide, None, keep)
            count = x.size // total.size if total.size else 0
            if not count:
                return total.astype(dtype)
            return truncated_division(total, np.asarray(count, wide)).astype(dtype)

        return whole
    exact = SINGLE if is_low(dtype) else dtype

    def call(x: Array, axes: Array) -> Any:
        total = _sum_up(x if exact is dtype else x.astype(exact), axes_of(axes), exact, None, keep)
        count = x.size // total.size if total.size else 1
        if not count and exact.kind == "c":
            return total  # TensorFlow's mean of no complex numbers is 0, that of no floats NaN
        mean = total / exact.type(count)
        return mean if exact is dtype else mean.astype(dtype)

    return call


def least(dtype: DType) -> Any:
    """What is below every value: -inf, or the least integer."""
    return dtype.numpy.type(-np.inf) if dtype.is_floating else np.iinfo(dtype.numpy).min


def greatest(dtype: DType) -> Any:
    """What is above every value: inf, or the greatest integer."""
    return dtype.numpy.type(np.inf) if dtype.is_floating else np.iinfo(dtype.numpy).max


@kernel("Max", "Min")
def _extreme(node: Node) -> Callable[..., Any]:
    keep: bool = node.attrs["keep_dims"]
    is_max = node.op.name == "Max"
    reduce = _maximum if is_max else _minimum
    dtype: DType = node.attrs["T"]
    none = dtype.numpy.type(least(dtype) if is_max else greatest(dtype))

    def call(x: Array, axes: Array) -> Any:
        if x.size:
            return reduce(x, axes_of(axes), None, None, keep)
        return reduce(x, axes_of(axes), None, None, keep, none)

    return call


@kernel("All")
def _all(node: Node) -> Callable[..., Any]:
    keep: bool = node.attrs["keep_dims"]
    return lambda x, axes: _every(x, axes_of(axes), None, None, keep)


@kernel("Any")
def _any(node: Node) -> Callable[..., Any]:
    keep: bool = node.attrs["keep_dims"]
    return lambda x, axes: _some(x, axes_of(axes), None, None, keep)


@kernel("Cumprod", "Cumsum")
def _cumulative(node: Node) -> Callable[..., Any]:
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    dtype = element_type(node)
    is_sum = node.op.name == "Cumsum"
    accumulate = np.add.accumulate if is_sum else np.multiply.accumulate
    first = 0 if is_sum else 1

    def call(x: Array, axis: Array) -> Any:
        at = int(axis)
        if not -x.ndim <= at < x.ndim:
            raise InvalidArgumentError(f"axis {at} is outside the rank {x.ndim}")
        along = np.moveaxis(x, at, 0)
        if reverse:
            along = along[::-1]
        out = np.empty(along.shape, dtype)
        if exclusive:
            out[:1] = first
            accumulate(along[:-1], 0, dtype, out[1:])
        else:
            accumulate(along, 0, dtype, out)
        out = out[::-1] if reverse else out
        return np.ascontiguousarray(np.moveaxis(out, 0, at))

    return call


@kernel("ArgMax", "ArgMin")
def _arg_extreme(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["T"]
    to = element_type(node, "output_type")
    is_max = node.op.name == "ArgMax"

    def call(x: Array, axis: Array) -> Any:
        if not x.ndim:
            raise InvalidArgumentError("a scalar has no axis to look along")
        at: int = axis.item()
        if not -x.ndim <= at < x.ndim:
            raise InvalidArgumentError(f"axis {at} is outside the rank {x.ndim}")
        if not x.shape[at]:
            raise InvalidArgumentError(
                f"the axis to look along must not be empty, got axis {at} of {list(x.shape)}"
            )
        if is_low(x.dtype):
            x = x.astype(SINGLE)
        # NumPy finds the first NaN, TensorFlow passes over it; inf - inf is only a false alarm
        if dtype.is_floating and np.isnan(_sum_up(x, None)):
            x = np.where(np.isnan(x), x.dtype.type(-np.inf if is_max else np.inf), x)
        return (x.argmax if is_max else x.argmin)(at).astype(to)

    return call


@kernel("EuclideanNorm")
def _euclidean_norm(node: Node) -> Callable[..., Any]:
    dtype = element_type(node)
    keep: bool = node.attrs["keep_dims"]
    exact = SINGLE if is_low(dtype) else dtype

    def call(x: Array, axes: Array) -> Any:
        wide = x.astype(exact, copy=False)
        squares = wide * wide.conj() if exact.kind == "c" else wide * wide
        total = _sum_up(squares, axes_of(axes), exact, None, keep)
        return np.sqrt(total).astype(dtype, copy=False)

    return call


@kernel("CumulativeLogsumexp")
def _cumulative_logsumexp(node: Node) -> Callable[..., Any]:
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    dtype = element_type(node)
    exact = SINGLE if is_low(dtype) else dtype

    def call(x: Array, axis: Array) -> Any:
        at = int(axis)
        along = np.moveaxis(x, at, 0).astype(exact, copy=False)
        along = along[::-1] if reverse else along
        out = np.logaddexp.accumulate(along, 0)
        if exclusive:
            out = np.concatenate([np.full_like(out[:1], -np.inf), out[:-1]])
        out = out[::-1] if reverse else out
        return np.ascontiguousarray(np.moveaxis(out, 0, at).astype(dtype, copy=False))

    return call


@kernel("AddN", "AccumulateNV2")
def _add_n(node: Node) -> Kernel:
    if node.attrs["T"] is variant:
        return Kernel(lambda *lists: _added_lists(lists))

    def call(*inputs: Array, out: Array | None = None) -> Any:
        first = inputs[0]
        for other in inputs[1:]:
            if other.shape != first.shape:
                raise InvalidArgumentError(
                    f"all inputs must have one shape, got {list(first.shape)} and "
                    f"{list(other.shape)}"
                )
        if len(inputs) == 1:
            return first.copy()
        total = np.add(first, inputs[1], out=out)
        for other in inputs[2:]:
            total = np.add(total, other, total) if total.ndim else np.add(total, other, out=out)
        return total

    if len(node.inputs) == 1:
        return Kernel(call)
    # of three inputs the last may not be written to before it is read
    return Kernel(call, out=True, inplace=len(node.inputs) == 2)


def _added_lists(lists: tuple[TensorList, ...]) -> TensorList:
    total = lists[0]
    for other in lists[1:]:
        total = total.added(other)
    return total


@kernel("Range")
def _range(node: Node) -> Callable[..., Any]:
    dtype = element_type(node, "Tidx")
    if dtype.kind in "iu":

        def whole(start: Array, limit: Array, delta: Array) -> Array:
            first, last, by = int(start), int(limit), int(delta)
            range_length(first, last, by)
            return np.arange(first, last, by, dtype=dtype)

        return whole

    def call(start: Array, limit: Array, delta: Array) -> Array:
        count = range_length(float(start), float(limit), float(delta))
        result: Array = np.arange(count).astype(dtype) * delta + start
        return result

    return call


@kernel("LinSpace")
def _lin_space(node: Node) -> Callable[..., Any]:
    dtype = element_type(node)
    exact = SINGLE if is_low(dtype) else dtype

    def call(start: Array, stop: Array, num: Array) -> Array:
        count = int(num)
        if count <= 0:
            raise InvalidArgumentError(f"num is 1 or more, got {count}")
        first, last = exact.type(start), exact.type(stop)
        step = (last - first) / exact.type(max(count - 1, 1))
        out = (first + step * np.arange(count).astype(exact)).astype(dtype)
        if count > 1:
            out[-1] = last  # exactly, whatever the rounding was
        return out

    return call
