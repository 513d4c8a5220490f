"""Ops that do a whole step, or all steps, of a recurrent network."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import float16, float32
from graphvm_runtime.ops.registry import ShapeContext, boolean, define, real, types
from graphvm_runtime.ops.shape_functions import input_name, refused, with_rank
from graphvm_runtime.shapes import Dim, Shape, is_compatible, merged_dim, shape_text

T = types(float16, float32)
_WEIGHTS = "w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"
_RANKS = "C1: inputs have the ranks of batches, matrices and vectors"
_SIZES = "C2: the weights have the sizes of inputs and states"


def _cells(ctx: ShapeContext, index: int, factor: int) -> Dim:
    """Size of the state, from a bias that has it `factor` times."""
    (length,) = with_rank(ctx, index, 1, 1)
    if length is None:
        return None
    if length % factor:
        raise refused(f"the bias has {factor} parts, but {length} elements", 2)
    return length // factor


def _states(ctx: ShapeContext, batch: Dim, cells: Dim, *indices: int) -> tuple[Dim, Dim]:
    """The shape [batch, cells] that states have, and what is known of it."""
    for index in indices:
        rows, columns = with_rank(ctx, index, 2, 1)
        for known, found in ((batch, rows), (cells, columns)):
            if None not in (known, found) and known != found:
                raise refused(
                    f"a state of shape {shape_text(ctx.shapes[index])} for a batch of {batch} "
                    f"and {cells} cells", 2,
                )  # fmt: skip
        batch, cells = merged_dim(batch, rows), merged_dim(cells, columns)
    return batch, cells


def _weights(ctx: ShapeContext, index: int, inputs: Dim, cells: Dim, factor: int) -> None:
    rows, columns = with_rank(ctx, index, 2, 1)
    wanted = None if None in (inputs, cells) else inputs + cells  # type: ignore[operator]  # known
    if None not in (rows, wanted) and rows != wanted:
        raise refused(f"weights of {rows} rows for {inputs} inputs and {cells} cells", 2)
    if None not in (columns, cells) and columns != factor * cells:  # type: ignore[operator]  # known
        raise refused(f"weights of {columns} columns for {cells} cells", 2)


def _lstm_cell(ctx: ShapeContext) -> Sequence[Shape]:
    batch, inputs = with_rank(ctx, 0, 2, 1)
    state = _states(ctx, batch, _cells(ctx, 7, 4), 1, 2)
    _weights(ctx, 3, inputs, state[1], 4)
    return (state,) * 7


def _gru_cell(ctx: ShapeContext) -> Sequence[Shape]:
    batch, inputs = with_rank(ctx, 0, 2, 1)
    state = _states(ctx, batch, _cells(ctx, 5, 1), 1)
    _weights(ctx, 2, inputs, state[1], 2)
    _weights(ctx, 3, inputs, state[1], 1)
    return (state,) * 4


def _lstm(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 0, 0, 1)
    time, batch, inputs = with_rank(ctx, 1, 3, 1)
    state = _states(ctx, batch, _cells(ctx, 8, 4), 2, 3)
    _weights(ctx, 4, inputs, state[1], 4)
    for index in (5, 6, 7) if ctx.attrs["use_peephole"] else ():
        if not is_compatible(with_rank(ctx, index, 1, 1), (state[1],)):
            raise refused(
                f"{input_name(ctx, index)} must have an element for each of {state[1]} cells, "
                f"got {shape_text(ctx.shapes[index])}", 2,
            )  # fmt: skip
    return ((time, *state),) * 7


def _lstm_grad(ctx: ShapeContext) -> Sequence[Shape]:
    _lstm(ctx)
    return tuple(ctx.shapes[1:9])


define("LSTMBlockCell", f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}",
       {"forget_bias": real(1.0), "cell_clip": real(3.0), "use_peephole": boolean(False), "T": T},
       shape=_lstm_cell, constraints=[_RANKS, _SIZES])  # fmt: skip
define("BlockLSTM", f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}",
       {"forget_bias": real(1.0), "cell_clip": real(3.0), "use_peephole": boolean(False), "T": T},
       shape=_lstm, constraints=[_RANKS, _SIZES])  # fmt: skip
define("BlockLSTMGrad",
       f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS}, {_GATES}, cs_grad: T, "
       "h_grad: T -> x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, "
       "wcf_grad: T, wco_grad: T, b_grad: T",
       {"use_peephole": boolean(), "T": T}, shape=_lstm_grad,
       constraints=[_RANKS, _SIZES])  # fmt: skip
define("GRUBlockCell",
       "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T -> r: T, u: T, c: T, h: T",
       {"T": types(float32)}, shape=_gru_cell, constraints=[_RANKS, _SIZES])  # fmt: skip
