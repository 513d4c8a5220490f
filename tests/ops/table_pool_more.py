"""Rows of pools over volumes, of pools whose windows are inputs, and of the places of maxima."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, Wrong, apart, given, ints, numbers, real
from tests.ops.windows import LOOSE, places

# attributes, shape of the image and of the output
VOLUMES: tuple[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]], ...] = (
    ({"ksize": (1, 2, 1, 2, 1), "strides": (1, 2, 1, 1, 1), "padding": b"VALID"},
     (2, 4, 2, 3, 2), (2, 2, 2, 2, 2)),
    ({"ksize": (1, 2, 3, 2, 1), "strides": (1, 1, 2, 2, 1), "padding": b"SAME"},
     (1, 3, 4, 3, 2), (1, 3, 2, 2, 2)),
    ({"ksize": (1, 2, 2, 2, 1), "strides": (1, 1, 1, 1, 1), "padding": b"SAME"},
     (0, 2, 2, 2, 1), (0, 2, 2, 2, 1)),
)  # fmt: skip
IMAGES: tuple[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]], ...] = (
    ({"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"VALID"},
     (2, 5, 4, 2), (2, 2, 2, 2)),
    ({"ksize": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "padding": b"SAME"},
     (2, 4, 5, 2), (2, 2, 5, 2)),
    ({"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"VALID"},
     (0, 4, 4, 1), (0, 2, 2, 1)),
)  # fmt: skip


def _special(dtype: DType, *shape: int) -> Any:
    """Ties, and of floats infinities and NaN."""
    x = numbers(dtype, *shape, low=0, high=2, seed=5)
    if not dtype.is_floating:
        return x
    flat = np.round(x.astype(np.float32)).ravel()
    flat[:: len(flat) // 3] = np.nan
    flat[-len(flat) // 2 :] = -np.inf
    return flat.reshape(shape).astype(x.dtype)


def _volumes(kind: str) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        # TensorFlow refuses nothing as the input of the second gradient
        for attrs, image, out in VOLUMES[: 2 if kind == "grad grad" else 3]:
            x, g = numbers(dtype, *image), numbers(dtype, *out, seed=2)
            # what the greatest element of each window is does not matter to a shape
            y = numbers(dtype, *out, seed=3)
            if kind == "forward":
                yield given(x, **attrs)
            elif kind == "average grad":
                yield given(ints(*image), g, **attrs)
            else:
                y[...] = x.flat[0] if x.size else 0
                yield given(x, y, g if kind == "grad" else numbers(dtype, *image, seed=4), **attrs)
        attrs = VOLUMES[0][0]
        if kind == "forward":
            yield given(_special(dtype, 1, 4, 2, 3, 1), **attrs)
            yield given(numbers(dtype, 4, 2, 3, 1), **attrs)
            yield given(numbers(dtype, 1, 4, 2, 3, 1), **{**attrs, "ksize": (1, 0, 1, 1, 1)})
        elif kind == "average grad":
            yield given(ints(1, 2), numbers(dtype, 1, 2, 2, 2, 1), **attrs)
        else:
            x = np.ones((1, 4, 2, 3, 1), dtype.numpy)
            g = numbers(dtype, 1, 2, 2, 2, 1)
            yield given(x, np.ones_like(g), g if kind == "grad" else _special(dtype, *x.shape),
                        **attrs)  # fmt: skip
            yield given(x[0], g, g, **attrs)

    return samples


def _maxima(x: Any, attrs: dict[str, Any], out: tuple[int, ...]) -> Any:
    y = np.zeros(out, x.dtype)
    for (a, b), elements in places(attrs, x.shape[1:3], attrs["ksize"][1:3]):
        if len(x):
            y[:, a, b] = np.max([x[:, row, column] for _, _, row, column in elements], 0)
    return y


def _with_inputs(kind: str) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        for attrs, image, out in IMAGES:
            windows = ints(*attrs["ksize"]), ints(*attrs["strides"])
            x, y = numbers(dtype, *image), numbers(dtype, *out)
            if kind == "grad grad":
                y = _maxima(x, attrs, out)
            padding = {"padding": attrs["padding"]}
            if kind == "forward":
                yield given(x, *windows, **padding)
            else:
                shape = out if kind == "grad" else image
                yield given(x, y, numbers(dtype, *shape, seed=2), *windows, **padding)
        x, padding = numbers(dtype, 1, 4, 4, 2), {"padding": b"VALID"}
        windows = ints(1, 2, 2, 1), ints(1, 1, 1, 1)
        if kind == "forward":
            yield given(_special(dtype, 1, 4, 4, 2), *windows, **padding)
            yield given(x, ints(1, 1, 1, 2), ints(1, 1, 1, 2), **padding)
            yield given(x[0], *windows, **padding)
            yield given(x, ints(1, 2, 2), windows[1], **padding)
            yield given(x, windows[0], ints(1, 0, 1, 1), **padding)
        else:
            yield given(x[0], x, x, *windows, **padding)
            yield given(x, x, x[:, :2], *windows, **padding)

    return samples


def _places(dtype: DType) -> Iterable[Sample]:
    for kind in (dtypes.int64, dtypes.int32):
        for whole in (False, True):
            rest = {"Targmax": kind, "include_batch_in_index": whole}
            for attrs, image, _ in IMAGES[:2]:  # TensorFlow refuses nothing
                yield given(numbers(dtype, *image), **attrs, **rest)
            yield given(_special(dtype, 2, 5, 4, 2), **IMAGES[1][0], **rest)
    yield given(numbers(dtype, 4, 4, 1), **IMAGES[0][0])
    yield given(numbers(dtype, 1, 4, 4, 1), **{**IMAGES[0][0], "ksize": (1, 0, 1, 1)})


def _at_places(dtype: DType) -> Iterable[Sample]:
    for whole in (False, True):
        for attrs, image, out in IMAGES:
            size = int(np.prod(image[not whole :]))
            rng = np.random.default_rng(3)
            chosen = np.asarray(rng.integers(0, max(size, 1), out)).astype(np.int64)
            rest = {**attrs, "include_batch_in_index": whole}
            yield given(numbers(dtype, *image), numbers(dtype, *out, seed=1), chosen, **rest)
    attrs, image, out = IMAGES[0]
    yield given(numbers(dtype, *image), numbers(dtype, *out), np.zeros((2, 2, 2, 1), np.int64),
                **attrs)  # fmt: skip


def _back_from_places(dtype: DType) -> Iterable[Sample]:
    for attrs, image, out in IMAGES:
        x, g = numbers(dtype, *image), numbers(dtype, *image, seed=1)
        yield given(x, g, np.zeros(out, np.int64), **attrs)


def _outside(place: int) -> Wrong:
    """TensorFlow ends its process at a place outside of the image."""
    attrs, image, out = IMAGES[0]
    x, g = numbers(dtypes.float32, *image), numbers(dtypes.float32, *out)
    return Wrong(given(x, g, np.full(out, place), **attrs), "", "argmax must be between")


FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32)
SOME = (dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8)
ROWS = (
    Row("MaxPool3D", _volumes("forward"), types=FLOATS),
    Row("MaxPool3DGrad", _volumes("grad"), types=FLOATS, tolerance=LOOSE),
    Row("MaxPool3DGradGrad", _volumes("grad grad"), types=FLOATS),
    Row("AvgPool3D", _volumes("forward"), types=(*FLOATS, dtypes.float64), tolerance=LOOSE),
    Row("AvgPool3DGrad", _volumes("average grad"), types=(*FLOATS, dtypes.float64),
        tolerance=LOOSE),
    Row("MaxPoolV2", _with_inputs("forward"), types=SOME, sharper=True),
    Row("MaxPoolGradV2", _with_inputs("grad"), types=SOME, tolerance=LOOSE),
    Row("MaxPoolGradGradV2", _with_inputs("grad grad"), types=SOME, sharper=True),
    Row("MaxPoolWithArgmax", _places, types=SOME),
    Row("MaxPoolGradWithArgmax", _at_places, types=SOME, tolerance=LOOSE,
        wrong=(_outside(999), _outside(-1))),
    # on a CPU of TensorFlow there is none
    Row("MaxPoolGradGradWithArgmax", _back_from_places, types=SOME[1:2]),
)  # fmt: skip


def _derived() -> Iterable[Case]:
    for attrs, image, out in VOLUMES[:2]:
        yield Case("AvgPool3D", (real(*image),), attrs)
        yield Case("AvgPool3DGrad", (ints(*image), real(*out)), attrs)
    for attrs, image, out in IMAGES[:2]:
        x, y, g = apart(*image), np.zeros(out), real(*out)
        windows = ints(*attrs["ksize"]), ints(*attrs["strides"])
        padding = {"padding": attrs["padding"]}
        yield Case("MaxPoolV2", (x, *windows), padding)
        yield Case("MaxPoolGradV2", (x, y, g, *windows), padding, by=(2,))
        yield Case("MaxPoolGradGradV2", (x, y, real(*image), *windows), padding, by=(2,))
        yield Case("MaxPoolWithArgmax", (x,), attrs, outputs=(0, 1))
        chosen = np.arange(g.size).reshape(out)
        rest = {**attrs, "include_batch_in_index": True}
        yield Case("MaxPoolGradWithArgmax", (x, g, chosen), rest, by=(1,))
        yield Case("MaxPoolGradGradWithArgmax", (x, real(*image), chosen), rest, by=(1,))


DERIVATIVES = tuple(_derived())
