"""Recurrent networks as a loop whose inputs and outputs a function of the user's decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.ops.array import constant, shape
from graphvm.ops.control_flow import while_loop
from graphvm.ops.math import logical_not, logical_or, reduce_all
from graphvm.ops.tensor_array import TensorArray
from graphvm.rnn.cell import like_a_cell
from graphvm.rnn.sizes import batch_of, static_batch, static_size, zero_batch
from graphvm.rnn.steps import through
from graphvm.variables.variable_scope import variable_scope
from graphvm_runtime import dtypes


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """A recurrent network whose next input, state and output a function decides at each step.

    `loop_fn(time, cell_output, cell_state, loop_state)` gives `(elements_finished, next_input,
    next_cell_state, emit_output, next_loop_state)`. It is called first at time 0 with None for
    all else, and gives the first input and state; its `emit_output` then is None, where outputs
    are emitted as they are, or zeros in the structure and shape of what is emitted for one
    sequence. The loop ends when all sequences have: what they emit afterwards is zeros, and their
    states stay.

    Args:
        cell: what a step does.
        loop_fn: the function.
        parallel_iterations: how many iterations may run at once on several devices; 32 otherwise.
        swap_memory: not looked at: there is no second memory.
        scope: scope of the variables; `rnn` otherwise.

    Returns:
        TensorArrays of what was emitted, in its structure; the last state; the last loop state,
        None where there is none.

    Raises:
        TypeError: `cell` is no cell, or `loop_fn` no function.
        ValueError: structures differ between steps.

    Source: `tf.compat.v1.nn.raw_rnn`.
    """
    del swap_memory
    like_a_cell(cell)
    if not callable(loop_fn):
        raise TypeError(f"loop_fn is a function, not {loop_fn!r}")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtypes.int32, name="time")
        finished, now, state, emitted, kept = _five(loop_fn(time, None, None, None), ())
        has_kept = kept is not None
        first_kept = kept if has_kept else constant(0, dtypes.int32)
        inputs = [convert_to_tensor(x) for x in nest.flatten(now)]
        now = nest.pack_sequence_as(now, inputs)
        state = nest.map_structure(
            lambda x: x if isinstance(x, TensorArray) else convert_to_tensor(x), state
        )
        nest.assert_same_structure(state, cell.state_size, check_types=False)
        batch = batch_of(inputs, 0)
        first = next(t for t in nest.flatten(state) if isinstance(t, Tensor))
        if emitted is None:
            emitted = cell.output_size
            sizes = nest.flatten(emitted)
            kinds = [first.dtype.base] * len(sizes)
        else:
            samples = [convert_to_tensor(x) for x in nest.flatten(emitted)]
            sizes = [x.shape if x.shape.is_fully_defined() else shape(x) for x in samples]
            kinds = [x.dtype.base for x in samples]
        zeros = [zero_batch(s, batch, k) for s, k in zip(sizes, kinds, strict=True)]
        arrays = [
            TensorArray(k, 0, True, element_shape=[static_batch(batch), *static_size(s)])
            for s, k in zip(sizes, kinds, strict=True)
        ]

        def step(
            time: Any, finished: Any, now: Any, arrays: Any, state: Any, kept: Any
        ) -> tuple[Any, ...]:
            out, new = cell(now, state)
            nest.assert_same_structure(state, new, check_types=False)
            following = loop_fn(time + 1, out, new, kept if has_kept else None)
            ends, later, new, emit, newly_kept = _five(following, ("emit_output",))
            nest.assert_same_structure(state, new, check_types=False)
            nest.assert_same_structure(now, later, check_types=False)
            nest.assert_same_structure(emitted, emit, check_types=False)
            news = [
                through(finished, b, a)
                for b, a in zip(nest.flatten(state), nest.flatten(new), strict=True)
            ]
            emits = [
                through(finished, b, a) for b, a in zip(zeros, nest.flatten(emit), strict=True)
            ]
            written = [array.write(time, x) for array, x in zip(arrays, emits, strict=True)]
            return (
                time + 1, logical_or(finished, ends), later, tuple(written),
                nest.pack_sequence_as(state, news), kept if newly_kept is None else newly_kept,
            )  # fmt: skip

        before = (time, finished, now, tuple(arrays), state, first_kept)
        _, _, _, arrays_after, state, kept = while_loop(
            lambda time, finished, *_: logical_not(reduce_all(finished)), step, before,
            parallel_iterations=parallel_iterations or 32,
        )  # fmt: skip
    return nest.pack_sequence_as(emitted, list(arrays_after)), state, kept if has_kept else None


_RESULTS = (
    "elements_finished", "next_input", "next_cell_state", "emit_output", "next_loop_state",
)  # fmt: skip


def _five(given: Any, also: tuple[str, ...]) -> tuple[Any, ...]:
    """The results of `loop_fn`; the first three, and those in `also`, are not None."""
    if not isinstance(given, list | tuple) or len(given) != len(_RESULTS):
        count = len(given) if isinstance(given, list | tuple) else 1
        raise ValueError(f"loop_fn gives {count} results; raw_rnn needs 5: ({', '.join(_RESULTS)})")
    for name, value in zip(_RESULTS, given, strict=True):
        needed = name in _RESULTS[:3] or name in also
        if needed and any(x is None for x in nest.flatten(value)):
            when = "at a step" if also else "when it is called first, at time 0"
            raise ValueError(f"loop_fn gives None as {name} {when}; only a tensor will do")
    return tuple(given)


__all__ = ["raw_rnn"]
