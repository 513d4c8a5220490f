"""Kernels of rows of different lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel


def _checked(splits: Any, count: int | None, what: str = "splits") -> Array:
    """Splits, which go from 0 up to the number of what they split."""
    found = np.asarray(splits)
    if found.ndim != 1 or not len(found):
        raise InvalidArgumentError(f"{what} are a vector of one or more, got {found.shape}")
    if found[0] != 0 or (np.diff(found) < 0).any():
        raise InvalidArgumentError(f"{what} begin with 0 and never fall, got {found.tolist()}")
    if count is not None and found[-1] != count:
        raise InvalidArgumentError(f"{what} end at {found[-1]}, and there are {count} to split")
    return found


def _within(starts: Array, lengths: Array) -> Array:
    """The numbers from each start on, as many as each length."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    out: Array = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return out


def _split(lengths: Array, dtype: Any) -> Array:
    out = np.zeros(len(lengths) + 1, dtype)
    np.cumsum(lengths, out=out[1:])
    return out


@kernel("RaggedRange")
def _range(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy
    splits_type = node.attrs["Tsplits"].numpy

    def call(starts: Any, limits: Any, deltas: Any) -> Any:
        given = [np.asarray(x) for x in (starts, limits, deltas)]
        counts = {len(x) for x in given if x.ndim}
        if any(x.ndim > 1 for x in given) or len(counts) > 1:
            shapes = ", ".join(str(list(x.shape)) for x in given)
            raise InvalidArgumentError(f"starts, limits and deltas of shapes {shapes}")
        size = counts.pop() if counts else 1
        first, limit, by = (np.broadcast_to(x, size) for x in given)
        if not by.all():
            raise InvalidArgumentError("a delta is zero")
        rows = [_row(*each, dtype) for each in zip(first, limit, by, strict=True)]
        splits = _split(np.array([len(r) for r in rows], np.int64), splits_type)
        values = np.concatenate(rows) if rows else np.empty(0, dtype)
        return splits, values

    return call


def _row(first: Any, limit: Any, by: Any, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "i":
        whole: Array = np.arange(int(first), int(limit), int(by)).astype(dtype)
        return whole
    count = float((limit - first) / by)
    if not np.isfinite(count):
        raise InvalidArgumentError(f"a range from {first} to {limit} by {by} has no end")
    steps = np.full(max(0, int(np.ceil(count))), by, dtype)
    if len(steps):
        steps[0] = first
    out = np.add.accumulate(steps)  # each is the one before and the step, rounded
    return out.astype(dtype, copy=False)


@kernel("RaggedGather")
def _gather(node: Node) -> Callable[..., Any]:
    depth: int = node.attrs["PARAMS_RAGGED_RANK"]
    splits_type = node.attrs["Tsplits"].numpy

    def call(*inputs: Any) -> Any:
        *nested, values, indices = inputs
        indices = np.asarray(indices)
        if not values.ndim:
            raise InvalidArgumentError("values have rank 1 or more, got a scalar")
        counts = [len(s) - 1 for s in nested[1:]] + [len(values)]
        levels = [_checked(s, n) for s, n in zip(nested, counts, strict=True)]
        rows = indices.reshape(-1).astype(np.int64)
        have = len(levels[0]) - 1
        wrong = (rows < 0) | (rows >= have)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise InvalidArgumentError(f"indices[{at}] = {rows[at]} is not in [0, {have})")
        out = [
            np.arange(int(np.prod(indices.shape[: i + 1])) + 1, dtype=splits_type)
            * splits_type.type(indices.shape[i + 1])
            for i in range(indices.ndim - 1)
        ]
        if not indices.ndim:
            # one row: its own parts are the rows of the result
            start, end = int(levels[0][rows[0]]), int(levels[0][rows[0] + 1])
            levels, rows = levels[1:], np.arange(start, end)
        for splits in levels:
            lengths = splits[rows + 1] - splits[rows]
            out.append(_split(lengths, splits_type))
            rows = _within(splits[rows].astype(np.int64), lengths.astype(np.int64))
        result = values[rows]
        if len(out) != node.attrs["OUTPUT_RAGGED_RANK"]:
            raise InvalidArgumentError(
                f"indices of rank {indices.ndim} into ragged rank {depth} give the ragged rank "
                f"{len(out)}, not {node.attrs['OUTPUT_RAGGED_RANK']}"
            )
        return (*out, result) if out else result

    return call


@kernel("RaggedTensorToSparse")
def _to_sparse(node: Node) -> Callable[..., Any]:
    def call(*inputs: Any) -> Any:
        *nested, values = inputs
        if not values.ndim:
            raise InvalidArgumentError("values have rank 1 or more, got a scalar")
        counts = [len(s) - 1 for s in nested[1:]] + [len(values)]
        columns: list[Array] = [np.arange(len(nested[0]) - 1)]
        shape = [len(nested[0]) - 1]
        for given, count in zip(nested, counts, strict=True):
            splits = _checked(given, count)
            lengths = np.diff(splits).astype(np.int64)
            columns = [np.repeat(c, lengths) for c in columns]
            columns.append(_within(np.zeros(len(lengths), np.int64), lengths))
            shape.append(int(lengths.max()) if len(lengths) else 0)
        inner = values.shape[1:]
        each = int(np.prod(inner, dtype=np.int64))
        table = np.stack(columns, 1).astype(np.int64).repeat(each, 0)
        grid = np.indices(inner).reshape(len(inner), each).T
        indices = np.concatenate([table, np.tile(grid, (len(values), 1))], 1)
        return (
            indices.astype(np.int64),
            values.reshape(-1).copy(),
            np.array([*shape, *inner], np.int64),
        )

    return call


def _row_numbers(kind: bytes, given: Array, rows: int) -> tuple[Array, Array]:
    """For each value its row and its place in it."""
    if kind == b"VALUE_ROWIDS":
        ids = np.asarray(given).astype(np.int64)
        if ids.ndim != 1 or (np.diff(ids) < 0).any() or (len(ids) and ids[0] < 0):
            raise InvalidArgumentError("row ids are not negative and never fall")
        if len(ids) and ids[-1] >= rows:
            raise InvalidArgumentError(f"row {ids[-1]} of {rows} rows")
        lengths = np.bincount(ids, minlength=rows)
    elif kind == b"ROW_LENGTHS":
        lengths = np.asarray(given).astype(np.int64)
        if lengths.ndim != 1 or (lengths < 0).any():
            raise InvalidArgumentError("row lengths are a vector without negative numbers")
    else:
        lengths = np.diff(_checked(given, None, "row splits")).astype(np.int64)
    if len(lengths) != rows:
        raise InvalidArgumentError(f"a row partition of {len(lengths)} rows where there are {rows}")
    return np.repeat(np.arange(rows), lengths), _within(np.zeros(rows, np.int64), lengths)


@kernel("RaggedTensorToTensor")
def _to_tensor(node: Node) -> Callable[..., Any]:
    kinds: tuple[bytes, ...] = node.attrs["row_partition_types"]
    dtype = node.attrs["T"].numpy

    def call(shape: Any, values: Any, default: Any, *partitions: Any) -> Any:
        values, default, wanted = np.asarray(values), as_strings(default), np.asarray(shape)
        if not values.ndim:
            raise InvalidArgumentError("values have rank 1 or more, got a scalar")
        rows, levels = _rows(kinds, partitions)
        depth = len(levels)
        sizes = _wanted_sizes(wanted, depth + values.ndim)
        numbered, count = [], rows
        for kind, given in levels:
            numbered.append(_row_numbers(kind, given, count))
            count = len(numbered[-1][0])
        if count != len(values):
            raise InvalidArgumentError(f"row partitions of {count} values, there are {len(values)}")
        for axis, want in enumerate(sizes[depth + 1 :], 1):
            if want not in (-1, values.shape[axis]):
                raise InvalidArgumentError(
                    f"the shape {wanted.tolist()} does not fit values of {list(values.shape)}"
                )
        full = [rows if sizes[0] < 0 else sizes[0]]
        for axis, (_, place) in enumerate(numbered, 1):
            most = int(place.max()) + 1 if len(place) else 0
            full.append(most if sizes[axis] < 0 else sizes[axis])
        try:
            filler = np.broadcast_to(default, values.shape[1:])
        except ValueError:
            raise InvalidArgumentError(
                f"a default of shape {list(default.shape)} for values of {list(values.shape)}"
            ) from None
        out = np.empty((*full, *values.shape[1:]), dtype)
        out[...] = filler
        at = np.arange(rows)
        inside = at < full[0]
        for (row, place), size in zip(numbered, full[1:], strict=True):
            at = at[row] * size + place
            inside = inside[row] & (place < size)
        flat = out.reshape(-1, *values.shape[1:]) if out.size else out
        if out.size:
            flat[at[inside]] = values[inside]
        return out

    return call


def _rows(kinds: Sequence[bytes], partitions: Sequence[Any]) -> tuple[int, list[tuple[bytes, Any]]]:
    """The number of rows, and the partitions below them with their types."""
    pairs = list(zip(kinds, partitions, strict=True))
    if kinds[0] == b"FIRST_DIM_SIZE":
        size = np.asarray(partitions[0])
        if size.size != 1 or size.reshape(-1)[0] < 0:
            raise InvalidArgumentError("the number of rows is one number, 0 or more")
        return int(size.reshape(-1)[0]), pairs[1:]
    first = np.asarray(partitions[0])
    if first.ndim != 1 or (kinds[0] == b"ROW_SPLITS" and not len(first)):
        raise InvalidArgumentError(f"a row partition is a vector, got {list(first.shape)}")
    return len(first) - (kinds[0] == b"ROW_SPLITS"), pairs


def _wanted_sizes(wanted: Array, rank: int) -> list[int]:
    if wanted.ndim == 0:
        if wanted != -1:
            raise InvalidArgumentError(f"a shape that is one number is -1, got {wanted}")
        return [-1] * rank
    if wanted.shape != (rank,) or (wanted < -1).any():
        raise InvalidArgumentError(f"a shape of {rank} sizes or -1, got {wanted.tolist()}")
    return [int(w) for w in wanted]
