"""Convolutions over images."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.ops.arguments import either
from graphvm.ops.windows import ONES, four, layout_of, padding_attrs
from graphvm_runtime.errors import GraphError

__all__ = [
    "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "depthwise_conv2d", "depthwise_conv2d_native", "separable_conv2d",
]  # fmt: skip


def _attrs(strides: Any, padding: Any, data_format: str | None, dilations: Any) -> dict[str, Any]:
    layout = layout_of(data_format)
    first = layout == b"NCHW"
    return {
        "strides": four(strides, "strides", first),
        **padding_attrs(padding),
        "data_format": layout,
        "dilations": four(dilations, "dilations", first),
    }


def conv2d(
    input: TensorLike,
    filter: TensorLike = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
    filters: TensorLike = None,
) -> Tensor:
    """Images convolved with filters.

    Args:
        input: floating or int32, shape [batch, rows, columns, channels], or as `data_format` says.
        filter: same element type, shape [rows, columns, channels, filters]; fewer channels than
            the input has make groups.
        strides: from one window to the next: 1, 2 (rows and columns) or 4 numbers.
        padding: SAME, VALID, or a pair of numbers for each axis.
        use_cudnn_on_gpu: written into the graph.
        data_format: NHWC or NCHW.
        dilations: from one element of a window to the next: 1, 2 or 4 numbers.
        name: name of the operation.
        filters: the same as `filter`.

    Returns:
        Same element type, shape [batch, windows down, windows across, filters].

    Raises:
        DTypeError: the element type is another one.
        GraphError: strides, dilations or padding make no sense.
        ShapeError: ranks are not 4, channels do not fit, or a window is larger than the image.

    Source: TF op `Conv2D`.
    """
    filter = either("filter", filter, "filters", filters)
    attrs = _attrs(strides, padding, data_format, dilations)
    return output("Conv2D", (input, filter), {**attrs, "use_cudnn_on_gpu": use_cudnn_on_gpu}, name)


def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike = None,
    out_backprop: TensorLike = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
    filters: TensorLike = None,
) -> Tensor:
    """Derivative of a convolution by its input.

    Args:
        input_sizes: int32, the shape of the input, or its rows and columns.
        filter: shape [rows, columns, channels, filters].
        out_backprop: derivative by the output.
        strides: see `conv2d`.
        padding: see `conv2d`.
        use_cudnn_on_gpu: written into the graph.
        data_format: NHWC or NCHW.
        dilations: see `conv2d`.
        name: name of the operation.
        filters: the same as `filter`.

    Returns:
        Of the shape `input_sizes`.

    Raises:
        ShapeError: the shapes do not belong together.

    Source: TF op `Conv2DBackpropInput`.
    """
    filter = either("filter", filter, "filters", filters)
    attrs = _attrs(strides, padding, data_format, dilations)
    return output(
        "Conv2DBackpropInput", (input_sizes, filter, out_backprop),
        {**attrs, "use_cudnn_on_gpu": use_cudnn_on_gpu}, name,
    )  # fmt: skip


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
) -> Tensor:
    """Derivative of a convolution by its filter.

    Args:
        input: the images.
        filter_sizes: int32, the shape of the filter.
        out_backprop: derivative by the output.
        strides: see `conv2d`.
        padding: see `conv2d`.
        use_cudnn_on_gpu: written into the graph.
        data_format: NHWC or NCHW.
        dilations: see `conv2d`.
        name: name of the operation.

    Returns:
        Of the shape `filter_sizes`.

    Raises:
        ShapeError: the shapes do not belong together.

    Source: TF op `Conv2DBackpropFilter`.
    """
    attrs = _attrs(strides, padding, data_format, dilations)
    return output(
        "Conv2DBackpropFilter", (input, filter_sizes, out_backprop),
        {**attrs, "use_cudnn_on_gpu": use_cudnn_on_gpu}, name,
    )  # fmt: skip


def conv2d_transpose(
    value: TensorLike = None,
    filter: TensorLike = None,
    output_shape: TensorLike = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike = None,
    filters: TensorLike = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of a convolution: images that a convolution would make `value` of.

    Args:
        value: floating, rank 4.
        filter: same element type, shape [rows, columns, channels of the result, channels].
        output_shape: int32, shape of the result.
        strides: see `conv2d`.
        padding: see `conv2d`.
        data_format: NHWC or NCHW.
        name: name of the operation.
        input: the same as `value`.
        filters: the same as `filter`.
        dilations: see `conv2d`.

    Returns:
        Of the shape `output_shape`.

    Raises:
        ShapeError: the shapes do not belong together.

    Source: TF op `Conv2DBackpropInput`.
    """
    value, filter = (
        either("value", value, "input", input),
        either("filter", filter, "filters", filters),
    )
    with op_scope(name or "conv2d_transpose", (value, filter, output_shape)) as scope:
        sizes = convert_to_tensor(output_shape, name="input_sizes")
        attrs = _attrs(strides, padding, data_format, dilations)
        return output("Conv2DBackpropInput", (sizes, filter, value), attrs, scope)


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
) -> Tensor:
    """Each channel of images convolved with filters of its own.

    Args:
        input: floating, shape [batch, rows, columns, channels], or as `data_format` says.
        filter: same element type, shape [rows, columns, channels, filters a channel].
        strides: four numbers.
        padding: SAME, VALID, or a pair of numbers for each axis.
        data_format: NHWC or NCHW.
        dilations: four numbers.
        name: name of the operation.

    Returns:
        Same element type; the channels are those of the input times the filters of each.

    Raises:
        DTypeError: the element type is not floating.
        ShapeError: channels or ranks do not fit.

    Source: TF op `DepthwiseConv2dNative`.
    """
    attrs = _attrs(strides, padding, data_format, dilations)
    return output("DepthwiseConv2dNative", (input, filter), attrs, name)


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Each channel of images convolved with filters of its own, which may have gaps.

    Args:
        input: floating, shape [batch, rows, columns, channels], or as `data_format` says.
        filter: same element type, shape [rows, columns, channels, filters a channel].
        strides: four numbers.
        padding: SAME, VALID, or a pair of numbers for each axis.
        rate: from one element of a window to the next, over rows and columns.
        name: name of the operation.
        data_format: NHWC or NCHW.
        dilations: the same as `rate`.

    Returns:
        Same element type; the channels are those of the input times the filters of each.

    Raises:
        DTypeError: the element type is not floating.
        ShapeError: channels or ranks do not fit.
        GraphError: both strides and rate are more than 1.

    Source: TF op `DepthwiseConv2dNative`, whose dilations TensorFlow runs on GPUs alone.
    """
    rate = either("rate", rate, "dilations", dilations)
    attrs = _attrs(strides, padding, data_format, rate)
    if max(attrs["strides"]) > 1 and max(attrs["dilations"]) > 1:
        raise GraphError("strides and rate cannot both be more than 1", made=user_line())
    with op_scope(name or "depthwise", (input, filter)) as scope:
        return output("DepthwiseConv2dNative", (input, filter), attrs, scope)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """A convolution of each channel by itself, then one that mixes channels.

    Args:
        input: floating, shape [batch, rows, columns, channels], or as `data_format` says.
        depthwise_filter: shape [rows, columns, channels, filters a channel].
        pointwise_filter: shape [1, 1, channels times filters a channel, filters].
        strides: four numbers.
        padding: SAME or VALID.
        rate: from one element of a window to the next, over rows and columns.
        name: name of the operation.
        data_format: NHWC or NCHW.
        dilations: the same as `rate`.

    Returns:
        Same element type, with `filters` channels.

    Raises:
        ShapeError: the pointwise filter is not 1 by 1, or channels do not fit.

    Source: TF ops `DepthwiseConv2dNative`, `Conv2D`.
    """
    with op_scope(name or "separable_conv2d", (input, depthwise_filter, pointwise_filter)) as scope:
        pointwise = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        pointwise.shape.with_rank(4).assert_is_compatible_with([1, 1, None, None])
        deep = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, "depthwise", data_format, dilations
        )
        return conv2d(deep, pointwise, ONES, "VALID", data_format=data_format, name=scope)
