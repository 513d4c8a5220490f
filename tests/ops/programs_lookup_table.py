"""Programs of lookup tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def outcomes(tf: Any, graph: Any, *runs: tuple[Any, Any] | Any) -> list[Any]:
    """What each run gives in one session: arrays, or the class of the error."""
    found: list[Any] = []
    with tf.Session(graph=graph) as session:
        for fetch in runs:
            try:
                values = session.run(fetch)
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
            else:
                found.extend(values if isinstance(values, list | tuple) else [values])
    return ["done" if v is None else v for v in found]


def made(tf: Any, op: str, **arguments: Any) -> Any:
    """What the op of that name gives."""
    return getattr(tf.raw_ops, op)(**arguments)


def table_of(tf: Any, key: Any, value: Any, name: str = "") -> Any:
    return made(tf, "HashTableV2", key_dtype=key, value_dtype=value, shared_name=name)


def initialised_once(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = table_of(tf, tf.string, tf.int64)

        def start(keys: list[str], values: list[int]) -> Any:
            return made(
                tf,
                "InitializeTableV2",
                table_handle=table,
                keys=keys,
                values=tf.constant(values, tf.int64),
            )

        def find(keys: Any, default: Any = -1) -> Any:
            return made(
                tf,
                "LookupTableFindV2",
                table_handle=table,
                keys=keys,
                default_value=tf.constant(default, tf.int64),
            )

        found = find([["b", "x"], ["a", "b"]])
        size = made(tf, "LookupTableSizeV2", table_handle=table)
        return outcomes(
            tf, graph, found, size, start(["a", "b", "a"], [1, 2, 3]), size,
            start(["a", "b", "b"], [1, 2, 2]), size, found, find("a"), find([]),
            start(["c", "d"], [1, 2]), start(["c"], [1]), found, find(["a"], [7]),
            find(["a", "z"], [7, 8]), find(["a", "z"], [7, 8, 9]),
        )  # fmt: skip


def unchangeable(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = table_of(tf, tf.int64, tf.float32)
        keys, values = tf.constant([3, 1], tf.int64), tf.constant([0.5, np.nan])
        given = made(tf, "LookupTableImportV2", table_handle=table, keys=keys, values=values)
        insert = made(tf, "LookupTableInsertV2", table_handle=table, keys=keys, values=values)
        remove = made(tf, "LookupTableRemoveV2", table_handle=table, keys=keys)
        export = made(
            tf, "LookupTableExportV2", table_handle=table, Tkeys=tf.int64, Tvalues=tf.float32
        )
        runs = outcomes(tf, graph, export, given, insert, remove, export)
        order = np.argsort(runs[-2])
        return [*runs[:-2], runs[-2][order], runs[-1][order]]


def other_types(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = table_of(tf, tf.string, tf.int64, "one")
        other = table_of(tf, tf.int64, tf.int64, "one")
        find = made(tf, "LookupTableFindV2", table_handle=table, keys=["a"], default_value=1.5)
        size = made(tf, "LookupTableSizeV2", table_handle=table)
        other_size = made(tf, "LookupTableSizeV2", table_handle=other)
        return outcomes(tf, graph, size, find, other_size)


def references(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = made(tf, "HashTable", key_dtype=tf.int64, value_dtype=tf.string)
        keys = tf.constant([3, 1], tf.int64)
        start = made(tf, "InitializeTable", table_handle=table, keys=keys, values=["x", "y"])
        found = made(tf, "LookupTableFind", table_handle=table, keys=keys + 2, default_value="none")
        size = made(tf, "LookupTableSize", table_handle=table)
        return outcomes(tf, graph, size, found, start, size, found)


def mutable(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = made(tf, "MutableHashTableV2", key_dtype=tf.string, value_dtype=tf.float32)

        def insert(keys: Any, values: Any) -> Any:
            return made(tf, "LookupTableInsertV2", table_handle=table, keys=keys, values=values)

        export = made(
            tf, "LookupTableExportV2", table_handle=table, Tkeys=tf.string, Tvalues=tf.float32
        )
        find = made(
            tf, "LookupTableFindV2", table_handle=table, keys=[["a", "b", "c"]], default_value=-1.0
        )
        size = made(tf, "LookupTableSizeV2", table_handle=table)
        remove = made(tf, "LookupTableRemoveV2", table_handle=table, keys=["c", "a", "a"])
        load = made(tf, "LookupTableImportV2", table_handle=table, keys=["b"], values=[9.0])
        start = made(tf, "InitializeTableV2", table_handle=table, keys=["q"], values=[9.0])
        return outcomes(
            tf, graph, find, size, export, insert(["a", "b", "a"], [1.0, 2.0, 3.0]), find, size,
            remove, find, size, insert([["c"]], [[4.0]]), insert("d", 5.0), find, size, load, find,
            size, export, start,
        )  # fmt: skip


def vectors(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = made(
            tf,
            "MutableHashTableOfTensorsV2",
            key_dtype=tf.int64,
            value_dtype=tf.int64,
            value_shape=[2],
        )
        scalars = made(
            tf,
            "MutableHashTableOfTensorsV2",
            key_dtype=tf.int64,
            value_dtype=tf.int64,
            value_shape=[],
        )
        keys = tf.constant([5, 6], tf.int64)
        values = tf.constant([[1, 2], [3, 4]], tf.int64)
        insert = made(tf, "LookupTableInsertV2", table_handle=table, keys=keys, values=values)

        def find(default: Any) -> Any:
            return made(
                tf,
                "LookupTableFindV2",
                table_handle=table,
                keys=keys + 1,
                default_value=tf.constant(default, tf.int64),
            )

        size = made(tf, "LookupTableSizeV2", table_handle=scalars)
        return outcomes(tf, graph, insert, find([8, 9]), find([[8, 9], [10, 11]]), find(8), size)


def dense(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:

        def make(**attrs: Any) -> Any:
            given = {"empty_key": np.int64(-1), "deleted_key": np.int64(-2)}
            attrs = {"value_dtype": tf.int64, "initial_num_buckets": 4, **given, **attrs}
            return made(tf, "MutableDenseHashTableV2", **attrs)

        table = make()

        def keys(*values: int) -> Any:
            return tf.constant(values, tf.int64)

        def insert(*values: int) -> Any:
            given = keys(*values)
            return made(
                tf, "LookupTableInsertV2", table_handle=table, keys=given, values=given * 10
            )

        def find(*values: int) -> Any:
            default = tf.constant(-9, tf.int64)
            return made(
                tf,
                "LookupTableFindV2",
                table_handle=table,
                keys=keys(*values),
                default_value=default,
            )

        size = made(tf, "LookupTableSizeV2", table_handle=table)
        remove = made(tf, "LookupTableRemoveV2", table_handle=table, keys=keys(3, 99))
        wrong = [
            made(tf, "LookupTableSizeV2", table_handle=make(**attrs))
            for attrs in (
                {"initial_num_buckets": 3}, {"deleted_key": np.int64(-1)},
                {"value_shape": [2, 2]}, {"max_load_factor": 1.5},
            )
        ]  # fmt: skip
        removed = made(tf, "LookupTableRemoveV2", table_handle=table, keys=keys(-2))
        return outcomes(
            tf, graph, insert(*range(40)), size, find(3, 39, 40), remove, size, find(3, 4),
            find(-1), find(-2), insert(-1), removed, *wrong,
        )  # fmt: skip


def vector_keys(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        table = made(
            tf, "MutableDenseHashTableV2", empty_key=tf.constant([0, 0], tf.int64),
            deleted_key=tf.constant([-1, 0], tf.int64), value_dtype=tf.float32, value_shape=[3], initial_num_buckets=4,
        )  # fmt: skip
        keys = tf.constant([[1, 2], [2, 1]], tf.int64)
        values = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        insert = made(tf, "LookupTableInsertV2", table_handle=table, keys=keys, values=values)

        def find(keys: Any) -> Any:
            return made(
                tf,
                "LookupTableFindV2",
                table_handle=table,
                keys=tf.constant(keys, tf.int64),
                default_value=[0.0, -1.0, 0.5],
            )

        return outcomes(
            tf, graph, insert, find([[2, 1], [2, 2]]), find([[[1, 2]]]), find([[1, 2, 3]]),
            find([[0, 0]]),
        )  # fmt: skip


def files(tf: Any) -> list[Any]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "words.txt")
        path.write_bytes(b"the\t5\tx\r\nof\t-7\ty\nand\t12\tz")
        for key, value, dtypes, more in (
            (-2, -1, (tf.string, tf.int64), {}),
            (-1, -2, (tf.int64, tf.string), {"vocab_size": 3}),
            (0, 1, (tf.string, tf.int64), {}),
            (1, 0, (tf.int64, tf.string), {"offset": 1}),
            (0, 1, (tf.string, tf.float32), {"delimiter": "\t"}),
            (0, 2, (tf.string, tf.int64), {}),
            (0, 3, (tf.string, tf.string), {}),
            (0, 1, (tf.string, tf.int64), {"vocab_size": 2}),
            (0, 1, (tf.string, tf.int64), {"vocab_size": 4}),
            (-1, 1, (tf.string, tf.int64), {}),
            (-2, -2, (tf.string, tf.int64), {}),
        ):
            found += read(tf, str(path), dtypes, {"key_index": key, "value_index": value, **more})
        found += read(tf, f"{path}.gone", (tf.string, tf.int64), {"key_index": 0, "value_index": 1})
    return found


def read(tf: Any, path: str, dtypes: tuple[Any, Any], attrs: dict[str, Any]) -> list[Any]:
    """A table from a file, and what stands at keys of its type."""
    with tf.Graph().as_default() as graph:
        table = table_of(tf, *dtypes)
        start = made(
            tf, "InitializeTableFromTextFileV2", table_handle=table, filename=path, **attrs
        )
        keys = ["the", "and", "of\t-7\ty"] if dtypes[0] == tf.string else np.array([1, 12, 0])
        default = {tf.string: "none", tf.int64: np.int64(-1), tf.float32: np.float32(-1)}
        found = made(
            tf, "LookupTableFindV2", table_handle=table, keys=keys, default_value=default[dtypes[1]]
        )
        return outcomes(tf, graph, start, found)


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (
    initialised_once, unchangeable, other_types, references, mutable, vectors, dense, vector_keys,
    files,
)  # fmt: skip
