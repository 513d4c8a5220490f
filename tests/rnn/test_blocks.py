"""Ops that do a whole step: both modes of derivatives are those of the step written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf

B, X, C = 3, 4, 2
RNG = np.random.default_rng(11)


def values(*shapes: tuple[int, ...]) -> list[Any]:
    return [RNG.uniform(-1, 1, s).astype(np.float32) for s in shapes]


LSTM = values((B, X), (B, C), (B, C), (X + C, 4 * C), (C,), (C,), (C,), (4 * C,))
GRU = values((B, X), (B, C), (X + C, 2 * C), (X + C, C), (2 * C,), (C,))
OVER_TIME = [*values((5, B, X)), *LSTM[1:]]


def lstm_op(*inputs: Any, peephole: bool) -> Any:
    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
    given = dict(zip(names, inputs, strict=True))
    return list(tf.raw_ops.LSTMBlockCell(**given, use_peephole=peephole, forget_bias=0.5))


def lstm_written_out(
    x: Any, c: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any, peephole: bool
) -> Any:
    zi, zc, zf, zo = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, 1)
    zf = zf + 0.5
    if peephole:
        zi, zf = zi + c * wci, zf + c * wcf
    i, f, ci = tf.sigmoid(zi), tf.sigmoid(zf), tf.tanh(zc)
    cs = ci * i + c * f
    o = tf.sigmoid(zo + cs * wco if peephole else zo)
    co = tf.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def gru_op(*inputs: Any, peephole: bool) -> Any:
    names = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
    return list(tf.raw_ops.GRUBlockCell(**dict(zip(names, inputs, strict=True))))


def gru_written_out(
    x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, peephole: bool
) -> Any:
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w_ru) + b_ru), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([x, r * h], 1), w_c) + b_c)
    return [r, u, c, u * h + (1 - u) * c]


def derived(program: Any, arrays: list[Any], chosen: list[int], peephole: bool) -> list[Any]:
    """Values, gradients and tangents of the chosen outputs."""
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.float32, [None] * a.ndim) for a in arrays]
        outputs = program(*inputs, peephole=peephole)
        kept = [outputs[k] for k in chosen]
        total = tf.add_n([tf.reduce_sum(tf.sin(t + k)) for k, t in enumerate(kept)])
        grads = tf.gradients(total, inputs)
        pushed = tf.jvp(total, inputs, [np.cos(a) for a in arrays])
        squares = [tf.reduce_sum(tf.square(g)) for g in grads if g is not None]
        second = tf.gradients(tf.add_n(squares), inputs)
        wanted = [*outputs, *pushed, *grads, *second]
        shown = [t for t in wanted if t is not None]
        with tf.Session() as session:
            got = session.run(shown, dict(zip(inputs, arrays, strict=True)))
        left = iter(got)
        return [None if t is None else next(left) for t in wanted]


@pytest.mark.parametrize("peephole", [False, True])
@pytest.mark.parametrize(
    ("op", "written_out", "arrays", "chosen"),
    [
        (lstm_op, lstm_written_out, LSTM, [1, 6]),
        (lstm_op, lstm_written_out, LSTM, [6]),
        (lstm_op, lstm_written_out, LSTM, [1]),
        (lstm_op, lstm_written_out, LSTM, list(range(7))),
        (gru_op, gru_written_out, GRU, [3]),
        (gru_op, gru_written_out, GRU, [0, 1, 2, 3]),
    ],
)
def test_a_step_is_derived_as_if_written_out(
    op: Any, written_out: Any, arrays: list[Any], chosen: list[int], peephole: bool
) -> None:
    got = derived(op, arrays, chosen, peephole)
    want = derived(written_out, arrays, chosen, peephole)
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if g is None or w is None:  # zero, and one of them says so
            assert g is None or not g.any()
            assert w is None or not w.any()
            continue
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5, err_msg=str(k))


def block(*inputs: Any, steps: int) -> Any:
    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
    given = dict(zip(names, inputs, strict=True))
    return tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(steps, tf.int64), **given, use_peephole=True, forget_bias=0.5,
        cell_clip=-1.0,
    )  # fmt: skip


@pytest.mark.parametrize("steps", [5, 3])
def test_all_steps_are_derived_as_if_written_out(steps: int) -> None:
    inputs = [tf.placeholder(tf.float32, a.shape) for a in OVER_TIME]
    whole = block(*inputs, steps=steps)
    x, c, h = inputs[:3]
    weights: Any = inputs[3:]
    written_out: Any = lstm_written_out
    cs, hs = [], []
    for t in range(steps):
        _, c, _, _, _, _, h = written_out(x[t], c, h, *weights, peephole=True)
        cs.append(c)
        hs.append(h)
    zeros = [tf.zeros([B, C])] * (5 - steps)
    pairs = [(whole.cs, whole.h), (tf.stack(cs + zeros), tf.stack(hs + zeros))]
    both = []
    for c, h in pairs:
        loss = tf.reduce_sum(tf.sin(c)) + tf.reduce_sum(h * tf.cos(h))
        both.append([c, h, *tf.gradients(loss, inputs)])
    with tf.Session() as session:
        got, want = session.run(both, dict(zip(inputs, OVER_TIME, strict=True)))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


def test_what_has_no_derivative_says_so() -> None:
    inputs = [tf.constant(a) for a in OVER_TIME]
    whole = block(*inputs, steps=5)
    with pytest.raises(LookupError, match="through its outputs cs and h alone"):
        tf.gradients(whole.i, inputs)
    (slope,) = tf.gradients(whole.h, inputs[:1])
    with pytest.raises(LookupError, match="BlockLSTMGrad has no derivative"):
        tf.gradients(slope, inputs)
