"""Pools over images."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import TensorLike, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.ops.arguments import either
from graphvm.ops.windows import four, layout_of, padding_attrs
from graphvm_runtime.errors import UnimplementedError

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d"]


def _pool(
    op: str, stem: str, value: TensorLike, ksize: Any, strides: Any, padding: Any,
    data_format: str | None, name: str | None,
) -> Tensor:  # fmt: skip
    layout = layout_of(data_format)
    first = layout.startswith(b"NC")
    attrs = {
        "ksize": four(ksize, "ksize", first),
        "strides": four(strides, "strides", first),
        **padding_attrs(padding),
        "data_format": layout,
    }
    if op == "AvgPool" and "explicit_paddings" in attrs:
        raise UnimplementedError("averages over explicit padding are not defined", made=user_line())
    return output(op, (value,), attrs, name or stem)


def max_pool(
    value: TensorLike = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike = None,
) -> Tensor:
    """The greatest element of each window.

    Args:
        value: real, shape [batch, rows, columns, channels], or as `data_format` says.
        ksize: size of the windows: 1, 2 (rows and columns) or 4 numbers.
        strides: from one window to the next, likewise.
        padding: SAME, VALID, or a pair of numbers for each axis.
        data_format: NHWC or NCHW.
        name: name of the operation.
        input: the same as `value`.

    Returns:
        Same element type, shape [batch, windows down, windows across, channels]. NaN is no
        greatest element; where there is no other, the least finite number is.

    Raises:
        GraphError: sizes, strides or padding make no sense.
        ShapeError: the rank is not 4, or a window is larger than the image.

    Source: TF op `MaxPool`.
    """
    value = either("value", value, "input", input)
    return _pool("MaxPool", "MaxPool", value, ksize, strides, padding, data_format, name)


def max_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The greatest element of each window; see `max_pool`.

    Args:
        input: real, rank 4.
        ksize: size of the windows.
        strides: from one window to the next.
        padding: SAME, VALID, or a pair of numbers for each axis.
        data_format: NHWC or NCHW.
        name: name of the operation.

    Returns:
        Same element type.

    Raises:
        GraphError: sizes, strides or padding make no sense.
        ShapeError: the rank is not 4, or a window is larger than the image.

    Source: TF op `MaxPool`.
    """
    return _pool("MaxPool", "MaxPool2d", input, ksize, strides, padding, data_format, name)


def avg_pool(
    value: TensorLike = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike = None,
) -> Tensor:
    """The mean of the elements of each window; padding does not count.

    Args:
        value: floating, shape [batch, rows, columns, channels], or as `data_format` says.
        ksize: size of the windows: 1, 2 (rows and columns) or 4 numbers.
        strides: from one window to the next, likewise.
        padding: SAME or VALID.
        data_format: NHWC or NCHW.
        name: name of the operation.
        input: the same as `value`.

    Returns:
        Same element type, shape [batch, windows down, windows across, channels].

    Raises:
        GraphError: sizes or strides make no sense.
        ShapeError: the rank is not 4, or a window is larger than the image.
        UnimplementedError: the padding is explicit.

    Source: TF op `AvgPool`.
    """
    value = either("value", value, "input", input)
    return _pool("AvgPool", "AvgPool", value, ksize, strides, padding, data_format, name)


avg_pool2d = avg_pool
