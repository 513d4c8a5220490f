"""Rows of convolutions, pools and activations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import each, positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, ints, numbers
from tests.ops.table_math import pair, unary

ONE = (1, 1, 1, 1)
LOOSE = {"float16": 8e-3, "bfloat16": 6e-2, "float32": 2e-5, "float64": 1e-12}
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


def laid_out(x: Any, attrs: dict[str, Any]) -> Any:
    """An NHWC image in the layout of the attributes."""
    return x.transpose(0, 3, 1, 2) if attrs.get("data_format") == b"NCHW" else x


def last(x: Any, attrs: dict[str, Any]) -> Any:
    """An image of the layout of the attributes as NHWC."""
    return x.transpose(0, 2, 3, 1) if attrs.get("data_format") == b"NCHW" else x


def places(
    attrs: dict[str, Any], image: tuple[int, ...], window: tuple[int, ...]
) -> list[tuple[tuple[int, int], list[tuple[int, int, int, int]]]]:
    """Each window with its elements that lie on the image: (i, j in it, row, column)."""
    rows = 2 if attrs.get("data_format") == b"NCHW" else 1
    strides = attrs["strides"][rows : rows + 2]
    dilations = attrs.get("dilations", ONE)[rows : rows + 2]
    starts = []
    for axis in (0, 1):
        size, reach = image[axis], (window[axis] - 1) * dilations[axis] + 1
        before = after = 0
        if attrs["padding"] == b"SAME":
            count = math.ceil(size / strides[axis])
            before = max(0, (count - 1) * strides[axis] + reach - size) // 2
        else:
            if attrs["padding"] == b"EXPLICIT":
                at = 2 * (rows + axis)
                before, after = attrs["explicit_paddings"][at : at + 2]
            count = (size + before + after - reach) // strides[axis] + 1
        starts.append([n * strides[axis] - before for n in range(count)])
    out = []
    for (a, top), (b, left) in ((p, q) for p in enumerate(starts[0]) for q in enumerate(starts[1])):
        inside = [
            (i, j, top + i * dilations[0], left + j * dilations[1])
            for i in range(window[0]) for j in range(window[1])
            if 0 <= top + i * dilations[0] < image[0] and 0 <= left + j * dilations[1] < image[1]
        ]  # fmt: skip
        out.append(((a, b), inside))
    return out


def output_size(attrs: dict[str, Any], image: Any, window: Any) -> tuple[int, int]:
    """How many windows there are."""
    found = places(attrs, image, window)
    return (max(a for (a, _), _ in found) + 1, max(b for (_, b), _ in found) + 1)


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


POOLS: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
    ({"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"VALID"}, (2, 5, 4, 2)),
    ({"ksize": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "padding": b"SAME"}, (1, 4, 5, 2)),
    ({"ksize": (1, 1, 2, 3), "strides": (1, 1, 1, 2), "padding": b"SAME", "data_format": b"NCHW"},
     (2, 3, 4, 1)),
    ({"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"VALID"}, (0, 4, 4, 1)),
)  # fmt: skip
PADDED: tuple[dict[str, Any], tuple[int, ...]] = (
    {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"EXPLICIT",
     "explicit_paddings": (0, 0, 1, 0, 0, 1, 0, 0)}, (1, 3, 3, 2),
)  # fmt: skip
DEEP: tuple[dict[str, Any], tuple[int, ...]] = (
    {"ksize": (1, 1, 1, 2), "strides": (1, 1, 1, 2), "padding": b"VALID"}, (2, 2, 1, 4),
)  # fmt: skip


def _window(attrs: dict[str, Any]) -> tuple[int, int]:
    at = 2 if attrs.get("data_format") == b"NCHW" else 1
    rows, columns = attrs["ksize"][at : at + 2]
    return rows, columns


def _pool_output(attrs: dict[str, Any], image: tuple[int, ...]) -> tuple[int, ...]:
    depth = attrs["ksize"][3] if attrs.get("data_format") != b"NCHW" else attrs["ksize"][1]
    return (image[0], *output_size(attrs, image[1:3], _window(attrs)), image[3] // depth)


def _maxima(attrs: dict[str, Any], x: Any) -> Iterable[tuple[Any, Any]]:
    """The place of each output with that of the first greatest element of its window."""
    out = _pool_output(attrs, x.shape)
    depth = x.shape[3] // out[3] if out[3] else 1
    for (a, b), elements in places(attrs, x.shape[1:3], _window(attrs)):
        for n, c in positions((out[0], out[3])):
            inside = [
                (n, row, column, c * depth + k)
                for _, _, row, column in elements for k in range(depth)
            ]  # fmt: skip
            if inside:
                yield (n, a, b, c), max(inside, key=lambda p: float(x[p]))


def _max_pool(image: Any, **attrs: Any) -> Any:
    x = last(image, attrs)
    out = np.zeros(_pool_output(attrs, x.shape), x.dtype)
    for r, p in _maxima(attrs, x):
        out[r] = x[p]
    return laid_out(out, attrs)


def _max_pool_grad(image: Any, output: Any, gradient: Any, **attrs: Any) -> Any:
    x, g = last(image, attrs), last(precise(gradient), attrs)
    out = np.zeros(x.shape, object)
    for r, p in _maxima(attrs, x):
        out[p] += g[r].item()
    return laid_out(out, attrs)


def _max_pool_grad_grad(image: Any, output: Any, gradient: Any, **attrs: Any) -> Any:
    x, g = last(image, attrs), last(gradient, attrs)
    out = np.zeros(_pool_output(attrs, x.shape), x.dtype)
    for r, p in _maxima(attrs, x):
        out[r] = g[p]
    return laid_out(out, attrs)


def _average(image: Any, **attrs: Any) -> Any:
    x = last(precise(image), attrs)
    out = np.zeros(_pool_output(attrs, x.shape), object)
    for (a, b), elements in places(attrs, x.shape[1:3], _window(attrs)):
        for n, c in positions((len(x), x.shape[3])):
            values = [x[n, row, column, c].item() for _, _, row, column in elements]
            out[n, a, b, c] = sum(values) / len(values)
    return laid_out(out, attrs)


def _average_grad(sizes: Any, gradient: Any, **attrs: Any) -> Any:
    g = last(precise(gradient), attrs)
    out = np.zeros(last(np.zeros(sizes), attrs).shape, object)
    for (a, b), elements in places(attrs, out.shape[1:3], _window(attrs)):
        for _, _, row, column in elements:
            for n, c in positions((len(out), out.shape[3])):
                out[n, row, column, c] += g[n, a, b, c].item() / len(elements)
    return laid_out(out, attrs)


def _pools(kind: str) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        many = (*POOLS, DEEP) if kind.startswith("max") else POOLS
        for attrs, shape in (*many, *((PADDED,) if kind in ("max", "max grad") else ())):
            x = laid_out(numbers(dtype, *shape), attrs)
            size = _pool_output(attrs, shape)
            g = laid_out(numbers(dtype, *size, seed=2), attrs)
            if kind in ("max", "average"):
                yield given(x, **attrs)
            elif kind == "max grad":
                yield given(x, g, numbers(dtype, *g.shape, seed=3), **attrs)
            elif kind == "max grad grad":
                yield given(x, g, numbers(dtype, *x.shape, seed=3), **attrs)
            else:
                yield given(ints(*x.shape), g, **attrs)

    return samples


_X = np.zeros((1, 4, 4, 3), np.float32)
_K = np.zeros((2, 2, 3, 1), np.float32)
_G = np.zeros((1, 4, 4, 1), np.float32)
_SAME = {"strides": ONE, "padding": b"SAME"}
_VALID = {"strides": ONE, "padding": b"VALID"}
_P = {"ksize": (1, 2, 2, 1), "strides": ONE, "padding": b"SAME"}


def _wrong_forward(channels: str) -> tuple[Wrong, ...]:
    return (
        Wrong(given(_X[..., :2], _K, **_SAME), rf"{channels}.*\(C5\)", channels),
        Wrong(given(_X[0], _K, **_SAME), r"rank 4.*\(C3\)", "rank 4"),
        Wrong(given(_X, _K[0], **_SAME), r"rank 4.*\(C3\)", "rank 4"),
        Wrong(given(_X, _K, strides=(1, 0, 1, 1), padding=b"SAME"), r"positive.*\(C1\)"),
        Wrong(given(_X, _K, strides=ONE, padding=b"EXPLICIT"), r"8 numbers.*\(C2\)"),
        Wrong(
            given(_X, _K, **_SAME, explicit_paddings=(0, 0, 1, 1, 0, 0, 0, 0)), r"\(C2\)",
        ),
        Wrong(
            given(_X, _K, strides=ONE, padding=b"EXPLICIT",
                  explicit_paddings=(1, 0, 0, 0, 0, 0, 0, 0)),
            r"batch and channels are not padded.*\(C2\)",
        ),
        Wrong(given(_X[:, :1, :1], np.zeros((4, 2, 3, 1), np.float32), **_VALID),
              r"larger than.*\(C4\)", "negative size"),
    )  # fmt: skip


_WRONG_TO_INPUT = (
    Wrong(given(ints(1, 4, 4), _K, _G, **_SAME), r"4 numbers, or 2, got 3 \(C6\)", "4 sizes"),
    Wrong(given(ints(2, 4, 4, 3), _K, _G, **_SAME), r"\(C6\)", "a gradient of shape"),
    Wrong(given(ints(1, 4, 4, 3), _K, _G[:, :2], **_SAME), "", "a gradient of shape"),
)
_WRONG_TO_FILTER = (
    Wrong(given(_X, ints(2, 2, 3), _G, **_SAME), r"4 numbers, got 3 \(C6\)", "4 sizes"),
    Wrong(given(_X, ints(2, 2, 3, 1), _G[:, :2], **_SAME), "", "a gradient of shape"),
)
CONVOLUTIONS = tuple(
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
_BIG = {"ksize": (1, 7, 1, 1), "strides": ONE, "padding": b"VALID"}
_FIVE = given(_X, ksize=(1, 1, 1, 2), strides=(1, 1, 1, 2), padding=b"VALID")
POOLING = (
    Row("MaxPool", _pools("max"), _max_pool,
        wrong=(Wrong(given(_X[0], **_P), r"\(C3\)", "rank 4"),
               Wrong(given(_X, **_BIG), r"\(C4\)", "negative size"),
               Wrong(_FIVE, r"\(C5\)", "do not divide"))),
    Row("MaxPoolGrad", _pools("max grad"), _max_pool_grad, tolerance=LOOSE,
        wrong=(Wrong(given(_X, _X, _X[:, :2], **_P), r"\(C6\)", "both are the same"),
               Wrong(given(_X, _X[:, :2], _X[:, :2], **_P), "", "a gradient of shape"))),
    Row("MaxPoolGradGrad", _pools("max grad grad"), _max_pool_grad_grad,
        wrong=(Wrong(given(_X, _X, _X[:, :2], **_P), r"\(C6\)", "both are the same"),)),
    Row("AvgPool", _pools("average"), _average, tolerance=LOOSE,
        wrong=(Wrong(given(_X[0], **_P), r"\(C3\)", "rank 4"),)),
    Row("AvgPoolGrad", _pools("average grad"), _average_grad, tolerance=LOOSE,
        wrong=(Wrong(given(ints(1, 2), _X, **_P), r"\(C6\)", "four sizes"),
               Wrong(given(ints(1, 2, 2, 3), _X, **_P), "", "a gradient of shape"))),
)  # fmt: skip

SCALE, SCALE_ALPHA = 1.0507009873554805, 1.7580993408473768
_M23 = np.zeros((2, 3), np.float32)
_DIFFER = (Wrong(given(_M23, _M23.T), r"differ \(C1\)", "a gradient of shape"),)
ACTIVATIONS = (
    Row("LeakyRelu", unary(), each(lambda x: x if not x <= 0 else x * float(np.float32(0.2)))),
    Row("LeakyReluGrad", pair(), each(lambda g, x: g if x > 0 else g * float(np.float32(0.2))),
        wrong=_DIFFER),
    Row("Relu6", unary(), each(lambda x: x if x != x else min(max(x, 0), 6))),
    Row("Relu6Grad", pair(), each(lambda g, x: g if 0 < x < 6 else 0), wrong=_DIFFER),
    Row("Elu", unary(), each(lambda x: math.expm1(x) if x < 0 else x)),
    Row("EluGrad", pair(), each(lambda g, y: g * (y + 1) if y < 0 else g), tolerance=LOOSE,
        wrong=_DIFFER),
    Row("Selu", unary(), each(lambda x: SCALE_ALPHA * math.expm1(x) if x < 0 else SCALE * x)),
    Row("SeluGrad", pair(), each(lambda g, y: g * (y + SCALE_ALPHA) if y < 0 else g * SCALE),
        tolerance=LOOSE, wrong=_DIFFER),
)  # fmt: skip
ROWS = (*CONVOLUTIONS, *POOLING, *ACTIVATIONS)
