"""Lookup tables: from keys to values of one shape."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from itertools import repeat
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from graphvm_runtime.values.handle_value import HandleValue

_INITIALISE = "run its initializer, or tables_initializer(), first"


class Table(HandleValue):
    """A table that may change. Thread-safe. Source: TF op `MutableHashTableOfTensorsV2`.

    A key is a scalar, or a tensor of `key_shape`, of which the bytes are compared. Each key has a
    row of `values`; a dictionary finds it.

    Args:
        name: of the resource.
        key_dtype: element type of keys.
        value_dtype: element type of values.
        value_shape: shape of the value of one key.
        key_shape: shape of one key.
    """

    kind = "a table"

    def __init__(
        self,
        name: str,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: tuple[int, ...] = (),
        key_shape: tuple[int, ...] = (),
    ) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.value_shape = value_shape
        self.key_shape = key_shape
        self._lock = threading.Lock()
        self._rows: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._keys = self._storage(0, key_dtype, key_shape)
        self._values = self._storage(0, value_dtype, value_shape)

    @staticmethod
    def _storage(count: int, dtype: DType, shape: tuple[int, ...]) -> Array:
        return np.empty((count, *shape), dtype.numpy)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name}: {self.key_dtype.name} to "
            f"{self.value_dtype.name}, {len(self._rows)} keys>"
        )

    def size(self) -> int:
        """Number of keys."""
        with self._lock:
            return len(self._rows)

    def leading(self, keys: Array) -> tuple[int, ...]:
        """The shape of a tensor of keys without that of one key.

        Raises:
            InvalidArgumentError: it does not end with the shape of a key.
        """
        rank = keys.ndim - len(self.key_shape)
        if rank < 0 or keys.shape[rank:] != self.key_shape:
            raise InvalidArgumentError(
                f"keys of table {self.name!r} must have a shape that ends with "
                f"{list(self.key_shape)}, got {list(keys.shape)}"
            )
        return keys.shape[:rank]

    def find(self, keys: Array, default: Array) -> Array:
        """The values of keys; where there is none, the default's.

        Args:
            keys: of any shape before that of a key.
            default: one value, or one for each key.

        Returns:
            A new array of the keys' shape and the shape of a value behind it.

        Raises:
            InvalidArgumentError: the shape of the keys or of the default is another.
        """
        shape = (*self.leading(keys), *self.value_shape)
        if default.shape not in (self.value_shape, shape):
            raise InvalidArgumentError(
                f"the default of table {self.name!r} must have the shape "
                f"{list(self.value_shape)} or {list(shape)}, got {list(default.shape)}"
            )
        hashed = self._hashed(keys)
        out = np.array(np.broadcast_to(default, shape))
        flat = out.reshape(-1, *self.value_shape)
        with self._lock:
            rows = self._found(hashed, len(flat))
            known = rows >= 0
            flat[known] = self._values[rows[known]]
        return out

    def insert(self, keys: Array, values: Array) -> None:
        """Gives keys values; of equal keys the last counts.

        Raises:
            InvalidArgumentError: the shapes do not fit each other or the table.
        """
        self._check_values(keys, values)
        with self._lock:
            self._put(keys, values)

    def remove(self, keys: Array) -> None:
        """Drops keys; those that there are not are passed over."""
        self.leading(keys)
        hashed = self._hashed(keys)
        with self._lock:
            for key in hashed:
                row = self._rows.pop(key, None)
                if row is not None:
                    self._free.append(row)

    def replace(self, keys: Array, values: Array) -> None:
        """Drops all and inserts these."""
        self._check_values(keys, values)
        with self._lock:
            self._rows.clear()
            self._free.clear()
            self._keys = self._storage(0, self.key_dtype, self.key_shape)
            self._values = self._storage(0, self.value_dtype, self.value_shape)
            self._put(keys, values)

    def export(self) -> tuple[Array, Array]:
        """All keys, of shape `[n, *key_shape]`, and their values, `[n, *value_shape]`."""
        with self._lock:
            rows = np.fromiter(self._rows.values(), np.int64, len(self._rows))
            return self._keys[rows], self._values[rows]

    def _check_values(self, keys: Array, values: Array) -> None:
        shape = (*self.leading(keys), *self.value_shape)
        if values.shape != shape:
            raise InvalidArgumentError(
                f"values for keys of shape {list(keys.shape)} of table {self.name!r} must have "
                f"the shape {list(shape)}, got {list(values.shape)}"
            )

    def _hashed(self, keys: Array) -> list[Hashable]:
        """What the dictionary knows the keys by."""
        if not self.key_shape:
            out: list[Hashable] = keys.reshape(-1).tolist()
            return out
        rows = keys.reshape(-1, *self.key_shape)
        if keys.dtype == object:
            return [tuple(row.ravel()) for row in rows]
        return [row.tobytes() for row in rows]

    def _found(self, hashed: Iterable[Hashable], count: int) -> Any:
        """The row of each key, -1 where there is none."""
        return np.fromiter(map(self._rows.get, hashed, repeat(-1)), np.int64, count)

    def _put(self, keys: Array, values: Array) -> None:
        hashed = self._hashed(keys)
        rows = self._found(hashed, len(hashed))
        for place in np.flatnonzero(rows < 0).tolist():
            rows[place] = self._row_for(hashed[place])
        self._grow(len(self._rows) + len(self._free))
        self._keys[rows] = keys.reshape(-1, *self.key_shape)
        flat = values.reshape(-1, *self.value_shape)
        # an assignment by indices does not say which of equal ones is last
        last = dict(zip(rows.tolist(), range(len(hashed)), strict=True))
        self._values[list(last)] = flat[list(last.values())]

    def _row_for(self, key: Hashable) -> int:
        row = self._rows.get(key)
        if row is None:
            row = self._free.pop() if self._free else len(self._rows)
            self._rows[key] = row
        return row

    def _grow(self, rows: int) -> None:
        have = len(self._keys)
        if rows > have:
            more = max(rows, 2 * have) - have
            self._keys = np.concatenate(
                [self._keys, self._storage(more, self.key_dtype, self.key_shape)]
            )
            self._values = np.concatenate(
                [self._values, self._storage(more, self.value_dtype, self.value_shape)]
            )


class ImmutableTable(Table):
    """A table that is initialised once. Source: TF op `HashTableV2`."""

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType) -> None:
        super().__init__(name, key_dtype, value_dtype)
        self._is_initialised = False

    def initialise(self, keys: Array, values: Array) -> None:
        """Gives the table its keys and values; once more only as many of them.

        Raises:
            InvalidArgumentError: the shapes differ.
            FailedPreconditionError: it has another number of keys already, or a key has two
                different values.
        """
        self._check_values(keys, values)
        hashed = self._hashed(keys)
        with self._lock:
            if self._is_initialised:
                if len(hashed) != len(self._rows):
                    raise FailedPreconditionError(
                        f"table {self.name!r} must be initialised once, got other data"
                    )
                return
            seen: dict[Hashable, Any] = {}
            for key, value in zip(hashed, values.reshape(-1).tolist(), strict=True):
                before = seen.setdefault(key, value)
                if before is not value and before != value:
                    raise FailedPreconditionError(
                        f"a key of table {self.name!r} must have one value, got {before!r} "
                        f"and {value!r} for {key!r}"
                    )
            self._put(keys, values)
            self._is_initialised = True

    def find(self, keys: Array, default: Array) -> Array:
        """The values of keys; see `Table`.

        Raises:
            FailedPreconditionError: the table is not initialised.
        """
        if not self._is_initialised:
            raise FailedPreconditionError(self._uninitialised(), do=_INITIALISE)
        if default.size and default.shape == keys.shape:
            default = default.reshape(-1)[:1].reshape(())  # TensorFlow looks at the first alone
        return super().find(keys, default)

    def insert(self, keys: Array, values: Array) -> None:
        """Raises UnimplementedError."""
        raise self._unchangeable()

    def remove(self, keys: Array) -> None:
        """Raises UnimplementedError."""
        raise self._unchangeable()

    def replace(self, keys: Array, values: Array) -> None:
        """Initialises it."""
        self.initialise(keys, values)

    def export(self) -> tuple[Array, Array]:
        """All keys and values. Raises AbortedError before it is initialised."""
        if not self._is_initialised:
            raise AbortedError(self._uninitialised(), do=_INITIALISE)
        return super().export()

    def _uninitialised(self) -> str:
        return f"table {self.name!r} must be initialised before it is used, got no data"

    def _unchangeable(self) -> UnimplementedError:
        return UnimplementedError(
            f"table {self.name!r} cannot be changed", do="make a mutable table"
        )


class DenseTable(Table):
    """A table of which two keys are reserved. Source: TF op `MutableDenseHashTableV2`.

    Args:
        name: of the resource.
        key_dtype: element type of keys.
        value_dtype: element type of values.
        value_shape: shape of the value of one key.
        reserved: the keys that mark empty and deleted places in TensorFlow's table.
    """

    def __init__(
        self,
        name: str,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: tuple[int, ...],
        reserved: tuple[Array, Array],
    ) -> None:
        super().__init__(name, key_dtype, value_dtype, value_shape, np.shape(reserved[0]))
        self._reserved = {
            self._hashed(np.asarray(key, key_dtype.numpy))[0]: name
            for name, key in zip(("empty_key", "deleted_key"), reserved, strict=True)
        }

    def _hashed(self, keys: Array) -> list[Hashable]:
        hashed = super()._hashed(keys)
        for key in getattr(self, "_reserved", {}).keys() & set(hashed):
            raise InvalidArgumentError(
                f"keys of table {self.name!r} must not be its {self._reserved[key]}, got {key!r}"
            )
        return hashed
