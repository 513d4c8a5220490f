"""map_fn, foldl, foldr, scan: structures, shapes, directions, clear errors."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf

ROWS = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_map_applies_a_function_to_each_row() -> None:
    y = tf.map_fn(lambda row: row * row + 1.0, ROWS)
    assert (y.name, y.shape.as_list()) == ("map/TensorArrayV2Stack/TensorListStack:0", [3, 2])
    np.testing.assert_array_equal(run(y), ROWS * ROWS + 1)


def test_map_takes_and_gives_structures() -> None:
    y = tf.map_fn(
        lambda e: {"sum": e[0] + e[1]["b"], "count": tf.constant(2)},
        (ROWS, {"b": ROWS[:, 0]}),
        dtype={"sum": tf.float32, "count": tf.int32},
    )
    got = run(y)
    np.testing.assert_array_equal(got["sum"], ROWS + ROWS[:, :1])
    assert got["count"].tolist() == [2, 2, 2]


def test_map_over_no_rows() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.map_fn(lambda row: tf.stack([row, row]), x)
    assert y.shape.as_list() == [None, 2, 2]
    assert run(y, {x: np.zeros((0, 2))}).shape == (0, 2, 2)


def test_map_gives_other_types_where_they_are_named() -> None:
    y = tf.map_fn(lambda row: tf.cast(row[0], tf.int64), ROWS, fn_output_signature=tf.int64)
    assert run(y).tolist() == [1, 3, 5]


def test_folds_go_from_either_end() -> None:
    text = tf.constant([b"a", b"b", b"c"])
    join = lambda so_far, s: tf.raw_ops.StringJoin(inputs=[so_far, s])  # noqa: E731
    assert run(tf.foldl(join, text)) == b"abc"
    assert run(tf.foldr(join, text)) == b"cba"
    assert run(tf.foldl(join, text, initializer=tf.constant(b"-"))) == b"-abc"
    assert run(tf.foldr(join, text, initializer=tf.constant(b"-"))) == b"-cba"


def test_scan_keeps_what_there_was() -> None:
    add = lambda a, x: a + x  # noqa: E731
    y = tf.scan(add, ROWS)
    assert y.shape.as_list() == [3, 2]
    np.testing.assert_array_equal(run(y), np.cumsum(ROWS, 0))
    np.testing.assert_array_equal(
        run(tf.scan(add, ROWS, reverse=True)), np.cumsum(ROWS[::-1], 0)[::-1]
    )
    begun = tf.scan(add, ROWS, initializer=tf.constant([10.0, 20.0]))
    np.testing.assert_array_equal(run(begun), np.cumsum(ROWS, 0) + np.array([10, 20]))


def test_scan_carries_structures() -> None:
    first, second = tf.scan(
        lambda a, x: (a[0] * x["v"], a[1] + 1), {"v": ROWS}, initializer=(tf.ones([2]), 0)
    )
    np.testing.assert_array_equal(run(first), np.cumprod(ROWS, 0))
    assert run(second).tolist() == [1, 2, 3]


@pytest.mark.parametrize("function", [tf.map_fn, tf.foldl, tf.foldr, tf.scan])
def test_functions_that_do_not_fit_are_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="takes a function for 'fn'"):
        function(3, ROWS)
    with pytest.raises(ValueError, match="gives another structure than is wanted"):
        function(lambda *a: (a[-1], a[-1]), ROWS)
    with pytest.raises(ValueError, match="there are no elements to go through"):
        function(lambda *a: a[-1], [])
    with pytest.raises(ValueError, match="elements have 2 rows and 3 rows"):
        function(lambda *a: a[-1], (ROWS, ROWS[:2]))


def test_back_prop_false_stops_derivatives() -> None:
    x = tf.constant(ROWS)
    stopped = tf.map_fn(lambda row: row * row, x, back_prop=False)
    through = tf.map_fn(lambda row: row * row, x)
    assert tf.gradients(stopped, x) == [None]
    np.testing.assert_array_equal(run(tf.gradients(through, x)[0]), 2 * ROWS)


@pytest.mark.parametrize(
    ("fn", "dtype"),
    [
        (lambda row: (row, tf.reduce_mean(row)), "(tf.float32, tf.float32)"),
        (lambda row: (tf.cast(row, tf.int32),), "(tf.int32,)"),
        (lambda row: {"a": [row, 1]}, "{'a': [tf.float32, tf.int32]}"),
        (lambda row: tf.cast(row, tf.float64), "tf.float64"),
    ],
)
def test_map_fn_names_the_dtype_that_it_needs(fn: Any, dtype: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        tf.map_fn(fn, ROWS)
    assert f"give map_fn dtype={dtype}" in str(caught.value)


@pytest.mark.parametrize("function", [tf.foldl, tf.foldr, tf.scan])
def test_folds_and_scans_name_the_initializer_that_they_need(function: Any) -> None:
    with pytest.raises(TypeError, match=r"an initializer of tf\.int32"):
        function(lambda a, row: tf.cast(row, tf.int32), ROWS)
    with pytest.raises(ValueError, match=r"an initializer of \(tf.float32, tf.float32\)"):
        function(lambda a, row: (row, row), ROWS)


def test_numbers_of_python_become_what_map_fn_wants() -> None:
    assert run(tf.map_fn(lambda row: (row[0], 2), ROWS, dtype=(tf.float32, tf.float64)))[
        1
    ].tolist() == [2.0] * len(ROWS)
