"""Convolutions and pools to differentiate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.ops.table_conv import GEOMETRIES, GROUPED
from tests.ops.table_pool import PADDED, POOLS
from tests.ops.windows import laid_out, output_size

Given = tuple[str, tuple[Any, ...], dict[str, Any]]
Numbers = Callable[..., Any]


def convolution_cases(real: Numbers) -> Iterator[Given]:
    """Each of the three ops of both kinds of convolution: name, inputs, attributes."""
    for attrs, image, kernel in (*GEOMETRIES[:5], GROUPED):
        for prefix, by_depth in (("Conv2D", False), ("DepthwiseConv2dNative", True)):
            if by_depth and image[3] != kernel[2]:
                continue
            size = output_size(attrs, image[1:3], kernel)
            channels = kernel[3] * (kernel[2] if by_depth else 1)
            x, k = laid_out(real(*image), attrs), real(*kernel)
            g = laid_out(real(image[0], *size, channels), attrs)
            yield prefix, (x, k), attrs
            yield f"{prefix}BackpropInput", (np.array(x.shape, np.int32), k, g), attrs
            yield f"{prefix}BackpropFilter", (x, np.array(k.shape, np.int32), g), attrs


def pool_cases(apart: Numbers, real: Numbers) -> Iterator[Given]:
    """Each pool and its gradients, where no two elements of a window are close."""
    for attrs, image in (*POOLS[:3], PADDED):
        explicit = "explicit_paddings" in attrs
        x = laid_out(apart(*image), attrs)
        first = attrs.get("data_format") == b"NCHW"
        window = attrs["ksize"][2:4] if first else attrs["ksize"][1:3]
        size = output_size(attrs, image[1:3], window)
        g = laid_out(real(image[0], *size, image[3]), attrs)
        yield "MaxPool", (x,), attrs
        yield "MaxPoolGrad", (x, np.zeros(g.shape), g), attrs
        if not explicit:
            yield "MaxPoolGradGrad", (x, np.zeros(g.shape), real(*x.shape)), attrs
            yield "AvgPool", (x,), attrs
            yield "AvgPoolGrad", (np.array(x.shape, np.int32), g), attrs
