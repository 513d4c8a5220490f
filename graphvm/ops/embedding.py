"""Rows of tables by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.ops.array import (
    concat,
    gather,
    identity,
    invert_permutation,
    reshape,
    shape,
    squeeze,
    subscript,
    where,
)
from graphvm.ops.clipping import clip_by_norm
from graphvm.ops.math import add_n, cast, equal, floormod, maximum, minimum
from graphvm_runtime.dtypes import int32
from graphvm_runtime.shapes import is_known, merged

__all__ = ["embedding_lookup"]


def embedding_lookup(
    params: Any,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Rows of a table, which may be in several parts, by their numbers.

    Args:
        params: a table, a tensor or variable of rank at least 1; or a list of tables that are the
            parts of one, of the same shape beyond the first axis.
        ids: int32 or int64, any shape; one outside is an error when it runs.
        partition_strategy: how rows are spread over parts: "mod", row i is in part i % parts;
            "div", each part has consecutive rows, the first ones one more where they do not
            divide evenly.
        name: name of the operation.
        validate_indices: not looked at: ids are always checked.
        max_norm: greatest norm of a row; a longer one is scaled down.

    Returns:
        Element type of the table; shape of `ids` followed by that of a row. The gradient of each
        table is IndexedSlices.

    Raises:
        ValueError: there is no table, or no such strategy.

    Source: `tf.nn.embedding_lookup`.
    """
    del validate_indices
    # a variable can be iterated over only to say that it cannot
    tables = list(params) if isinstance(params, list | tuple) else [params]
    if not tables:
        raise ValueError("embedding_lookup needs a table")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"partition_strategy is 'mod' or 'div', got {partition_strategy!r}")
    with op_scope(name or "embedding_lookup", (*tables, ids)):
        values = [convert_to_tensor(table, name="params") for table in tables]
        numbers = convert_to_tensor(ids, name="ids")
        if len(values) == 1:
            return identity(_clipped(gather(values[0], numbers), numbers, max_norm))
        flat = reshape(numbers, [-1])
        part, row = _places(values, flat, partition_strategy)
        rows, asked = [], []
        for i, table in enumerate(values):
            here = cast(squeeze(where(equal(part, i)), [1]), int32)
            rows.append(gather(table, gather(row, here)))
            asked.append(here)
        found = gather(concat(rows, 0), invert_permutation(concat(asked, 0)))
        inner = None
        for table in values:
            inner = merged(inner, None if table.type.shape is None else table.type.shape[1:])
        tail: Any = list(inner) if is_known(inner) and inner is not None else None
        if tail is None:
            tail = subscript(shape(values[0]), slice(1, None))
        out = reshape(found, concat([shape(numbers), tail], 0) if tail != [] else shape(numbers))
        if numbers.type.shape is not None and inner is not None:
            out.set_shape([*numbers.type.shape, *inner])
        return identity(_clipped(out, numbers, max_norm))


def _places(tables: Sequence[Tensor], ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """For each id the part that has it, and its row in there."""
    count, kind = len(tables), ids.dtype.base
    if strategy == "mod":
        return floormod(ids, count), ids // count
    heights = [table.type.shape[0] if table.type.shape else None for table in tables]
    if None in heights:
        total = add_n([cast(subscript(shape(table), 0), kind) for table in tables])
    else:
        total = convert_to_tensor(sum(h for h in heights if h is not None), kind)
    short, longer = total // count, floormod(total, count)
    zero, one = convert_to_tensor(0, kind), convert_to_tensor(1, kind)
    part = maximum(ids // (short + one), (ids - longer) // maximum(short, one))
    # an id outside goes to the first or last part, which refuses it
    part = minimum(maximum(part, zero), convert_to_tensor(count - 1, kind))
    return part, ids - (part * short + minimum(part, longer))


def _clipped(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    """Each row of that norm at most."""
    if max_norm is None:
        return rows
    known, wide = ids.type.shape, rows.type.shape
    if known is not None and wide is not None:
        axes: Any = list(range(len(known), len(wide)))
    else:
        axes = output("Range", (output("Rank", (ids,)), output("Rank", (rows,)), 1))
    clipped = clip_by_norm(rows, max_norm, axes)
    assert isinstance(clipped, Tensor)
    return clipped
