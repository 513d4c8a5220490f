"""Rows of quantization; real integers are shown by programs, as NumPy has no types for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, int_, numbers

F = dtypes.float32
X = np.array([[-7.0, -6.01, -1.5, -0.01], [0.0, 0.02, 2.51, 9.0]], np.float32)


def _f(*values: float) -> Any:
    return np.array(values, np.float32)


def _end(value: float) -> Any:
    return np.array(value, np.float32)


ENDS = ((-6.0, 6.0), (-1.0, 3.0), (0.1, 5.0), (-5.0, -0.1), (0.0, 0.0), (2.0, 1.0))


def options(*samples: Sample) -> Iterable[Sample]:
    for sample in samples:
        yield sample
        yield given(*sample.inputs, **sample.attrs, num_bits=4)
        yield given(*sample.inputs, **sample.attrs, narrow_range=True, num_bits=5)
    yield given(*samples[0].inputs, **samples[0].attrs, num_bits=1)
    yield given(*samples[0].inputs, **samples[0].attrs, num_bits=17)


def args(dtype: DType) -> Iterable[Sample]:
    yield from options(*(given(X, min=a, max=b) for a, b in ENDS))
    yield given(X)
    yield given(X[0, 0])
    yield given(X[:0])


def args_back(dtype: DType) -> Iterable[Sample]:
    g = numbers(F, 2, 4)
    yield from options(*(given(g, X, min=a, max=b) for a, b in ENDS))
    yield given(g, X[:1])


def variables(dtype: DType) -> Iterable[Sample]:
    yield from options(*(given(X, _end(a), _end(b)) for a, b in ENDS))
    yield given(X[:0], _end(-1), _end(1))
    yield given(X[0, 0], _end(-1), _end(1))
    yield given(X, _f(-1), _f(1))


def variables_back(dtype: DType) -> Iterable[Sample]:
    g = numbers(F, 2, 4)
    yield from options(*(given(g, X, _end(a), _end(b)) for a, b in ENDS))
    yield given(g[:0], X[:0], _end(-1), _end(1))
    yield given(g[:1], X, _end(-1), _end(1))
    yield given(g, X, _f(-1), _f(1))


LOW, HIGH = _f(-6.0, -1.0, 0.0, -2.0), _f(6.0, 3.0, 0.0, 1.0)


def channels(dtype: DType) -> Iterable[Sample]:
    yield from options(given(X, LOW, HIGH), given(X[0], LOW, HIGH))
    yield given(X[:0], LOW, HIGH)
    yield given(X, LOW[:2], HIGH)
    yield given(X, LOW, HIGH[:2])


def channels_back(dtype: DType) -> Iterable[Sample]:
    g = numbers(F, 2, 4)
    yield from options(given(g, X, LOW, HIGH), given(g[0], X[0], LOW, HIGH))
    yield given(g[:1], X, LOW, HIGH)
    yield given(g, X, LOW[:2], HIGH[:2])


def there_and_back(version: int) -> Any:
    def samples(dtype: DType) -> Iterable[Sample]:
        def one(x: Any, low: Any, high: Any, bits: int = 8, **attrs: Any) -> Sample:
            ends = np.asarray(low, dtype.numpy), np.asarray(high, dtype.numpy)
            x = x.astype(dtype.numpy)
            if version == 3:
                return given(x, *ends, int_(bits), **attrs)
            return given(x, *ends, num_bits=bits, **attrs)

        every: list[dict[str, Any]] = [{}, {"narrow_range": True}, {"signed_input": False}]
        every += [] if version == 3 else [{"round_mode": b"HALF_UP"}]
        for attrs in every:
            for bits in (3, 8):
                yield one(X, 0, 0, bits, range_given=False, **attrs)
                for low, high in ((-6, 6), (-1, 3), (0, 5)):
                    yield one(X, low, high, bits, range_given=True, **attrs)
        yield one(X, 2, 1, range_given=True)
        yield one(X * 0, 0, 0, range_given=False)
        yield one(X, LOW, HIGH, range_given=True, axis=1)
        yield one(X, LOW, HIGH, range_given=False, axis=1)
        yield one(X, LOW[:2], HIGH[:2], range_given=True, axis=0)
        yield one(X, LOW, HIGH, range_given=True, axis=0)
        if version != 3:  # which ends TensorFlow's process
            yield one(X, LOW, HIGH, range_given=True)
            yield one(X, LOW, HIGH, range_given=True, axis=2)
        yield one(X, LOW, HIGH, range_given=True, axis=-2)
        yield one(X, -1, 1, 0, range_given=True)
        yield one(X, -1, 1, 64, range_given=True)

    return samples


def clipped(dtype: DType) -> Iterable[Sample]:
    g, x = numbers(dtype, 2, 4), X.astype(dtype.numpy)
    low, high = LOW.astype(dtype.numpy), HIGH.astype(dtype.numpy)
    yield given(g, x, low[1], high[1])
    yield given(g, x, low, high, axis=1)
    yield given(g, x, low[:2], high[:2], axis=0)
    yield given(g, x, low, high, axis=0)
    yield given(g[:1], x, low[1], high[1])
    yield given(g, x, low, high)


FLOATS = (F, dtypes.float64)  # what TensorFlow has kernels for
PROGRAMS = "tests/ops/programs_quantization.py"
ROWS = (
    Row("FakeQuantWithMinMaxArgs", args, types=(F,)),
    Row("FakeQuantWithMinMaxArgsGradient", args_back, types=(F,)),
    Row("FakeQuantWithMinMaxVars", variables, types=(F,)),
    Row("FakeQuantWithMinMaxVarsGradient", variables_back, types=(F,)),
    Row("FakeQuantWithMinMaxVarsPerChannel", channels, types=(F,)),
    Row("FakeQuantWithMinMaxVarsPerChannelGradient", channels_back, types=(F,)),
    Row("QuantizeAndDequantizeV2", there_and_back(2), types=FLOATS),
    Row("QuantizeAndDequantizeV3", there_and_back(3), types=FLOATS),
    Row("QuantizeAndDequantizeV4", there_and_back(4), types=FLOATS),
    Row("QuantizeAndDequantizeV4Grad", clipped, types=FLOATS),
    Row("QuantizeV2", tested_in=PROGRAMS),
    Row("Dequantize", tested_in=PROGRAMS),
)
DERIVATIVES: tuple[Case, ...] = ()
