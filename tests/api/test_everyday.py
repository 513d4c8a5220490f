"""The functions that scripts of loops and networks meet first: masks, clips, tables, losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import DTypeError, InvalidArgumentError, ShapeError


def value(fetch: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetch)


def unknown(x: Any, dtype: Any = np.float32) -> Any:
    """A tensor whose shape is not known when the graph is built."""
    return tf.placeholder_with_default(np.array(x, dtype), None)


def test_one_hot_takes_its_type_from_its_values_or_is_float32() -> None:
    assert tf.one_hot([0], 2).dtype == tf.float32
    assert tf.one_hot([0], 2, on_value=5, off_value=-1).dtype == tf.int32
    assert tf.one_hot([0], 2, on_value=True, off_value=False).dtype == tf.bool
    assert tf.one_hot([0], 2, 1.0, dtype=tf.float64).dtype == tf.float64
    got = value(tf.one_hot([[0, 2], [-1, 1]], 3, on_value=5, off_value=-1, axis=0))
    assert got.tolist() == [[[5, -1], [-1, -1]], [[-1, -1], [-1, 5]], [[-1, 5], [-1, -1]]]
    with pytest.raises(DTypeError, match="off_value is of int32, not float32"):
        tf.one_hot([0], 2, 1.0, 0)


def test_linspace_includes_both_ends() -> None:
    assert value(tf.linspace(-1.0, 1.0, 5)).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert value(tf.lin_space(3.0, 9.0, 1)).tolist() == [3.0]


@pytest.mark.parametrize("batch", [None, [2], []])
def test_eye(batch: Any) -> None:
    got = tf.eye(2, 3, batch, tf.int32)
    want = np.broadcast_to(np.eye(2, 3, dtype=np.int32), [*(batch or []), 2, 3])
    assert got.dtype == tf.int32
    assert got.shape.as_list() == list(want.shape)
    np.testing.assert_array_equal(value(got), want)
    assert value(tf.eye(unknown(3, np.int32))).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_gather_nd_in_batches(batch: int) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    index = np.array([[[1], [0], [1]], [[0], [1], [1]]])
    got = value(tf.gather_nd(x, index, batch_dims=batch))
    for place in np.ndindex(index.shape[:-1]):
        np.testing.assert_array_equal(got[place], x[place[:batch]][tuple(index[place])])


def test_scatter_nd_adds_what_falls_together() -> None:
    got = value(tf.scatter_nd([[1], [1], [3]], [1.0, 2.0, 4.0], [4]))
    assert got.tolist() == [0.0, 3.0, 0.0, 4.0]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("axis", [None, 1, -2])
def test_boolean_mask(axis: int | None, known: bool) -> None:
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    mask = np.array([True, False]) if axis is None else np.array([True, False, True])
    if not known and axis is not None and axis < 0:
        axis = 1
    tensor = tf.constant(x) if known else unknown(x)
    got = value(tf.boolean_mask(tensor, mask, axis=axis))
    np.testing.assert_array_equal(got, x[mask] if axis is None else x[:, mask])


def test_boolean_mask_of_two_axes_and_its_gradient() -> None:
    x = tf.constant(np.arange(6.0).reshape(2, 3))
    masked = tf.boolean_mask(x, [[True, False, True], [False, True, False]])
    assert masked.shape.as_list() == [None]
    assert value(masked).tolist() == [0.0, 2.0, 4.0]
    got = value(tf.gradients(masked * masked, x)[0])
    assert got.tolist() == [[0.0, 0.0, 4.0], [0.0, 8.0, 0.0]]


def test_boolean_mask_refuses_other_shapes() -> None:
    with pytest.raises(ShapeError, match=r"a mask of shape \[3\] for axes from 0 of \[2,3\]"):
        tf.boolean_mask(np.zeros((2, 3)), [True, False, True])
    with pytest.raises(ShapeError, match="scalar"):
        tf.boolean_mask([1.0], True)
    with pytest.raises(ShapeError, match="rank of the mask is not known"):
        tf.boolean_mask([1.0], tf.placeholder(tf.bool))


@pytest.mark.parametrize("dtype", [tf.bool, tf.float32, tf.int64])
def test_sequence_mask(dtype: Any) -> None:
    got = tf.sequence_mask([[1, 3], [0, 2]], 4, dtype)
    assert got.dtype == dtype
    assert got.shape.as_list() == [2, 2, 4]
    want = np.arange(4) < np.array([[1, 3], [0, 2]])[..., None]
    np.testing.assert_array_equal(value(got), want)
    np.testing.assert_array_equal(
        value(tf.sequence_mask(np.array([1, 3]))), np.arange(3) < np.array([[1], [3]])
    )
    with pytest.raises(ShapeError, match="maxlen is a scalar"):
        tf.sequence_mask([1], [2])


def test_clip_by_value_broadcasts_its_bounds_but_not_the_tensor() -> None:
    got = value(tf.clip_by_value([[1.0, 5.0], [2.0, 3.0]], [[2.0], [0.0]], 3.0))
    assert got.tolist() == [[2.0, 3.0], [2.0, 3.0]]
    with pytest.raises(ShapeError, match="bounds broadcast to the tensor"):
        tf.clip_by_value([1.0, 2.0], 0.0, [[1.0], [2.0]])


@pytest.mark.parametrize("size", [0.5, 10.0])
def test_clip_by_norm(size: float) -> None:
    x = np.array([[3.0, 4.0], [0.3, 0.4]])
    got = value(tf.clip_by_norm(x, size, axes=[1]))
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(got, x * size / np.maximum(norms, size))
    whole = value(tf.clip_by_norm(x, size))
    np.testing.assert_allclose(whole, x * size / np.maximum(np.linalg.norm(x), size))


def test_clip_by_norm_of_zeros_has_a_gradient() -> None:
    x = tf.constant([0.0, 0.0])
    assert value(tf.gradients(tf.clip_by_norm(x, 2.0), x)[0]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bound", [1.0, 100.0])
def test_clip_by_global_norm(bound: float) -> None:
    parts = [np.array([3.0, 4.0]), np.array([[12.0]])]
    sparse = tf.IndexedSlices(tf.constant([84.0], tf.float64), tf.constant([2]), tf.constant([5]))
    clipped, norm = tf.clip_by_global_norm([*map(tf.constant, parts), None, sparse], bound)
    assert clipped[2] is None
    assert isinstance(clipped[3], tf.IndexedSlices)
    found = value([norm, clipped[0], clipped[1], clipped[3].values])
    assert found[0] == pytest.approx(85.0)
    for got, want in zip(found[1:], [*parts, np.array([84.0])], strict=True):
        np.testing.assert_allclose(got, want * min(1.0, bound / 85.0))


def test_clip_by_global_norm_of_no_number_is_nan() -> None:
    clipped, norm = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)
    assert np.isnan(value(clipped[0])).all()
    assert np.isinf(value(norm))
    with pytest.raises(TypeError, match="list of tensors"):
        tf.global_norm(tf.constant([1.0]))  # type: ignore[arg-type]


def test_clip_by_average_norm() -> None:
    got = value(tf.clip_by_average_norm([3.0, 4.0], 0.5))
    np.testing.assert_allclose(got, np.array([3.0, 4.0]) * 0.5 * 2 / 5, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, [0, 1], []])
@pytest.mark.parametrize("keep", [False, True])
def test_reduce_logsumexp(axis: Any, keep: bool) -> None:
    x = np.array([[1.0, 1000.0, -1000.0], [2.0, 1000.0, -np.inf]])
    at = tuple(axis) if isinstance(axis, list) else axis
    reduce: Any = np.logaddexp.reduce
    want = reduce(x, at, keepdims=keep) if axis != [] else x
    got = tf.reduce_logsumexp(x, axis, keep)
    assert got.shape.as_list() == list(np.shape(want))
    np.testing.assert_allclose(value(got), want)


def test_reduce_logsumexp_of_infinities_and_of_nothing() -> None:
    got = value(tf.reduce_logsumexp([[np.inf, 1.0], [-np.inf, -np.inf]], 1))
    assert got.tolist() == [np.inf, -np.inf]
    assert value(tf.reduce_logsumexp(np.zeros((0, 2)), 0)).tolist() == [-np.inf, -np.inf]


def test_questions_about_floats() -> None:
    x = [1.0, np.inf, -np.inf, np.nan]
    asked = [tf.is_finite(x), tf.is_inf(x), tf.is_nan(x)]
    want = [np.isfinite(x), np.isinf(x), np.isnan(x)]
    assert [a.tolist() for a in value(asked)] == [w.tolist() for w in want]


def test_argmin_and_cumsum() -> None:
    assert value(tf.argmin([[3, 1], [2, 5]])).tolist() == [1, 0]
    assert tf.argmin([[3, 1]], axis=1, output_type=tf.int32).dtype == tf.int32
    assert value(tf.cumsum([1, 2, 3], exclusive=True, reverse=True)).tolist() == [5, 3, 0]


def test_sigmoid_cross_entropy() -> None:
    x = np.array([-1000.0, -1.0, 0.0, 2.0, 1000.0])
    z = np.array([0.0, 1.0, 0.5, 0.25, 1.0])
    logits = tf.constant(x)
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=logits)
    np.testing.assert_allclose(value(loss), np.maximum(x, 0) - x * z + np.log1p(np.exp(-abs(x))))
    slope = value(tf.gradients(loss, logits)[0])
    np.testing.assert_allclose(slope, 0.5 * (1 + np.tanh(x / 2)) - z, atol=1e-12)
    with pytest.raises(ValueError, match="needs both"):
        tf.nn.sigmoid_cross_entropy_with_logits(labels=z)
    with pytest.raises(ShapeError, match="give both one shape"):
        tf.nn.sigmoid_cross_entropy_with_logits(labels=z[:2], logits=x)


def test_layers() -> None:
    assert value(tf.nn.xw_plus_b([[1.0, 2.0]], [[3.0], [4.0]], [5.0])).tolist() == [[16.0]]
    np.testing.assert_allclose(value(tf.nn.softplus([0.0])), [np.log(2)], rtol=1e-6)
    assert value(tf.nn.softsign([-3.0])).tolist() == [-0.75]
    best = value(tf.nn.top_k([[1, 5, 5, 2]], 3))
    assert best.values.tolist() == [[5, 5, 2]]
    assert best.indices.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 2)]),
        ("ba", [(2, 3)]),
        ("...ij,...jk", [(2, 1, 2, 3), (3, 3, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("...i,ij,jk,...k->...", [(5, 2), (2, 3), (3, 4), (5, 4)]),
        ("ii", [(3, 3)]),
    ],
)
def test_einsum(equation: str, shapes: Any) -> None:
    inputs = [np.random.default_rng(i).normal(size=s) for i, s in enumerate(shapes)]
    want = np.einsum(equation, *inputs)
    for known in (True, False):
        given = [tf.constant(x) if known else unknown(x, np.float64) for x in inputs]
        np.testing.assert_allclose(value(tf.einsum(equation, *given)), want)


def test_einsum_of_complex_numbers_conjugates_its_gradient() -> None:
    x, y = tf.constant([1 + 2j, 3 - 1j]), tf.constant([2 - 1j, 1j])
    ones = tf.ones([2], tf.complex128)
    got = value(tf.gradients(tf.einsum("i,i->i", x, y), x, grad_ys=ones)[0])
    assert got.tolist() == [2 + 1j, -1j]


def test_einsum_refuses() -> None:
    with pytest.raises(ShapeError, match="is for 2 inputs, got 1"):
        tf.einsum("ij,jk->ik", np.zeros((2, 2)))
    with pytest.raises(ShapeError, match="axis 'j' has lengths 3 and 2"):
        tf.einsum("ij,jk->ik", np.zeros((2, 3)), np.zeros((2, 2)))


# ------------------------------------------------------------------------------------------ tables


def parted(strategy: str, table: Any, known: bool) -> list[Any]:
    """A table of seven rows in three parts."""
    if strategy == "mod":
        parts = [table[i::3] for i in range(3)]
    else:
        parts = [table[:3], table[3:5], table[5:]]
    return [tf.constant(p) if known else unknown(p) for p in parts]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_embedding_lookup_in_parts(strategy: str, kind: Any, known: bool) -> None:
    table = np.arange(14.0, dtype=np.float32).reshape(7, 2)
    ids = np.array([[6, 0, 3], [3, 5, 1]], kind)
    parts = parted(strategy, table, known)
    found = tf.nn.embedding_lookup(parts, ids, strategy)
    np.testing.assert_array_equal(value(found), table[ids])
    gradients = tf.gradients(found * found, parts)
    assert all(isinstance(g, tf.IndexedSlices) for g in gradients)
    want = np.zeros_like(table)
    np.add.at(want, ids, 2 * table[ids])
    whole = value([tf.convert_to_tensor(g) for g in gradients])
    for got, part in zip(whole, value(parted(strategy, want, True)), strict=True):
        np.testing.assert_array_equal(got, part)


@pytest.mark.parametrize("bad", [-1, 7, 100])
@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_embedding_lookup_refuses_ids_outside(strategy: str, bad: int) -> None:
    parts = parted(strategy, np.zeros((7, 2), np.float32), True)
    with pytest.raises(InvalidArgumentError, match="is not in"):
        value(tf.nn.embedding_lookup(parts, unknown([0, bad], np.int32), strategy))


@pytest.mark.parametrize("resource", [True, False])
def test_embedding_lookup_in_a_variable(resource: bool) -> None:
    table = tf.get_variable(
        f"table{resource}", initializer=np.eye(4, dtype=np.float32) * 3, use_resource=resource
    )
    rows = tf.nn.embedding_lookup(table, [[2, 2]], max_norm=1.5)
    assert rows.shape.as_list() == [1, 2, 4]
    np.testing.assert_allclose(value(rows)[0, 0], [0, 0, 1.5, 0])
    gradient = tf.gradients(tf.nn.embedding_lookup(table, [1, 1]), table)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    assert value(gradient).indices.tolist() == [1, 1]


def test_embedding_lookup_inside_a_loop() -> None:
    table = tf.get_variable("looked_up", initializer=np.arange(6.0).reshape(3, 2))

    def step(i: Any, total: Any) -> Any:
        rows = tf.nn.embedding_lookup(table, [i, 0])
        return i + 1, total + tf.reduce_sum(rows * rows)

    total = tf.while_loop(lambda i, total: i < 3, step, [0, tf.constant(0.0, tf.float64)])[1]
    got = value(tf.convert_to_tensor(tf.gradients(total, table)[0]))
    want = 2 * np.arange(6.0).reshape(3, 2) * np.array([[4], [1], [1]])
    np.testing.assert_array_equal(got, want)


def test_embedding_lookup_refuses() -> None:
    with pytest.raises(ValueError, match="needs a table"):
        tf.nn.embedding_lookup([], [0])
    with pytest.raises(ValueError, match="'mod' or 'div', got 'rows'"):
        tf.nn.embedding_lookup([[1.0]], [0], "rows")
