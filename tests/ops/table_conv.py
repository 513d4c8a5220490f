"""Rows of convolutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import precise
from tests.ops.rows import Row, Sample, Wrong, given, ints, numbers
from tests.ops.windows import LOOSE, ONE, laid_out, last, output_size, places

# attributes of a convolution, and the shapes of its image (NHWC) and filter
GEOMETRIES: tuple[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]], ...] = (
    ({"strides": ONE, "padding": b"SAME"}, (2, 4, 5, 2), (3, 2, 2, 2)),
    ({"strides": (1, 2, 3, 1), "padding": b"VALID"}, (1, 5, 7, 2), (2, 3, 2, 3)),
    ({"strides": (1, 2, 1, 1), "padding": b"SAME", "dilations": (1, 2, 2, 1)},
     (1, 6, 5, 1), (2, 3, 1, 2)),
    ({"strides": ONE, "padding": b"EXPLICIT", "explicit_paddings": (0, 0, 1, 0, 2, 1, 0, 0)},
     (1, 3, 3, 2), (2, 2, 2, 1)),
    ({"strides": (1, 1, 2, 2), "padding": b"SAME", "data_format": b"NCHW"},
     (1, 4, 3, 2), (2, 2, 2, 2)),
    ({"strides": ONE, "padding": b"VALID"}, (2, 3, 2, 3), (1, 1, 3, 2)),
    ({"strides": ONE, "padding": b"SAME"}, (0, 3, 2, 3), (2, 1, 3, 2)),
)  # fmt: skip
GROUPED = ({"strides": ONE, "padding": b"SAME"}, (1, 3, 3, 4), (2, 2, 2, 4))


def products(
    attrs: dict[str, Any], image: tuple[int, ...], kernel: tuple[int, ...], by_depth: bool
) -> Iterable[tuple[Any, Any, Any]]:
    """The places in image, filter and output whose values a convolution multiplies and adds."""
    deep, many = kernel[2:]
    groups = image[3] // deep
    for (a, b), elements in places(attrs, image[1:3], kernel):
        for i, j, row, column in elements:
            for n in range(image[0]):
                for c in range(image[3]):
                    for m in range(many):
                        if by_depth:
                            yield (n, row, column, c), (i, j, c, m), (n, a, b, c * many + m)
                        elif m // (many // groups) == c // deep:
                            yield (n, row, column, c), (i, j, c % deep, m), (n, a, b, m)


def _convolution(by_depth: bool) -> Callable[..., Any]:
    def reference(image: Any, kernel: Any, **attrs: Any) -> Any:
        x, k = last(precise(image), attrs), precise(kernel)
        size = output_size(attrs, x.shape[1:3], k.shape)
        out = np.zeros((len(x), *size, k.shape[3] * (k.shape[2] if by_depth else 1)), object)
        for p, q, r in products(attrs, x.shape, k.shape, by_depth):
            out[r] += x[p].item() * k[q].item()
        return laid_out(out, attrs)

    return reference


def _to_input(by_depth: bool) -> Callable[..., Any]:
    def reference(sizes: Any, kernel: Any, gradient: Any, **attrs: Any) -> Any:
        k, g = precise(kernel), last(precise(gradient), attrs)
        out = np.zeros(last(np.zeros(sizes), attrs).shape, object)
        for p, q, r in products(attrs, out.shape, k.shape, by_depth):
            out[p] += g[r].item() * k[q].item()
        return laid_out(out, attrs)

    return reference


def _to_filter(by_depth: bool) -> Callable[..., Any]:
    def reference(image: Any, sizes: Any, gradient: Any, **attrs: Any) -> Any:
        x, g = last(precise(image), attrs), last(precise(gradient), attrs)
        out = np.zeros(sizes, object)
        for p, q, r in products(attrs, x.shape, out.shape, by_depth):
            out[q] += x[p].item() * g[r].item()
        return out

    return reference


def _samples(kind: str, by_depth: bool) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        for attrs, image, kernel in (*GEOMETRIES, *(() if by_depth else (GROUPED,))):
            x = laid_out(numbers(dtype, *image), attrs)
            k = numbers(dtype, *kernel, seed=1)
            size = output_size(attrs, image[1:3], kernel)
            channels = kernel[3] * (kernel[2] if by_depth else 1)
            g = laid_out(numbers(dtype, image[0], *size, channels, seed=2), attrs)
            if kind == "forward":
                yield given(x, k, **attrs)
            elif kind == "input":
                yield given(ints(*x.shape), k, g, **attrs)
            else:
                yield given(x, ints(*kernel), g, **attrs)

    return samples


_X = np.zeros((1, 4, 4, 3), np.float32)
_K = np.zeros((2, 2, 3, 1), np.float32)
_G = np.zeros((1, 4, 4, 1), np.float32)
_SAME = {"strides": ONE, "padding": b"SAME"}
_VALID = {"strides": ONE, "padding": b"VALID"}


def _wrong_forward(channels: str) -> tuple[Wrong, ...]:
    return (
        Wrong(given(_X[..., :2], _K, **_SAME), rf"{channels}", channels),
        Wrong(given(_X[0], _K, **_SAME), r"rank 4", "rank 4"),
        Wrong(given(_X, _K[0], **_SAME), r"rank 4", "rank 4"),
        Wrong(given(_X, _K, strides=(1, 0, 1, 1), padding=b"SAME"), r"positive"),
        Wrong(given(_X, _K, strides=ONE, padding=b"EXPLICIT"), r"8 numbers"),
        Wrong(
            given(_X, _K, **_SAME, explicit_paddings=(0, 0, 1, 1, 0, 0, 0, 0)),
                r"explicit paddings with padding=SAME",
        ),
        Wrong(
            given(_X, _K, strides=ONE, padding=b"EXPLICIT",
                  explicit_paddings=(1, 0, 0, 0, 0, 0, 0, 0)),
            r"batch and channels are not padded",
        ),
        Wrong(given(_X[:, :1, :1], np.zeros((4, 2, 3, 1), np.float32), **_VALID),
              r"larger than", "negative size"),
    )  # fmt: skip


_WRONG_TO_INPUT = (
    Wrong(given(ints(1, 4, 4), _K, _G, **_SAME), r"4 numbers, or 2, got 3", "4 sizes"),
    Wrong(given(ints(2, 4, 4, 3), _K, _G, **_SAME), r"differ", "a gradient of shape"),
    Wrong(given(ints(1, 4, 4, 3), _K, _G[:, :2], **_SAME), "", "a gradient of shape"),
)
_WRONG_TO_FILTER = (
    Wrong(given(_X, ints(2, 2, 3), _G, **_SAME), r"4 numbers, got 3", "4 sizes"),
    Wrong(given(_X, ints(2, 2, 3, 1), _G[:, :2], **_SAME), "", "a gradient of shape"),
)
ROWS = tuple(
    row
    for forward, prefix, deep, said in (
        ("Conv2D", "Conv2D", False, "channels of the input"),
        ("DepthwiseConv2dNative", "DepthwiseConv2dNative", True, "channels of the input"),
    )
    for row in (
        Row(forward, _samples("forward", deep), _convolution(deep), tolerance=LOOSE,
            wrong=_wrong_forward(said)),
        Row(f"{prefix}BackpropInput", _samples("input", deep), _to_input(deep), tolerance=LOOSE,
            wrong=_WRONG_TO_INPUT),
        Row(f"{prefix}BackpropFilter", _samples("filter", deep), _to_filter(deep),
            tolerance=LOOSE, wrong=_WRONG_TO_FILTER),
    )
)  # fmt: skip
