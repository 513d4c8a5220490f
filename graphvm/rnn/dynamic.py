"""Recurrent networks as a loop in the graph: as long as the sequences are."""

from __future__ import annotations

from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.graph.scopes import name_scope
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape
from graphvm.ops.array import constant, reverse, reverse_sequence, shape
from graphvm.ops.control_flow import while_loop
from graphvm.ops.math import less, maximum, minimum
from graphvm.ops.tensor_array import TensorArray
from graphvm.rnn.cell import like_a_cell
from graphvm.rnn.sizes import batch_of, common_type, static_size, zero_batch
from graphvm.rnn.steps import Lengths, swapped
from graphvm.variables.variable_scope import variable_scope
from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError, ShapeError


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: object = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """A recurrent network over sequences, in a loop that the machine runs.

    Args:
        cell: what a step does.
        inputs: shape [batch, time, ...], or a structure of such tensors; all but the first two
            dimensions are known.
        sequence_length: vector of integers, the length of each sequence: behind it outputs are
            zeros and the state stays what it was. All are as long as the inputs otherwise.
        initial_state: state before the first step, in the structure of the cell's; zeros
            otherwise.
        dtype: element type of the first state, where it is not given, and of the outputs.
        parallel_iterations: how many iterations may run at once on several devices; 32 otherwise.
        swap_memory: not looked at: there is no second memory.
        time_major: inputs and outputs are [time, batch, ...]; saves two transpositions.
        scope: scope of the variables; `rnn` otherwise.

    Returns:
        The outputs of all steps, shape [batch, time, size], in the structure of the cell's
        `output_size`; and the state after the last step of each sequence.

    Raises:
        TypeError: `cell` is no cell.
        ValueError: there is neither a first state nor a type, lengths are no vector, or inputs
            differ in their time or batch, or are of unknown size.

    Source: `tf.compat.v1.nn.dynamic_rnn`.
    """
    del swap_memory
    like_a_cell(cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [swapped(x) for x in flat]
        batch = batch_of(flat, 1)
        lengths = None if sequence_length is None else Lengths(sequence_length, batch)
        state = first_state(cell, initial_state, batch, dtype)
        loop = _Loop(cell, inputs, flat, state, batch, lengths, dtype)
        outputs, state = loop.run(parallel_iterations or 32)
        if not time_major:
            outputs = nest.map_structure(swapped, outputs)
    return outputs, state


def first_state(cell: Any, given: Any, batch: Any, dtype: object) -> Any:
    """The state before the first step.

    Raises:
        ValueError: neither it nor an element type is given.
    """
    if given is not None:
        leaves = nest.flatten(given)
        made = [x if isinstance(x, TensorArray) else convert_to_tensor(x) for x in leaves]
        return nest.pack_sequence_as(given, made)
    if dtype is None:
        raise GraphError(
            "a first state of zeros needs an element type",
            made=user_line(),
            do="give dtype, or initial_state",
        )
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch, dtype=dtype)
    return cell.zero_state(batch, dtype)


class _Loop:
    """The loop of a network over inputs [time, batch, ...]."""

    def __init__(
        self,
        cell: Any,
        structure: Any,
        inputs: list[Tensor],
        state: Any,
        batch: Any,
        lengths: Lengths | None,
        dtype: object,
    ) -> None:
        self.cell = cell
        self.structure = structure
        self.state = state
        self.lengths = lengths
        shapes = [_checked(x) for x in inputs]
        for other in shapes[1:]:
            for axis, what in enumerate(("times", "batches")):
                if other[axis] != shapes[0][axis]:
                    raise ShapeError(
                        f"inputs have different {what}: {[x.type for x in inputs]}",
                        made=user_line(),
                    )
        self.time, self.batch = shapes[0][0], shapes[0][1]
        self.steps = self.time if self.time is not None else shape(inputs[0])[0]
        self.kind = common_type(dtype, state)
        sizes = cell.output_size
        self.zeros = nest.map_structure(lambda s: zero_batch(s, batch, self.kind), sizes)
        self.sizes = nest.flatten(sizes)
        with name_scope("dynamic_rnn"):
            self.inputs = [
                TensorArray(x.dtype.base, self.steps, element_shape=x.shape[1:]).unstack(x)
                for x in inputs
            ]
            self.outputs = [
                TensorArray(self.kind, self.steps, element_shape=self._row(s)) for s in self.sizes
            ]

    def _row(self, size: Any) -> TensorShape:
        return TensorShape([self.batch]) + static_size(size)

    def run(self, parallel: int) -> tuple[Any, Any]:
        """The outputs of all steps and the last state."""
        bound = self.steps
        if self.lengths is not None:
            # one step at least, so that outputs have a shape
            bound = minimum(self.steps, maximum(1, self.lengths.most))
        first = (constant(0, dtypes.int32, name="time"), tuple(self.outputs), self.state)
        _, outputs, state = while_loop(
            lambda time, *_: less(time, bound), self._step, first, parallel_iterations=parallel
        )
        stacked = [array.stack() for array in outputs]
        for tensor, size in zip(stacked, self.sizes, strict=True):
            tensor.set_shape(TensorShape([self.time]) + self._row(size))
        return nest.pack_sequence_as(self.cell.output_size, stacked), state

    def _step(self, time: Tensor, outputs: Any, state: Any) -> tuple[Any, ...]:
        now = nest.pack_sequence_as(self.structure, [array.read(time) for array in self.inputs])

        def call() -> tuple[Any, Any]:
            pair: tuple[Any, Any] = self.cell(now, state)
            return pair

        if self.lengths is None:
            out, new = call()
        else:
            out, new = self.lengths.step(time, self.zeros, state, call)
        nest.assert_same_structure(self.cell.output_size, out, check_types=False)
        written = [
            array.write(time, x) for array, x in zip(outputs, nest.flatten(out), strict=True)
        ]
        return time + 1, tuple(written), new


def _checked(x: Tensor) -> tuple[int | None, ...]:
    known = x.type.shape
    if known is None or len(known) < 3 or None in known[2:]:
        raise ShapeError(
            f"inputs have a time, a batch and sizes that are known, not the shape {x.shape}",
            made=user_line(),
            do="set_shape on the inputs",
        )
    return known


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: object = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two networks over the same sequences, one from the front and one from the end.

    Args:
        cell_fw: what a step of the first does.
        cell_bw: what a step of the second does.
        inputs: see `dynamic_rnn`.
        sequence_length: likewise; the second network begins at the end of each sequence.
        initial_state_fw: state of the first before its first step.
        initial_state_bw: likewise of the second.
        dtype: see `dynamic_rnn`.
        parallel_iterations: likewise.
        swap_memory: likewise.
        time_major: likewise.
        scope: scope of the variables, which has `fw` and `bw`; `bidirectional_rnn` otherwise.

    Returns:
        A pair of outputs, both in the order of the inputs, and a pair of last states.

    Raises:
        TypeError: see `dynamic_rnn`.
        ValueError: likewise.

    Source: `tf.compat.v1.nn.bidirectional_dynamic_rnn`.
    """
    like_a_cell(cell_fw, "cell_fw")
    like_a_cell(cell_bw, "cell_bw")
    axis = 0 if time_major else 1

    def turned(x: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(x, [axis])
        return reverse_sequence(x, sequence_length, axis, 1 - axis)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as inner:
            out_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype,
                parallel_iterations, swap_memory, time_major, inner,
            )  # fmt: skip
        with variable_scope("bw") as inner:
            backwards = nest.map_structure(lambda x: turned(convert_to_tensor(x)), inputs)
            out_bw, state_bw = dynamic_rnn(
                cell_bw, backwards, sequence_length, initial_state_bw, dtype,
                parallel_iterations, swap_memory, time_major, inner,
            )  # fmt: skip
    return (out_fw, nest.map_structure(turned, out_bw)), (state_fw, state_bw)


__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn", "first_state"]
