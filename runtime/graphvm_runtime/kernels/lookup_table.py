"""Kernels of lookup tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, int64, string
from graphvm_runtime.errors import InvalidArgumentError, NotFoundError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.shapes import is_known, shape_text
from graphvm_runtime.values.resources import Step
from graphvm_runtime.values.table import DenseTable, ImmutableTable, Table

LINE_NUMBER, WHOLE_LINE = -1, -2  # columns of a file that are none


def _made(node: Node, make: Callable[..., Table]) -> Kernel:
    """A kernel that finds the node's table, or makes it: `make(name, *inputs)`."""
    container, name = resource_name(node)
    dtypes = node.attrs["key_dtype"], node.attrs["value_dtype"]

    def call(step: Step, *inputs: Array) -> Table:
        table = step.resources.find_or_make(Table, container, name, lambda: make(name, *inputs))
        if (table.key_dtype, table.value_dtype) != dtypes:
            raise InvalidArgumentError(
                f"table {name!r} must be of one type, got {dtypes[0].name} to {dtypes[1].name} "
                f"for {table!r}"
            )
        return table

    return Kernel(call, step=True)


@kernel("HashTableV2")
def _immutable(node: Node) -> Kernel:
    dtypes = node.attrs["key_dtype"], node.attrs["value_dtype"]
    return _made(node, lambda name: ImmutableTable(name, *dtypes))


@kernel("MutableHashTableV2", "MutableHashTableOfTensorsV2")
def _mutable(node: Node) -> Kernel:
    dtypes = node.attrs["key_dtype"], node.attrs["value_dtype"]
    shape = node.attrs.get("value_shape", ())
    if "value_shape" in node.attrs and (not is_known(shape) or len(shape) != 1):
        raise InvalidArgumentError(f"values must be vectors, got {shape_text(shape)}")
    return _made(node, lambda name: Table(name, *dtypes, shape))


@kernel("MutableDenseHashTableV2")
def _dense(node: Node) -> Kernel:
    dtypes = node.attrs["key_dtype"], node.attrs["value_dtype"]
    shape, buckets = node.attrs["value_shape"], node.attrs["initial_num_buckets"]
    if not is_known(shape) or len(shape) > 1:
        raise InvalidArgumentError(f"values must be scalars or vectors, got {shape_text(shape)}")
    if buckets <= 0 or buckets & (buckets - 1):
        raise InvalidArgumentError(f"initial_num_buckets must be a power of 2, got {buckets}")
    load = node.attrs["max_load_factor"]
    if not 0 < load < 1:
        raise InvalidArgumentError(f"max_load_factor must lie between 0 and 1, got {load}")

    def make(name: str, empty: Array, deleted: Array) -> Table:
        if empty.ndim > 1:
            raise InvalidArgumentError(
                f"keys must be scalars or vectors, got the shape {list(empty.shape)}"
            )
        if np.array_equal(empty, deleted):
            raise InvalidArgumentError("empty_key and deleted_key must differ, got equal ones")
        return DenseTable(name, *dtypes, shape, (empty, deleted))

    return _made(node, make)


def _typed(node: Node, key: str, value: str = "") -> Callable[[Any], Table]:
    """What checks that a table has the types that these attributes name."""
    dtypes = tuple(node.attrs[name] for name in (key, value) if name)

    def check(table: Any) -> Table:
        found = Table.of(table)
        if (found.key_dtype, found.value_dtype)[: len(dtypes)] != dtypes:
            raise InvalidArgumentError(
                f"types must be those of {found!r}, got {' to '.join(d.name for d in dtypes)}"
            )
        return found

    return check


@kernel("LookupTableFindV2")
def _find(node: Node) -> Callable[..., Any]:
    checked = _typed(node, "Tin", "Tout")
    return lambda table, keys, default: checked(table).find(np.asarray(keys), np.asarray(default))


@kernel("LookupTableInsertV2")
def _insert(node: Node) -> Callable[..., Any]:
    checked = _typed(node, "Tin", "Tout")
    return lambda table, keys, values: checked(table).insert(np.asarray(keys), np.asarray(values))


@kernel("LookupTableImportV2")
def _import(node: Node) -> Callable[..., Any]:
    checked = _typed(node, "Tin", "Tout")
    return lambda table, keys, values: checked(table).replace(np.asarray(keys), np.asarray(values))


@kernel("LookupTableRemoveV2")
def _remove(node: Node) -> Callable[..., Any]:
    checked = _typed(node, "Tin")
    return lambda table, keys: checked(table).remove(np.asarray(keys))


@kernel("LookupTableExportV2")
def _export(node: Node) -> Callable[..., Any]:
    checked = _typed(node, "Tkeys", "Tvalues")
    return lambda table: checked(table).export()


plain("LookupTableSizeV2", lambda table: np.int64(Table.of(table).size()))


def _to_initialise(table: Any) -> ImmutableTable:
    found = Table.of(table)
    if not isinstance(found, ImmutableTable):
        raise InvalidArgumentError(f"a mutable table takes no initial data, got {found!r}")
    return found


@kernel("InitializeTableV2")
def _initialise(node: Node) -> Callable[..., Any]:
    checked = _typed(node, "Tkey", "Tval")
    return lambda table, keys, values: _to_initialise(checked(table)).initialise(keys, values)


@kernel("InitializeTableFromTextFileV2")
def _initialise_from_file(node: Node) -> Callable[..., Any]:
    columns = node.attrs["key_index"], node.attrs["value_index"]
    size, offset = node.attrs["vocab_size"], node.attrs["offset"]
    delimiter: bytes = node.attrs["delimiter"]
    if len(delimiter) != 1:
        raise InvalidArgumentError(f"delimiter must be one character, got {delimiter!r}")

    def call(table: Any, filename: Any) -> None:
        found = _to_initialise(table)
        path = os.fsdecode(np.asarray(filename).item())
        for column, dtype in zip(columns, (found.key_dtype, found.value_dtype), strict=True):
            _check_column(column, dtype)
        lines = _lines(path, offset)
        if size > len(lines):
            raise InvalidArgumentError(
                f"vocab_size must be at most the number of lines of {path}, {len(lines)}, got "
                f"{size}"
            )
        if size != -1:
            del lines[size:]
        keys = _column(lines, columns, 0, found.key_dtype, delimiter, path)
        values = _column(lines, columns, 1, found.value_dtype, delimiter, path)
        found.initialise(keys, values)

    return call


def _check_column(column: int, dtype: DType) -> None:
    """Raises InvalidArgumentError where what is no column does not fit the type."""
    for sort, wanted in ((LINE_NUMBER, int64), (WHOLE_LINE, string)):
        if column == sort and dtype is not wanted:
            what = "line numbers" if sort == LINE_NUMBER else "whole lines"
            raise InvalidArgumentError(f"{what} must be {wanted.name}, got {dtype.name}")


def _lines(path: str, offset: int) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            lines = file.read().replace(b"\r", b"").split(b"\n")
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no such file") from error
    if not lines[-1]:
        lines.pop()
    return lines[offset:]


def _column(
    lines: list[bytes],
    columns: tuple[int, int],
    which: int,
    dtype: DType,
    delimiter: bytes,
    path: str,
) -> Array:
    """One column of a file as a vector of the type."""
    column = columns[which]
    if column == LINE_NUMBER:
        return np.arange(len(lines))
    parsed = []
    for number, line in enumerate(lines):
        text = line
        if column != WHOLE_LINE:
            parts = line.split(delimiter)
            if max(columns) >= len(parts):
                raise InvalidArgumentError(
                    f"line {number} of {path} must have {max(columns) + 1} columns, got "
                    f"{len(parts)}: {line!r}"
                )
            text = parts[column]
        parsed.append(_value(text, dtype, number, path))
    out = np.empty(len(parsed), dtype.numpy)
    out[:] = parsed
    return out


def _value(text: bytes, dtype: DType, number: int, path: str) -> Any:
    if dtype is string:
        return text
    try:
        if dtype.is_integer and b"_" not in text:
            value = int(text)
            info = np.iinfo(dtype.numpy)
            if info.min <= value <= info.max:
                return value
        elif dtype.is_floating and b"_" not in text:
            return float(text)
    except ValueError:
        pass
    raise InvalidArgumentError(f"line {number} of {path} must be of {dtype.name}, got {text!r}")
