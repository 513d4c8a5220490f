"""Gradients of tables that bodies gather from: rows, not whole tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf

ROWS, WIDTH = 20, 3
VALUES = np.random.default_rng(0).standard_normal((ROWS, WIDTH))
IDS = np.random.default_rng(1).integers(0, ROWS, (6, 4))


def term_of(table: Any, ids: Any) -> Any:
    return tf.reduce_sum(tf.gather(table, ids) ** 3)


def _while(table: Any, n: Any, term: Callable[..., Any] = term_of) -> Any:
    zero = tf.constant(0.0, tf.float64)
    return tf.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, 0.5 * s + term(table, tf.constant(IDS)[i])),
        [0, zero],
    )[1]


def _cond(table: Any, n: Any) -> Any:
    return tf.cond(n > 1, lambda: term_of(table, IDS[0]), lambda: tf.constant(1.0, tf.float64))


def _both_sides(table: Any, n: Any) -> Any:
    return tf.cond(
        n > 1, lambda: term_of(table, IDS[0].astype(np.int32)), lambda: 2 * term_of(table, IDS[1])
    )


def _case(table: Any, n: Any) -> Any:
    return tf.switch_case(n % 3, [lambda: term_of(table, IDS[0]), lambda: term_of(table, IDS[1]),
                                  lambda: tf.constant(2.0, tf.float64)])  # fmt: skip


def _call(table: Any, n: Any) -> Any:
    called = tf.Defun(tf.float64, tf.int64)(term_of)
    return called(table if isinstance(table, tf.Tensor) else tf.identity(table), IDS[0])


def _twice(table: Any, n: Any) -> Any:
    return _while(table, n, lambda t, ids: term_of(t, ids) + 2 * term_of(t, ids + 0 * ids))


def _cond_in_while(table: Any, n: Any) -> Any:
    def inner(t: Any, ids: Any) -> Any:
        return tf.cond(ids[0] > 9, lambda: term_of(t, ids), lambda: 2 * term_of(t, ids))

    return _while(table, n, inner)


def _while_in_while(table: Any, n: Any) -> Any:
    return _while(
        table, n, lambda t, ids: _while(t, tf.cast(ids[0], tf.int32) % 4) + term_of(t, ids)
    )


def _while_in_cond(table: Any, n: Any) -> Any:
    return tf.cond(n > 0, lambda: _while(table, n), lambda: tf.constant(0.0, tf.float64))


PROGRAMS = [_while, _cond, _both_sides, _case, _call, _twice, _cond_in_while, _while_in_while,
            _while_in_cond]  # fmt: skip


def _plain() -> Any:
    return tf.constant(VALUES)


def _ref() -> Any:
    return tf.Variable(VALUES, use_resource=False)


def _resource() -> Any:
    return tf.Variable(VALUES, use_resource=True)


@pytest.mark.parametrize(
    ("program", "made"),
    [(p, _plain) for p in PROGRAMS]
    + [(p, m) for p in (_while, _cond, _while_in_while) for m in (_ref, _resource)],
)
def test_rows_and_their_derivatives(program: Callable[..., Any], made: Callable[[], Any]) -> None:
    with tf.Graph().as_default():
        table = made()
        n = tf.placeholder(tf.int32, [])
        y = program(table, n)
        rows = tf.gradients(y, table)[0]
        assert isinstance(rows, tf.IndexedSlices), rows
        whole = tf.convert_to_tensor(rows)
        assert whole.shape == [ROWS, WIDTH]
        second = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(whole**2), table)[0])
        moved = tf.placeholder(tf.float64, [ROWS, WIDTH])
        step = None if made is _plain else tf.assign(table, moved)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())

            def at(value: Any, fetch: Any, trips: int) -> Any:
                if step is None:
                    return sess.run(fetch, {n: trips, table: value})
                sess.run(step, {moved: value})
                return sess.run(fetch, {n: trips})

            towards = np.random.default_rng(2).standard_normal((ROWS, WIDTH))
            e = 1e-5
            for trips in (0, 1, 6):
                found, first, again = at(VALUES, [rows, whole, second], trips)
                assert len(found.values) == len(found.indices)
                summed = np.zeros((ROWS, WIDTH))
                np.add.at(summed, found.indices, found.values)
                np.testing.assert_allclose(first, summed, rtol=1e-12)
                near = [at(VALUES + s * e * towards, [y, whole], trips) for s in (1, -1)]
                slope = (near[0][0] - near[1][0]) / (2 * e)
                np.testing.assert_allclose(np.sum(first * towards), slope, rtol=1e-6, atol=1e-8)
                bend = (np.sum(near[0][1] ** 2) - np.sum(near[1][1] ** 2)) / (2 * e)
                np.testing.assert_allclose(np.sum(again * towards), bend, rtol=1e-6, atol=1e-6)


def test_a_table_used_whole_as_well_has_a_whole_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _plain()
        y = _while(table, 3, lambda t, ids: term_of(t, ids) + tf.reduce_sum(t * t))
        found = tf.gradients(y, table)[0]
        assert isinstance(found, tf.Tensor)
        after = tf.gradients(_while(table, 3) + tf.reduce_sum(table**2), table)[0]
        rows = tf.convert_to_tensor(tf.gradients(_while(table, 3), table)[0])
        got, expected = sess.run([after, rows + 2 * table])
        np.testing.assert_allclose(got, expected)


def test_rows_of_unknown_shape_are_added_up() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.placeholder(tf.float64)
        found = tf.convert_to_tensor(tf.gradients(_while(table, 3), table)[0])
        known = _plain()
        expected = tf.convert_to_tensor(tf.gradients(_while(known, 3), known)[0])
        got = sess.run(found, {table: VALUES})
        np.testing.assert_allclose(got, sess.run(expected))


def test_a_table_that_a_loop_changes_has_a_whole_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _plain()
        _, after = tf.while_loop(
            lambda i, t: i < 3,
            lambda i, t: (i + 1, t + tf.reduce_sum(tf.gather(t, IDS[0])) * 0.1),
            [0, table],
        )
        found = tf.gradients(after, table)[0]
        assert isinstance(found, tf.Tensor)
        assert sess.run(found).shape == (ROWS, WIDTH)


def test_training_touches_only_the_rows_that_were_read() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.Variable(VALUES)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(_while(table, 2))
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        moved = np.any(sess.run(table) != VALUES, axis=1)
        np.testing.assert_array_equal(np.flatnonzero(moved), np.unique(IDS[:2]))


def test_no_iteration_makes_a_whole_table() -> None:
    """What grows with the table stays out of the loop backwards."""
    with tf.Graph().as_default():
        table = _plain()
        tf.gradients(_while(table, 3), table)
        library = tf.get_default_graph().as_graph_def().library
        backwards = [f for f in library.function if "grad_body" in f.signature.name]
        assert backwards
        ops = {n.op for f in backwards for n in f.node_def}
        assert not ops & {"UnsortedSegmentSum", "AddN", "Fill"}, ops


@pytest.mark.parametrize("recompute", [None, "all", 2])
@pytest.mark.parametrize("read", [4, ROWS, 3 * ROWS])
def test_rows_are_listed_only_where_that_is_less(read: int, recompute: Any) -> None:
    """A list grows with the loop: not for more rows than the table has, nor to save memory."""
    ids = np.random.default_rng(1).integers(0, ROWS, read)
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _plain()
        zero = tf.constant(0.0, tf.float64)
        y = tf.while_loop(
            lambda i, s: i < 4, lambda i, s: (i + 1, 0.5 * s + term_of(table, ids)), [0, zero],
            recompute=recompute,
        )[1]  # fmt: skip
        found = tf.gradients(y, table)[0]
        assert isinstance(found, tf.IndexedSlices) == (read < ROWS and recompute is None)
        summed = np.zeros((ROWS, WIDTH))
        np.add.at(summed, ids, 3 * VALUES[ids] ** 2 * (1 + 0.5 + 0.25 + 0.125))
        np.testing.assert_allclose(sess.run(tf.convert_to_tensor(found)), summed)


def test_indices_of_unknown_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _plain()
        ids = tf.placeholder(tf.int32)

        @tf.custom_gradient
        def looked_up(t: Any) -> Any:
            def slope(g: Any) -> Any:
                return tf.IndexedSlices(g * tf.ones([2, WIDTH], tf.float64), ids, t.shape.as_list())

            return tf.reduce_sum(tf.gather(t, ids)), slope

        y = _while(table, 3, lambda t, _: looked_up(t))
        found = tf.convert_to_tensor(tf.gradients(y, table)[0])
        assert sess.run(found, {ids: [1, 2]}).sum() == pytest.approx(2 * WIDTH * 1.75)
