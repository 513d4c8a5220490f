"""Rows of the ops that do a whole step, or all steps, of a recurrent network."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import precise
from tests.ops.rows import Row, Sample, Wrong, given, numbers

BATCH, INPUTS, CELLS = 2, 3, 2


def length(steps: int) -> Any:
    return np.array(steps, np.int64)


def _weights(dtype: DType, cells: int = CELLS) -> tuple[Any, ...]:
    def vector(size: int, seed: int) -> Any:
        return numbers(dtype, size, low=-1, high=1, seed=seed)

    w = numbers(dtype, INPUTS + cells, 4 * cells, low=-1, high=1, seed=9)
    holes = [vector(cells, k) for k in range(3)]
    return (w, *holes, vector(4 * cells, 4))


def _states(dtype: DType, batch: int = BATCH) -> tuple[Any, Any]:
    return numbers(dtype, batch, CELLS, seed=5), numbers(dtype, batch, CELLS, seed=6)


def _lstm_steps(dtype: DType) -> Iterable[Sample]:
    weights = _weights(dtype)
    for batch in (BATCH, 0):
        x = numbers(dtype, batch, INPUTS)
        yield given(x, *_states(dtype, batch), *weights)
        yield given(
            x, *_states(dtype, batch), *weights, use_peephole=True, cell_clip=0.5, forget_bias=0.25
        )
    yield given(x, *_states(dtype, batch), *weights, use_peephole=True, cell_clip=-1.0)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _products(row: list[float], w: Any, b: Any) -> list[float]:
    return [sum(v * float(w[k, j]) for k, v in enumerate(row)) + float(b[j]) for j in range(len(b))]


def _lstm_step(
    x: Any, c: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any,
    forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False,
) -> list[Any]:  # fmt: skip
    x, c, h, w, b = (precise(v) for v in (x, c, h, w, b))
    holes = [precise(v).tolist() if use_peephole else [0.0] * len(v) for v in (wci, wcf, wco)]
    cells = c.shape[1]
    out = [np.empty(c.shape) for _ in range(7)]
    for n in range(len(x)):
        z = _products([*x[n].tolist(), *h[n].tolist()], w, b)
        for k in range(cells):
            old = float(c[n, k])
            i = _sigmoid(z[k] + old * holes[0][k])
            ci = math.tanh(z[cells + k])
            f = _sigmoid(z[2 * cells + k] + forget_bias + old * holes[1][k])
            new = ci * i + old * f
            if cell_clip > 0:
                new = max(min(new, cell_clip), -cell_clip)
            o = _sigmoid(z[3 * cells + k] + new * holes[2][k])
            co = math.tanh(new)
            for array, value in zip(out, (i, new, f, o, ci, co, co * o), strict=True):
                array[n, k] = value
    return out


def _lstms(dtype: DType) -> Iterable[Sample]:
    x, weights = numbers(dtype, 4, BATCH, INPUTS), _weights(dtype)
    yield given(length(4), x, *_states(dtype), *weights)
    yield given(length(2), x, *_states(dtype), *weights, use_peephole=True, cell_clip=0.5)
    yield given(length(0), x, *_states(dtype), *weights)
    yield given(length(0), x[:0], *_states(dtype), *weights)


def _lstm(steps: Any, x: Any, c: Any, h: Any, *weights: Any, **attrs: Any) -> list[Any]:
    out = [np.zeros((len(x), *c.shape)) for _ in range(7)]
    c, h = precise(c), precise(h)
    for t in range(int(steps)):
        parts = _lstm_step(x[t], c, h, *weights, **attrs)
        for array, part in zip(out, parts, strict=True):
            array[t] = part
        c, h = parts[1], parts[6]
    return out


def _gradients(dtype: DType) -> Iterable[Sample]:
    x, weights = numbers(dtype, 3, BATCH, INPUTS), _weights(dtype)
    for steps, peephole in ((3, True), (2, False), (0, False)):
        state = _states(dtype)
        values = _lstm(steps, x, *state, *weights, use_peephole=peephole, cell_clip=-1.0)
        outputs = [v.astype(dtype.numpy) for v in values]
        grads = [numbers(dtype, 3, BATCH, CELLS, seed=s) for s in (7, 8)]
        yield given(length(steps), x, *state, *weights, *outputs, *grads, use_peephole=peephole)


def _gradient(steps: Any, x: Any, c0: Any, h0: Any, *rest: Any, use_peephole: bool) -> list[Any]:
    """Differences of the sum of outputs times gradients, of the formula itself."""
    weights, (gc, gh) = rest[:5], [precise(v) for v in rest[12:]]
    inputs = [precise(v) for v in (x, c0, h0, *weights)]

    def loss(values: list[Any]) -> float:
        out = _lstm(steps, *values, use_peephole=use_peephole, cell_clip=-1.0)
        return float((out[1] * gc).sum() + (out[6] * gh).sum())

    found = []
    for k, value in enumerate(inputs):
        slope = np.zeros(value.shape)
        for at in np.ndindex(value.shape):
            ends = []
            for h in (1e-5, -1e-5):
                moved = [v.copy() for v in inputs]
                moved[k][at] += h
                ends.append(loss(moved))
            slope[at] = (ends[0] - ends[1]) / 2e-5
        found.append(slope)
    return found


def _gru_steps(dtype: DType) -> Iterable[Sample]:
    rows = INPUTS + CELLS
    weights = (
        numbers(dtype, rows, 2 * CELLS, low=-1, high=1, seed=1),
        numbers(dtype, rows, CELLS, low=-1, high=1, seed=2),
        numbers(dtype, 2 * CELLS, seed=3), numbers(dtype, CELLS, seed=4),
    )  # fmt: skip
    for batch in (BATCH, 0):
        yield given(numbers(dtype, batch, INPUTS), numbers(dtype, batch, CELLS), *weights)


def _gru_step(x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> list[Any]:
    out = [np.empty(h.shape) for _ in range(4)]
    for n in range(len(x)):
        row, old = precise(x)[n].tolist(), precise(h)[n].tolist()
        gates = [_sigmoid(v) for v in _products(row + old, w_ru, b_ru)]
        r, u = gates[:CELLS], gates[CELLS:]
        kept = [a * b for a, b in zip(old, r, strict=True)]
        c = [math.tanh(v) for v in _products(row + kept, w_c, b_c)]
        new = [u[k] * old[k] + (1 - u[k]) * c[k] for k in range(CELLS)]
        for array, values in zip(out, (r, u, c, new), strict=True):
            array[n] = values
    return out


_LOOSE = {"float16": 8e-3, "float32": 1e-5}


def _wrong_steps() -> Iterable[Wrong]:
    sample = _sample(_lstm_steps)
    x, c, h, w, *rest = sample
    yield Wrong(given(x[0], c, h, w, *rest), r"rank 2", "a matrix")
    yield Wrong(
        given(x, c[:1], h, w, *rest),
        r"a state of shape \[1,2\] for a batch of 2 and 2",
        "a state of shape",
    )
    yield Wrong(given(x, c, h, w[1:], *rest), r"4 rows", "weights of shape")
    yield Wrong(given(x, c, h, w[:, 1:], *rest), r"7 columns", "weights of shape")
    yield Wrong(given(x, c, h, w, *rest[:3], rest[3][:7]), r"7 elements", "biases of")
    holes = (rest[0][:1], *rest[1:])
    yield Wrong(given(x, c, h, w, *holes, use_peephole=True), "", "peepholes are vectors of 2")


def _sample(samples: Any) -> tuple[Any, ...]:
    from graphvm_runtime.dtypes import float32

    return next(iter(samples(float32))).inputs  # type: ignore[no-any-return]  # of a Sample


def _wrong_lstms() -> Iterable[Wrong]:
    n, x, *rest = _sample(_lstms)
    yield Wrong(given(n, x[0], *rest), r"rank 3", "rank 3")
    yield Wrong(given(length(5), x, *rest), "", "the inputs have 4 steps")
    yield Wrong(given(length(-1), x, *rest), "", "the inputs have 4 steps")
    yield Wrong(given(np.array([1], np.int64), x, *rest), r"rank 0", "a scalar")


def _wrong_gradients() -> Iterable[Wrong]:
    *rest, last = _sample(_gradients)
    yield Wrong(given(*rest, last[:1], use_peephole=True), "", "gates and gradients have")


def _wrong_gru() -> Iterable[Wrong]:
    x, h, w_ru, w_c, b_ru, b_c = _sample(_gru_steps)
    yield Wrong(
        given(x, h, w_ru[:3], w_c, b_ru, b_c),
        r"weights of 3 rows for 3 inputs and 2 cells",
        "weights of shape",
    )
    yield Wrong(
        given(x, h, w_ru, w_ru, b_ru, b_c), r"weights of 4 columns for 2 cells", "weights of shape"
    )
    yield Wrong(given(x, h[0], w_ru, w_c, b_ru, b_c), r"h_prev has rank 2", "are matrices")


ROWS = (
    Row("LSTMBlockCell", _lstm_steps, _lstm_step, wrong=tuple(_wrong_steps()), tolerance=_LOOSE),
    Row("BlockLSTM", _lstms, _lstm, wrong=tuple(_wrong_lstms()), tolerance=_LOOSE),
    Row(
        "BlockLSTMGrad", _gradients, _gradient, wrong=tuple(_wrong_gradients()),
        tolerance={"float16": 3e-2, "float32": 2e-5},
    ),
    Row("GRUBlockCell", _gru_steps, _gru_step, wrong=tuple(_wrong_gru()), tolerance=_LOOSE),
)  # fmt: skip
