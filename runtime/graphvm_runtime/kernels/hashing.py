"""Kernels of hashes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, string
from graphvm_runtime.errors import InvalidArgumentError, clipped
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.hashes import combined, fingerprint64, hash64, siphash
from graphvm_runtime.kernels.object_arrays import mapped, one
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing

_LARGEST = 2**63 - 1


@kernel("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong")
def _to_bucket(node: Node) -> Callable[..., Any]:
    count: int = node.attrs["num_buckets"]
    function: Callable[[bytes], int] = fingerprint64
    if node.op.name == "StringToHashBucket":
        function = hash64
    elif node.op.name == "StringToHashBucketStrong":
        key: tuple[int, ...] = node.attrs["key"]
        if len(key) != 2:
            raise InvalidArgumentError(f"key must have 2 numbers, got {list(key)}")
        function = siphash(key)
    return lambda x: mapped(lambda text: function(text) % count, x, np.int64)


@kernel("Fingerprint")
@refusing
def _fingerprint(node: Node) -> Callable[..., Any]:
    texts = node.attrs["T"] is string

    def call(data: Any, method: Any) -> Any:
        name = one(method, "method")
        if name != b"farmhash64":
            raise InvalidArgumentError(f"method must be 'farmhash64', got {clipped(name)}")
        if texts:
            found = mapped(fingerprint64, data, np.uint64)
            if found.size == len(found):
                return _as_bytes(found)
            data = found  # the fingerprint of a row is that of its strings' fingerprints
        rows = np.ascontiguousarray(data).reshape(len(data), -1 if data.size else 0)
        if not rows.size:
            return _as_bytes(np.full(len(rows), fingerprint64(b""), np.uint64))
        return _as_bytes(np.array([fingerprint64(row.tobytes()) for row in rows], np.uint64))

    return call


def _as_bytes(found: Array) -> Array:
    return found.astype("<u8").view(np.uint8).reshape(-1, 8)


@kernel("SparseCrossHashed")
@refusing
def _cross(node: Node) -> Callable[..., Any]:
    count: int = node.attrs["N"]
    tables_end = 3 * count + len(node.attrs["dense_types"])

    def call(*inputs: Any) -> Any:
        indices, values, shapes = (inputs[i * count : (i + 1) * count] for i in range(3))
        tables = inputs[3 * count : tables_end]
        buckets, strong, salt = inputs[tables_end:]
        key = np.ravel(salt).tolist()
        if len(key) != 2:
            raise InvalidArgumentError(f"salt must have 2 numbers, got {key}")
        hashed = siphash(key) if strong else fingerprint64
        size = _batch_size(shapes, tables)
        columns: list[Any] = [
            _rows(where, _sparse_features(given, hashed), size)
            for where, given in zip(indices, values, strict=True)
        ]
        columns += [_dense_features(table, hashed, bool(strong)) for table in tables]
        limit = int(buckets) if buckets > 0 else _LARGEST
        out = [
            [reduce(combined, parts) % limit for parts in itertools.product(*row)]
            for row in (zip(*columns, strict=True) if columns else [])
        ]
        places = [(i, j) for i, row in enumerate(out) for j in range(len(row))]
        return (
            np.array(places, np.int64).reshape(-1, 2),
            np.array([x for row in out for x in row], np.int64),
            np.array([size, max(map(len, out), default=0)], np.int64),
        )

    return call


def _batch_size(shapes: Sequence[Any], tables: Sequence[Any]) -> int:
    """How many rows all inputs have."""
    for shape in shapes:
        if np.shape(shape) != (2,):
            raise InvalidArgumentError(f"shapes must be of matrices, got {np.ravel(shape)}")
    for table in tables:
        if table.ndim != 2:
            raise InvalidArgumentError(f"dense_inputs must be matrices, got {list(table.shape)}")
    sizes = {int(shape[0]) for shape in shapes} | {len(table) for table in tables}
    if len(sizes) > 1:
        raise InvalidArgumentError(f"inputs must have the same number of rows, got {sizes}")
    return sizes.pop() if sizes else 0


def _sparse_features(values: Any, hashed: Callable[[bytes], int]) -> list[int]:
    """The numbers that values count as; TensorFlow hashes the lower half of an integer."""
    if values.dtype.kind == "O":
        return [hashed(text) for text in values.tolist()]
    return [hashed(number.tobytes()) for number in values.astype("<i4")]


def _dense_features(values: Any, hashed: Callable[[bytes], int], strong: bool) -> Any:
    """The numbers that values count as: integers as they are."""
    if values.dtype.kind == "O":
        return mapped(hashed, values).tolist()
    if strong:
        raise InvalidArgumentError("dense values to be hashed strongly must be strings, got int64")
    return values.astype(np.uint64).tolist()


def _rows(indices: Any, features: list[int], size: int) -> list[list[int]]:
    """The features of each row of a sparse matrix."""
    if np.shape(indices) != (len(features), 2):
        raise InvalidArgumentError(
            f"indices must have the shape [{len(features)}, 2], got {list(np.shape(indices))}"
        )
    out: list[list[int]] = [[] for _ in range(size)]
    for row, feature in zip(indices[:, 0].tolist(), features, strict=True):
        if not 0 <= row < size:
            raise InvalidArgumentError(f"rows must be in [0, {size}), got {row}")
        out[row].append(feature)
    return out
