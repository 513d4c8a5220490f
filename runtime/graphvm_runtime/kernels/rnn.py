"""Kernels that do a whole step, or all steps, of a recurrent network.

Gates lie in the order input, candidate, forget, output, as TensorFlow's block ops have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.blas import product
from graphvm_runtime.kernels.math.elementwise import sigmoid
from graphvm_runtime.kernels.precision import SINGLE, widened
from graphvm_runtime.kernels.registry import kernel

_ONE = np.float32(1)
_sigmoid = sigmoid(_ONE)


def _check(
    sizes: tuple[int, int, int], states: Sequence[Array], w: Array, b: Array, factor: int
) -> None:
    """That states, weights and biases have the sizes of a batch, its inputs and its cells."""
    batch, inputs, cells = sizes
    for state in states:
        if state.shape != (batch, cells):
            raise InvalidArgumentError(
                f"a state of shape {list(state.shape)} for a batch of {batch} and {cells} cells"
            )
    if w.shape != (inputs + cells, factor * cells) or b.shape != (factor * cells,):
        raise InvalidArgumentError(
            f"weights of shape {list(w.shape)} and biases of {list(b.shape)} for {inputs} inputs "
            f"and {cells} cells"
        )


class _Lstm:
    """The step of an LSTM, from products of its inputs and weights on."""

    def __init__(self, node: Node) -> None:
        self.clip = np.float32(node.attrs["cell_clip"])
        self.bias = np.float32(node.attrs["forget_bias"])
        self.peephole: bool = node.attrs["use_peephole"]

    def check(self, width: int, batch: int, c: Array, h: Array, *weights: Array) -> None:
        w, wci, wcf, wco, b = weights
        if c.ndim != 2:
            raise InvalidArgumentError(f"a state is a matrix, got shape {list(c.shape)}")
        cells = c.shape[1]
        _check((batch, width, cells), (c, h), w, b, 4)
        if self.peephole and any(v.shape != (cells,) for v in (wci, wcf, wco)):
            raise InvalidArgumentError(f"peepholes are vectors of {cells}, one for each cell")

    def step(self, z: Array, c: Array, wci: Array, wcf: Array, wco: Array) -> tuple[Array, ...]:
        """Gates, memory and output from the four parts of `z`, which has all but the peepholes."""
        cells = c.shape[1]
        zi, zc, zf, zo = (z[:, k * cells : (k + 1) * cells] for k in range(4))
        zf = zf + self.bias
        if self.peephole:
            zi, zf = zi + c * wci, zf + c * wcf
        i, f, ci = _sigmoid(zi), _sigmoid(zf), np.tanh(zc)
        new = ci * i
        new += c * f
        if self.clip > 0:
            np.clip(new, -self.clip, self.clip, out=new)
        o = _sigmoid(zo + new * wco if self.peephole else zo)
        co = np.tanh(new)
        return i, new, f, o, ci, co, co * o


@kernel("LSTMBlockCell")
def _lstm_cell(node: Node) -> Callable[..., Any]:
    lstm = _Lstm(node)

    def call(*inputs: Array) -> Any:
        x, c, h, w, wci, wcf, wco, b = inputs
        if x.ndim != 2:
            raise InvalidArgumentError(f"inputs are a matrix, got shape {list(x.shape)}")
        lstm.check(x.shape[1], x.shape[0], c, h, w, wci, wcf, wco, b)
        z = product(np.concatenate([x, h], 1), w)
        z += b
        return lstm.step(z, c, wci, wcf, wco)

    return widened(call, node.attrs["T"].numpy)


def _steps(seq_len_max: Array, time: int) -> int:
    if getattr(seq_len_max, "ndim", 0):
        raise InvalidArgumentError(f"seq_len_max is a scalar, got shape {list(seq_len_max.shape)}")
    steps = int(seq_len_max)
    if not 0 <= steps <= time:
        raise InvalidArgumentError(f"seq_len_max is {steps}, the inputs have {time} steps")
    return steps


@kernel("BlockLSTM")
def _block_lstm(node: Node) -> Callable[..., Any]:
    lstm = _Lstm(node)

    def call(seq_len_max: Array, *inputs: Array) -> Any:
        x, c, h, w, wci, wcf, wco, b = inputs
        if x.ndim != 3:
            raise InvalidArgumentError(f"inputs have rank 3, got shape {list(x.shape)}")
        time, batch, width = x.shape
        lstm.check(width, batch, c, h, w, wci, wcf, wco, b)
        steps = _steps(seq_len_max, time)
        outputs = [np.zeros((time, *c.shape), SINGLE) for _ in range(7)]
        # what does not depend on the steps before is one product for all of them
        ahead = product(x[:steps].reshape(steps * batch, width), w[:width])
        ahead = ahead.reshape(steps, batch, w.shape[1])
        ahead += b
        recurrent = w[width:]
        for t in range(steps):
            z = product(h, recurrent)
            z += ahead[t]
            parts = lstm.step(z, c, wci, wcf, wco)
            for out, part in zip(outputs, parts, strict=True):
                out[t] = part
            c, h = parts[1], parts[6]
        return outputs

    return widened(call, node.attrs["T"].numpy)


@kernel("BlockLSTMGrad")
def _block_lstm_grad(node: Node) -> Callable[..., Any]:
    peephole: bool = node.attrs["use_peephole"]

    def call(seq_len_max: Array, *inputs: Array) -> Any:
        x, c0, h0, w, wci, wcf, wco, b, *rest = inputs
        i, cs, f, o, ci, co, h, cs_grad, h_grad = rest
        if x.ndim != 3:
            raise InvalidArgumentError(f"inputs have rank 3, got shape {list(x.shape)}")
        time, batch, width = x.shape
        if c0.ndim != 2:
            raise InvalidArgumentError(f"a state is a matrix, got shape {list(c0.shape)}")
        cells = c0.shape[1]
        _check((batch, width, cells), (c0, h0), w, b, 4)
        if any(part.shape != (time, batch, cells) for part in rest):
            raise InvalidArgumentError(
                f"gates and gradients have the shape {[time, batch, cells]}, got "
                f"{[list(part.shape) for part in rest]}"
            )
        steps = _steps(seq_len_max, time)
        gates = np.zeros((time, batch, 4 * cells), SINGLE)
        dwci, dwcf, dwco = (np.zeros_like(v) for v in (wci, wcf, wco))
        dc, dh = np.zeros_like(c0), np.zeros_like(h0)
        recurrent = w[width:].T
        for t in reversed(range(steps)):
            before = cs[t - 1] if t else c0
            dh = dh + h_grad[t]
            do = o[t] * (_ONE - o[t]) * dh * co[t]
            dc = dc + cs_grad[t] + (_ONE - co[t] * co[t]) * dh * o[t]
            if peephole:
                dc += do * wco
            di = i[t] * (_ONE - i[t]) * dc * ci[t]
            df = f[t] * (_ONE - f[t]) * dc * before
            dz = gates[t]
            dz[:, :cells] = di
            dz[:, cells : 2 * cells] = (_ONE - ci[t] * ci[t]) * dc * i[t]
            dz[:, 2 * cells : 3 * cells] = df
            dz[:, 3 * cells :] = do
            dc = dc * f[t]
            if peephole:
                dc += di * wci + df * wcf
                dwci += (di * before).sum(0)
                dwcf += (df * before).sum(0)
                dwco += (do * cs[t]).sum(0)
            dh = product(dz, recurrent)
        flat = gates.reshape(time * batch, 4 * cells)
        dx = product(flat, w[:width].T).reshape(x.shape)
        states = np.concatenate([h0[None], h[:-1]]) if time else h
        dw = np.concatenate([
            product(x.reshape(-1, width).T, flat), product(states.reshape(-1, cells).T, flat)
        ])  # fmt: skip
        return (dx, dc, dh, dw, dwci, dwcf, dwco, flat.sum(0))

    return widened(call, node.attrs["T"].numpy)


@kernel("GRUBlockCell")
def _gru_cell(node: Node) -> Callable[..., Any]:
    def call(x: Array, h: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array) -> Any:
        if x.ndim != 2 or h.ndim != 2:
            raise InvalidArgumentError(
                f"inputs and states are matrices, got {list(x.shape)} and {list(h.shape)}"
            )
        cells = h.shape[1]
        sizes = x.shape[0], x.shape[1], cells
        _check(sizes, (h,), w_ru, b_ru, 2)
        _check(sizes, (h,), w_c, b_c, 1)
        gates = product(np.concatenate([x, h], 1), w_ru)
        gates += b_ru
        both = _sigmoid(gates)
        r, u = np.array(both[:, :cells]), np.array(both[:, cells:])
        c = product(np.concatenate([x, h * r], 1), w_c)
        c += b_c
        np.tanh(c, out=c)
        return r, u, c, u * h + (_ONE - u) * c

    return call
