"""Recurrent networks laid out step by step: as many copies of a step as there are inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.graph.scopes import control_dependencies
from graphvm.graph.source import user_line
from graphvm.ops.array import concat, identity, reverse_sequence, stack, unstack
from graphvm.rnn.cell import like_a_cell
from graphvm.rnn.dynamic import first_state
from graphvm.rnn.sizes import batch_of, common_type, zero_batch
from graphvm.rnn.steps import Lengths
from graphvm.variables.variable_scope import variable_scope
from graphvm_runtime.errors import ShapeError


def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: object = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A recurrent network over a list of inputs, a copy of the step for each.

    Args:
        cell: what a step does.
        inputs: for each time a tensor of shape [batch, ...], or a structure of such tensors.
        initial_state: state before the first step, in the structure of the cell's; zeros
            otherwise.
        dtype: element type of the first state, where it is not given, and of the outputs.
        sequence_length: vector of integers, the length of each sequence: behind it outputs are
            zeros and the state stays; behind the longest nothing is computed.
        scope: scope of the variables; `rnn` otherwise.

    Returns:
        A list of the outputs, and the last state.

    Raises:
        TypeError: `cell` is no cell, or `inputs` no list or tuple.
        ValueError: there is no input, neither a first state nor a type, or the inputs' sizes
            differ or are not known.

    Source: `tf.compat.v1.nn.static_rnn`.
    """
    like_a_cell(cell)
    _checked(inputs)
    with variable_scope(scope or "rnn") as varscope:
        each = [
            nest.pack_sequence_as(x, [convert_to_tensor(t) for t in nest.flatten(x)])
            for x in inputs
        ]
        flat = [t for x in each for t in nest.flatten(x)]
        for t in flat:
            known = t.type.shape
            if known is None or None in known[1:]:
                raise ShapeError(
                    f"sizes of inputs must be known, not {t.shape}",
                    made=user_line(),
                    do="set_shape on the inputs",
                )
        batch = batch_of(flat, 0)
        state = first_state(cell, initial_state, batch, dtype)
        lengths = None if sequence_length is None else Lengths(sequence_length, batch)
        zeros = None
        if lengths is not None:
            kind = common_type(dtype, state)
            zeros = nest.map_structure(lambda s: zero_batch(s, batch, kind), cell.output_size)
        outputs = []
        for time, x in enumerate(each):
            if time:
                varscope.reuse_variables()
            out, state = _step(cell, time, x, state, lengths, zeros)
            outputs.append(out)
    return outputs, state


def _step(
    cell: Any, time: int, x: Any, state: Any, lengths: Lengths | None, zeros: Any
) -> tuple[Any, Any]:
    if lengths is None:
        pair: tuple[Any, Any] = cell(x, state)
        return pair
    return lengths.sparing_step(time, zeros, state, lambda: cell(x, state))


def _checked(inputs: Any) -> None:
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"inputs is a list or tuple with a tensor for each time, not {inputs!r}")
    if not inputs:
        raise ValueError("there is no input")


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: object = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Two networks over the same list of inputs, one from the front and one from the end.

    Args:
        cell_fw: what a step of the first does.
        cell_bw: what a step of the second does.
        inputs: see `static_rnn`.
        initial_state_fw: state of the first before its first step.
        initial_state_bw: likewise of the second.
        dtype: see `static_rnn`.
        sequence_length: likewise; the second network begins at the end of each sequence.
        scope: scope of the variables, which has `fw` and `bw`; `bidirectional_rnn` otherwise.

    Returns:
        A list of outputs, both networks' side by side; the last state of the first, and of the
        second.

    Raises:
        TypeError: see `static_rnn`.
        ValueError: likewise.

    Source: `tf.compat.v1.nn.static_bidirectional_rnn`.
    """
    like_a_cell(cell_fw, "cell_fw")
    like_a_cell(cell_bw, "cell_bw")
    _checked(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as inner:
            front, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, inner
            )
        with variable_scope("bw") as inner:
            turned = _turned(inputs, sequence_length)
            back, state_bw = static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, inner
            )
    back = _turned(back, sequence_length)
    pairs = [
        [concat([f, b], 1) for f, b in zip(nest.flatten(x), nest.flatten(y), strict=True)]
        for x, y in zip(front, back, strict=True)
    ]
    return [
        nest.pack_sequence_as(x, both) for x, both in zip(front, pairs, strict=True)
    ], state_fw, state_bw  # fmt: skip


def _turned(inputs: Sequence[Any], lengths: Any) -> list[Any]:
    """The inputs from the end of each sequence to its front."""
    if lengths is None:
        return list(reversed(inputs))
    columns: list[list[Tensor]] = []
    for column in zip(*(nest.flatten(x) for x in inputs), strict=True):
        joined = stack(list(column), 0)
        columns.append(unstack(reverse_sequence(joined, lengths, 0, 1), len(inputs)))
    rows = zip(*columns, strict=True)
    return [nest.pack_sequence_as(x, list(row)) for x, row in zip(inputs, rows, strict=True)]


def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A network over a list of inputs that begins with a saved state, and saves its last one.

    Args:
        cell: what a step does.
        inputs: see `static_rnn`.
        state_saver: has `state(name)`, a tensor, and `save_state(name, tensor)`, an operation.
        state_name: name of the state, in the structure of the cell's.
        sequence_length: see `static_rnn`.
        scope: likewise.

    Returns:
        A list of the outputs, and the last state; asking for the last of them saves it.

    Raises:
        TypeError: see `static_rnn`.
        ValueError: likewise, or the names are in another structure.

    Source: `tf.compat.v1.nn.static_state_saving_rnn`.
    """
    sizes = cell.state_size
    names = nest.flatten(state_name)
    if nest.is_nested(sizes) != nest.is_nested(state_name) or len(names) != len(
        nest.flatten(sizes)
    ):
        raise ValueError(f"the state {sizes} has a name for each part, not {state_name!r}")
    saved = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=saved, sequence_length=sequence_length, scope=scope
    )
    saving = [
        state_saver.save_state(name, part)
        for name, part in zip(names, nest.flatten(state), strict=True)
    ]
    with control_dependencies(saving):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        state = nest.map_structure(identity, state)
    return outputs, state


__all__ = ["static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn"]
