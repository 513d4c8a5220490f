"""Functions of arrays and numbers against NumPy: values, static shapes, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
Y = X.T @ np.ones((2, 2), np.float32)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "abs": (tf.abs, np.abs),
    "cos": (tf.cos, np.cos),
    "ceil": (lambda x: tf.ceil(x * 0.4), lambda x: np.ceil(x * np.float32(0.4))),
    "exp": (tf.exp, np.exp),
    "expm1": (tf.expm1, np.expm1),
    "floor": (lambda x: tf.floor(x * 0.4), lambda x: np.floor(x * np.float32(0.4))),
    "log1p": (tf.log1p, np.log1p),
    "rint": (lambda x: tf.rint(x * 0.5), lambda x: np.rint(x * 0.5)),
    "round": (lambda x: tf.round(x * 0.5), lambda x: np.rint(x * 0.5)),
    "round, whole": (lambda x: tf.round(tf.cast(x, tf.int32)), lambda x: x.astype(np.int32)),
    "log": (tf.log if hasattr(tf, "log") else tf.math.log, np.log),
    "negative": (tf.negative, np.negative),
    "reciprocal": (tf.reciprocal, np.reciprocal),
    "rsqrt": (tf.rsqrt, lambda x: 1 / np.sqrt(x)),
    "sigmoid": (tf.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "sign": (lambda x: tf.sign(x - 3.0), lambda x: np.sign(x - 3)),
    "sin": (tf.sin, np.sin),
    "sqrt": (tf.sqrt, np.sqrt),
    "square": (tf.square, np.square),
    "tanh": (tf.tanh, np.tanh),
    "maximum": (lambda x: tf.maximum(x, 3.0), lambda x: np.maximum(x, 3)),
    "minimum": (lambda x: tf.minimum(3.0, x), lambda x: np.minimum(x, 3)),
    "squared_difference": (lambda x: tf.squared_difference(x, 2.0), lambda x: (x - 2) ** 2),
    "div_no_nan": (lambda x: tf.div_no_nan(x, x - 1.0),
                   lambda x: np.divide(x, x - 1, out=np.zeros_like(x), where=x != 1)),
    "floormod": (lambda x: tf.mod(-x, 4.0), lambda x: np.mod(-x, 4)),
    "equal": (lambda x: tf.equal(x, 3.0), lambda x: x == 3),
    "not_equal": (lambda x: tf.not_equal(x, 3.0), lambda x: x != 3),
    "logical_xor": (lambda x: tf.logical_xor(x > 2.0, x > 4.0), lambda x: (x > 2) ^ (x > 4)),
    "matmul, transposed": (lambda x: tf.matmul(x, x, transpose_b=True), lambda x: x @ x.T),
    "reduce_sum": (tf.reduce_sum, np.sum),
    "reduce_sum, axis": (lambda x: tf.reduce_sum(x, -1, keepdims=True),
                         lambda x: x.sum(-1, keepdims=True)),
    "reduce_sum, no axis": (lambda x: tf.reduce_sum(x, []), lambda x: x),
    "reduce_mean": (lambda x: tf.reduce_mean(x, [0, 1]), np.mean),
    "reduce_max": (lambda x: tf.reduce_max(x, 0), lambda x: x.max(0)),
    "reduce_min": (lambda x: tf.reduce_min(x, reduction_indices=0), lambda x: x.min(0)),
    "reduce_prod": (lambda x: tf.reduce_prod(x, 1), lambda x: x.prod(1)),
    "reduce_all": (lambda x: tf.reduce_all(x > 0.0), lambda x: (x > 0).all()),
    "reduce_any": (lambda x: tf.reduce_any(x > 5.0, 1), lambda x: (x > 5).any(1)),
    "where, indices": (lambda x: tf.where(x > 2.0), lambda x: np.argwhere(x > 2)),
    "where_v2, indices": (lambda x: tf.where_v2(x - 1.0), lambda x: np.argwhere(x - 1)),
    "reverse": (lambda x: tf.reverse(x, [-1]), lambda x: x[:, ::-1]),
    "matrix_solve": (lambda x: tf.matrix_solve([[2.0, 0.0], [0.0, 4.0]], x),
                     lambda x: x / np.array([[2], [4]], np.float32)),
    "cholesky": (lambda x: tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True)),
                 lambda x: np.linalg.cholesky(x @ x.T)),
    "matrix_inverse": (lambda x: tf.linalg.inv(tf.matrix_diag(x[0])),
                       lambda x: np.diag(1 / x[0])),
    "matrix_determinant": (lambda x: tf.linalg.det(tf.linalg.diag(x)), lambda x: x.prod(1)),
    "matrix_diag, band": (lambda x: tf.matrix_diag(x, k=(0, 1), num_rows=3, align="LEFT_LEFT"),
                          lambda x: np.diag(x[1]) + np.diag(x[0, :2], 1)),
    "matrix_diag_part": (lambda x: tf.linalg.diag_part(x, k=1), lambda x: x.diagonal(1)),
    "matrix_diag_part, band": (lambda x: tf.matrix_diag_part(x, k=(-1, 0), padding_value=9.0),
                               lambda x: np.array([[1, 5], [4, 9]], np.float32)),
    "matrix_set_diag": (lambda x: tf.matrix_set_diag(x, [0.0, 0.0]),
                        lambda x: x * (1 - np.eye(2, 3, dtype=np.float32))),
    "matrix_diag, bool": (lambda x: tf.matrix_diag(x[0] > 1.0),
                          lambda x: np.diag(x[0] > 1)),
    "argmax": (lambda x: tf.argmax(x, 1), lambda x: x.argmax(1)),
    "cumprod": (lambda x: tf.cumprod(x, 1), lambda x: x.cumprod(1)),
    "add_n": (lambda x: tf.add_n([x, x, x]), lambda x: 3 * x),
    "accumulate_n": (lambda x: tf.accumulate_n([x, x]), lambda x: 2 * x),
    "unsorted_segment_sum": (lambda x: tf.unsorted_segment_sum(x, [1, 1], 3),
                             lambda x: np.stack([0 * x[0], x.sum(0), 0 * x[0]])),
    "cast": (lambda x: tf.cast(x + 0.5, tf.int32), lambda x: (x + 0.5).astype(np.int32)),
    "to_double": (tf.to_double, lambda x: x.astype(np.float64)),
    "concat": (lambda x: tf.concat([x, x * 2.0], -1), lambda x: np.concatenate([x, 2 * x], -1)),
    "stack": (lambda x: tf.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
    "unstack": (lambda x: tf.unstack(x, axis=1)[2], lambda x: x[:, 2]),
    "tile": (lambda x: tf.tile(x, [2, 1]), lambda x: np.tile(x, [2, 1])),
    "pad": (lambda x: tf.pad(x, [[0, 1], [2, 0]]), lambda x: np.pad(x, [[0, 1], [2, 0]])),
    "transpose": (tf.transpose, np.transpose),
    "transpose, order": (lambda x: tf.transpose(x[None], [2, 0, 1]),
                         lambda x: x[None].transpose(2, 0, 1)),
    "reshape": (lambda x: tf.reshape(x, [3, -1]), lambda x: x.reshape(3, -1)),
    "expand_dims": (lambda x: tf.expand_dims(x, 1), lambda x: x[:, None]),
    "squeeze": (lambda x: tf.squeeze(x[:1, :, None], [0]), lambda x: x[0, :, None]),
    "broadcast_to": (lambda x: tf.broadcast_to(x, [2, 2, 3]),
                     lambda x: np.broadcast_to(x, [2, 2, 3])),
    "slice": (lambda x: tf.slice(x, [0, 1], [-1, 2]), lambda x: x[:, 1:3]),
    "strided_slice": (lambda x: tf.strided_slice(x, [0, 2], [2, 0], [1, -1]),
                      lambda x: x[0:2, 2:0:-1]),
    "gather": (lambda x: tf.gather(x, [[1], [0]]), lambda x: x[[[1], [0]]]),
    "gather, axis": (lambda x: tf.gather(x, [2, 0], axis=1), lambda x: x[:, [2, 0]]),
    "where": (lambda x: tf.where(x > 2.0, x, -x), lambda x: np.where(x > 2, x, -x)),
    "where, rows": (lambda x: tf.where(tf.constant([True, False]), x, -x),
                    lambda x: np.stack([x[0], -x[1]])),
    "where_v2": (lambda x: tf.where_v2(x > 2.0, x, 0.0), lambda x: np.where(x > 2, x, 0)),
    "zeros_like": (tf.zeros_like, np.zeros_like),
    "ones_like": (lambda x: tf.ones_like(x, tf.int32), lambda x: np.ones_like(x, np.int32)),
    "shape": (tf.shape, lambda x: np.array(x.shape, np.int32)),
    "size": (tf.size, lambda x: np.int32(x.size)),
    "rank": (tf.rank, lambda x: np.int32(x.ndim)),
    "fill": (lambda x: tf.fill(tf.shape(x), 7.0), lambda x: np.full_like(x, 7)),
    "relu": (lambda x: tf.nn.relu(x - 3.0), lambda x: np.maximum(x - 3, 0)),
    "bias_add": (lambda x: tf.nn.bias_add(x, [1.0, 2.0, 3.0]),
                 lambda x: x + np.array([1, 2, 3], np.float32)),
    "softmax": (tf.nn.softmax, lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "softmax, axis": (lambda x: tf.nn.softmax(x, 0), lambda x: np.exp(x) / np.exp(x).sum(0)),
    "log_softmax": (lambda x: tf.nn.log_softmax(x, axis=-2),
                    lambda x: np.log(np.exp(x) / np.exp(x).sum(0))),
    "l2_loss": (tf.nn.l2_loss, lambda x: (x * x).sum() / x.dtype.type(2)),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["shape known", "shape unknown"])
@pytest.mark.parametrize("case", CASES)
def test_a_function_computes_what_numpy_does(case: str, known: bool) -> None:
    function, reference = CASES[case]
    x = tf.placeholder(tf.float32, [2, 3] if known else None)
    if not known and case in ("unstack", "log_softmax", "transpose, order", "squeeze"):
        x.set_shape([None, 3])
    result, expected = function(x), np.asarray(reference(X))
    with tf.Session() as session:
        value = session.run(result, {x: X})
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert np.asarray(value).dtype == expected.dtype
    assert result.shape.is_compatible_with(expected.shape)
    if known and "indices" not in case:  # how many there are depends on the values
        assert result.shape.as_list() == list(expected.shape)


RANGES: list[tuple[tuple[Any, ...], Any]] = [
    ((3,), np.arange(3, dtype=np.int32)),
    ((1, 7, 2), np.arange(1, 7, 2, dtype=np.int32)),
    ((5, 0, -2), np.arange(5, 0, -2, dtype=np.int32)),
    ((0.0, 1.0, 0.25), np.arange(0, 1, 0.25, dtype=np.float32)),
    ((0, 1.5), np.arange(0, 1.5, dtype=np.float32)),
    ((0, 2**32, 2**31), np.array([0, 2**31], np.int64)),
]


@pytest.mark.parametrize(("arguments", "expected"), RANGES)
def test_ranges(arguments: Any, expected: Any) -> None:
    result = tf.range(*arguments)
    with tf.Session() as session:
        value = session.run(result)
    np.testing.assert_array_equal(value, expected)
    assert value.dtype == expected.dtype
    assert result.shape.as_list() == [len(expected)]


def test_a_range_takes_the_type_of_its_tensors() -> None:
    assert tf.range(tf.constant(1, tf.int64), 5).dtype is tf.int64
    assert tf.range(5, dtype=tf.float64).dtype is tf.float64
    assert tf.range(tf.constant(3), 1.5).dtype is tf.float32


def test_batches_of_matrices() -> None:
    a, b = tf.constant(CUBE), tf.placeholder(tf.float32, None)
    with tf.Session() as session:
        np.testing.assert_allclose(
            session.run(tf.matmul(a, b, transpose_b=True), {b: CUBE}), CUBE @ CUBE.swapaxes(1, 2)
        )
        np.testing.assert_allclose(
            session.run(tf.matmul(a, b), {b: np.ones((4, 2))}).shape, (2, 3, 2)
        )
        c = CUBE.astype(np.complex64) * (1 + 2j)
        np.testing.assert_allclose(
            session.run(tf.matmul(c, c, transpose_a=True)), c.swapaxes(1, 2) @ c
        )
        np.testing.assert_allclose(
            session.run(tf.matmul(c[0], c[0], adjoint_a=True)), c[0].conj().T @ c[0]
        )


def test_a_known_shape_follows_small_integers_through_the_graph() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    n = tf.shape(x)[0]
    assert tf.reshape(x, [n, 3, 1]).shape.as_list() == [None, 3, 1]
    assert tf.zeros([n, 2]).shape.as_list() == [None, 2]
    assert tf.reshape(x, [x.shape[1], -1]).shape.as_list() == [3, None]
    assert tf.reshape(tf.zeros([4, 3]), tf.stack([tf.constant(2), -1])).shape.as_list() == [2, 6]


def test_identities_keep_everything_together() -> None:
    first, second = tf.identity_n([tf.constant(1.0), tf.constant([2, 3])])
    assert (first.op, second.dtype) == (second.op, tf.int32)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.invert_permutation([2, 0, 1])), [1, 2, 0])
        x = tf.placeholder_with_default([1.0, 2.0], [None])
        np.testing.assert_array_equal(session.run(x), [1, 2])
        np.testing.assert_array_equal(session.run(x, {x: [5.0]}), [5])


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tf.matmul([1.0], [2.0]), ValueError, "rank"),
    (lambda: tf.matmul(X, X), ValueError, "3"),
    (lambda: tf.reduce_sum(X, 5), ValueError, "5"),
    (lambda: tf.reduce_sum(X, 0, reduction_indices=1), ValueError, "only one"),
    (lambda: tf.concat([tf.constant(X), tf.constant([[1]])], 0), TypeError, "float32"),
    (lambda: tf.concat([], 0), ValueError, "at least one"),
    (lambda: tf.stack([tf.constant(X), X[0]]), ValueError, "shape"),
    (lambda: tf.unstack(tf.placeholder(tf.float32)), ValueError, "not known"),
    (lambda: tf.add_n([]), ValueError, "at least one"),
    (lambda: tf.add_n([X, X[0]]), ValueError, "shape"),
    (lambda: tf.nn.softmax([1, 2]), TypeError, "int32"),
    (lambda: tf.sqrt(4), TypeError, "int32"),
    (lambda: tf.transpose(X, [0]), ValueError, "perm|permutation|rank"),
    (lambda: tf.where(X > 0, X, None), ValueError, "give x and y both"),
    (lambda: tf.where(X > 0, 1.0, X), ValueError, "shape"),
    (lambda: tf.zeros([None]), ValueError, "known whole"),
    (lambda: tf.zeros([-1]), ValueError, "known whole"),
    (lambda: tf.ones([1], tf.string), TypeError, "no 1 of strings"),
    (lambda: tf.expand_dims(X), ValueError, "needs an axis"),
    (lambda: tf.expand_dims(X, 5), ValueError, "5"),
    (lambda: tf.squeeze(X, 0), ValueError, "2"),
    (lambda: tf.tile(X, 2), ValueError, "rank|vector"),
    (lambda: tf.pad(X, [[1, 1]]), ValueError, "paddings|rows|axes"),
    (lambda: tf.pad(X, [[1, 1], [0, 0]], mode="REFLECT"), ValueError, "CONSTANT"),
    (lambda: tf.reshape(X, [4]), ValueError, "6"),
    (lambda: tf.logical_and(1, 2), TypeError, "bool"),
    (lambda: tf.less("a", "b"), TypeError, "string"),
    (lambda: tf.placeholder_with_default([1.0, 2.0], [3]), ValueError, "3"),
    (lambda: tf.matmul(X, X, transpose_a=True, adjoint_a=True), ValueError, "not both"),
    (lambda: tf.nn.bias_add(X, [1.0, 2.0]), ValueError, "bias"),
    (lambda: tf.nn.softmax_cross_entropy_with_logits(X, X),  # type: ignore[arg-type]
     ValueError, "by name"),
    (lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=X), ValueError,
     "labels of shape"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_what_does_not_fit_fails_while_building(case: int) -> None:
    function, error, says = ERRORS[case]
    with pytest.raises(error, match=says):
        function()


CLASSES = 3


def reference_loss(labels: Any, logits: Any) -> Any:
    log = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return -(labels * log).sum(-1)


@pytest.mark.parametrize("shape", [(4, CLASSES), (CLASSES,), (2, 4, CLASSES)])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("function", ["v1", "v2", "sparse"])
def test_cross_entropies(shape: tuple[int, ...], known: bool, function: str) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=shape).astype(np.float32)
    classes = rng.integers(0, CLASSES, shape[:-1])
    labels = np.eye(CLASSES, dtype=np.float32)[classes]
    z = tf.placeholder(tf.float32, shape if known else None)
    if function == "sparse":
        y = tf.placeholder(tf.int64, shape[:-1] if known else None)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=z)
        feeds = {z: logits, y: classes}
    else:
        y = tf.placeholder(tf.float32, shape if known else None)
        suffix = "_v2" if function == "v2" else ""
        loss = getattr(tf.nn, "softmax_cross_entropy_with_logits" + suffix)(labels=y, logits=z)
        feeds = {z: logits, y: labels}
    with tf.Session() as session:
        value = session.run(loss, feeds)
    np.testing.assert_allclose(value, reference_loss(labels, logits), rtol=1e-5)
    if known:
        assert loss.shape.as_list() == list(shape[:-1])


def test_cross_entropy_along_another_axis_and_in_half_precision() -> None:
    logits = np.random.default_rng(0).normal(size=(CLASSES, 4)).astype(np.float16)
    labels = np.eye(CLASSES, dtype=np.float16)[:, [0, 1, 2, 0]]
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=0)
    assert loss.dtype is tf.float16
    with tf.Session() as session:
        value = session.run(loss)
    expected = reference_loss(labels.T.astype(np.float32), logits.T.astype(np.float32))
    np.testing.assert_allclose(value, expected, rtol=1e-2)


def test_labels_take_no_gradient_unless_asked() -> None:
    labels, logits = tf.constant(X[:, :3]), tf.constant(X[:, :3])
    first = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    second = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    assert tf.gradients(first, labels) == [None]
    assert tf.gradients(second, labels)[0] is not None
