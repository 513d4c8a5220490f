"""One step of a batch whose sequences end at different times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.graph.scopes import control_dependencies
from graphvm.graph.source import user_line
from graphvm.ops import math
from graphvm.ops.array import concat, identity, rank, shape, stack, transpose, where
from graphvm.ops.control_flow import cond
from graphvm.ops.logging import Assert
from graphvm.ops.math import cast, equal, greater_equal, reduce_all, reduce_max, reduce_min
from graphvm.ops.tensor_array import TensorArray
from graphvm.rnn.sizes import static_batch
from graphvm_runtime import dtypes
from graphvm_runtime.errors import ShapeError


class Lengths:
    """Lengths of the sequences of a batch.

    Args:
        lengths: vector of integers.
        batch: size of the batch.

    Raises:
        ValueError: it is no vector, or of another length than the batch.

    Attributes:
        vector: int32; checked when it runs.
        least: the shortest.
        most: the longest.
    """

    def __init__(self, lengths: Any, batch: Any) -> None:
        vector = identity(cast(lengths, dtypes.int32), name="sequence_length")
        known, size = vector.type.shape, static_batch(batch)
        wrong = known is not None and (
            len(known) != 1 or (None not in (known[0], size) and known[0] != size)
        )
        if wrong:
            raise ShapeError(
                f"sequence_length has an entry for each of {batch} sequences, not the shape "
                f"{vector.shape}",
                made=user_line(),
            )
        if known is None or known[0] is None or size is None:
            expected = stack([batch])
            fits = reduce_all(equal(shape(vector), expected))
            data = ["sequence_length has the shape ", shape(vector), ", the batch is ", expected]
            with control_dependencies([Assert(fits, data)]):
                vector = identity(vector, name="CheckSeqLen")
        self.vector = vector
        self.least = reduce_min(vector)
        self.most = reduce_max(vector)

    def step(
        self, time: Any, zeros: Any, state: Any, call: Callable[[], tuple[Any, Any]]
    ) -> tuple[Any, Any]:
        """A step in which sequences that have ended give zeros and keep their state.

        Args:
            time: number of the step.
            zeros: the output of a sequence that has ended.
            state: the state before the step.
            call: gives the output and the state after it.
        """
        out, new = call()
        nest.assert_same_structure(zeros, out, check_types=False)
        nest.assert_same_structure(state, new, check_types=False)
        ended = greater_equal(time, self.vector)
        outs = _chosen(ended, nest.flatten(zeros), nest.flatten(out))
        news = _chosen(ended, nest.flatten(state), nest.flatten(new))
        return nest.pack_sequence_as(zeros, outs), nest.pack_sequence_as(state, news)

    def sparing_step(
        self, time: Any, zeros: Any, state: Any, call: Callable[[], tuple[Any, Any]]
    ) -> tuple[Any, Any]:
        """As `step`, but where all sequences have ended nothing is computed."""

        def together() -> list[Any]:
            out, new = self.step(time, zeros, state, call)
            return [*nest.flatten(out), *nest.flatten(new)]

        def nothing() -> list[Any]:
            return [identity(t) for t in (*nest.flatten(zeros), *nest.flatten(state))]

        given = cond(greater_equal(time, self.most), nothing, together)
        flat = [given] if isinstance(given, Tensor) else list(given)
        before = [*nest.flatten(zeros), *nest.flatten(state)]
        for found, known in zip(flat, before, strict=True):
            found.set_shape(known.shape)
        count = len(nest.flatten(zeros))
        out = nest.pack_sequence_as(zeros, flat[:count])
        return out, nest.pack_sequence_as(state, flat[count:])


def _chosen(ended: Tensor, before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    return [through(ended, b, a) for b, a in zip(before, after, strict=True)]


def through(ended: Tensor, before: Any, after: Any) -> Any:
    """Rows of `before` where a sequence has ended, of `after` elsewhere.

    Arrays and scalars belong to no sequence: they are those after the step.
    """
    if isinstance(after, TensorArray) or isinstance(before, TensorArray):
        return after
    after = convert_to_tensor(after)
    if before.type.shape == ():
        return after
    made = where(ended, before, after)
    made.set_shape(before.shape)
    return made


def swapped(x: Tensor) -> Tensor:
    """A tensor with its first two axes exchanged. Raises ValueError below rank 2."""
    known = x.type.shape
    if known is None:
        return transpose(x, concat([[1, 0], math.range(2, rank(x))], 0))
    if len(known) < 2:
        raise ShapeError(
            f"inputs have a batch axis and a time axis, not the shape {x.shape}", made=user_line()
        )
    return transpose(x, [1, 0, *range(2, len(known))])


__all__ = ["Lengths", "swapped", "through"]
