"""Ops that do a whole step, or all steps, of a recurrent network."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import input_name, refused, with_rank
from graphvm_runtime.shapes import Dim, Shape, is_compatible, merged_dim, shape_text


def _cells(ctx: ShapeContext, index: int, factor: int) -> Dim:
    """Size of the state, from a bias that has it `factor` times."""
    (length,) = with_rank(ctx, index, 1)
    if length is None:
        return None
    if length % factor:
        raise refused(f"the bias has {factor} parts, but {length} elements")
    return length // factor


def _states(ctx: ShapeContext, batch: Dim, cells: Dim, *indices: int) -> tuple[Dim, Dim]:
    """The shape [batch, cells] that states have, and what is known of it."""
    for index in indices:
        rows, columns = with_rank(ctx, index, 2)
        for known, found in ((batch, rows), (cells, columns)):
            if None not in (known, found) and known != found:
                raise refused(
                    f"a state of shape {shape_text(ctx.shapes[index])} for a batch of {batch} "
                    f"and {cells} cells",
                )
        batch, cells = merged_dim(batch, rows), merged_dim(cells, columns)
    return batch, cells


def _weights(ctx: ShapeContext, index: int, inputs: Dim, cells: Dim, factor: int) -> None:
    rows, columns = with_rank(ctx, index, 2)
    wanted = None if None in (inputs, cells) else inputs + cells  # type: ignore[operator]  # known
    if None not in (rows, wanted) and rows != wanted:
        raise refused(f"weights of {rows} rows for {inputs} inputs and {cells} cells")
    if None not in (columns, cells) and columns != factor * cells:  # type: ignore[operator]  # known
        raise refused(f"weights of {columns} columns for {cells} cells")


def _lstm_cell(ctx: ShapeContext) -> Sequence[Shape]:
    batch, inputs = with_rank(ctx, 0, 2)
    state = _states(ctx, batch, _cells(ctx, 7, 4), 1, 2)
    _weights(ctx, 3, inputs, state[1], 4)
    return (state,) * 7


def _gru_cell(ctx: ShapeContext) -> Sequence[Shape]:
    batch, inputs = with_rank(ctx, 0, 2)
    state = _states(ctx, batch, _cells(ctx, 5, 1), 1)
    _weights(ctx, 2, inputs, state[1], 2)
    _weights(ctx, 3, inputs, state[1], 1)
    return (state,) * 4


def _lstm(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 0, 0)
    time, batch, inputs = with_rank(ctx, 1, 3)
    state = _states(ctx, batch, _cells(ctx, 8, 4), 2, 3)
    _weights(ctx, 4, inputs, state[1], 4)
    for index in (5, 6, 7) if ctx.attrs["use_peephole"] else ():
        if not is_compatible(with_rank(ctx, index, 1), (state[1],)):
            raise refused(
                f"{input_name(ctx, index)} must have an element for each of {state[1]} cells, "
                f"got {shape_text(ctx.shapes[index])}",
            )
    return ((time, *state),) * 7


def _lstm_grad(ctx: ShapeContext) -> Sequence[Shape]:
    _lstm(ctx)
    return tuple(ctx.shapes[1:9])


define("LSTMBlockCell", shape=_lstm_cell)
define("BlockLSTM", shape=_lstm)
define("BlockLSTMGrad", shape=_lstm_grad)
define("GRUBlockCell", shape=_gru_cell)
