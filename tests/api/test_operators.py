"""Python's operators on tensors and variables mean what they mean on arrays."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)
N = np.array([7, -7, 3], np.int32)

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


@pytest.mark.parametrize("function", BINARY)
@pytest.mark.parametrize("other", [2.0, 3, np.float64(2), X[0]])
def test_both_sides_of_an_operator(function: Callable[[Any, Any], Any], other: Any) -> None:
    x = tf.constant(X)
    right = np.float32(other)
    np.testing.assert_array_equal(value(function(x, other)), function(X, right))
    np.testing.assert_array_equal(value(function(other, x)), function(right, X))


@pytest.mark.parametrize("function", [operator.add, operator.floordiv, operator.mod])
def test_integers_stay_integers(function: Callable[[Any, Any], Any]) -> None:
    result = value(function(tf.constant(N), 3))
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, function(N, 3))


def test_division_of_integers_is_true() -> None:
    result = value(tf.constant(N) / 2)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, N / 2)
    assert value(tf.constant(N, tf.int8) / tf.constant(2, tf.int8)).dtype == np.float32
    assert value(tf.div(tf.constant(7), 2)) == 3


def test_one_sided_operators() -> None:
    x, p = tf.constant(X), tf.constant([True, False])
    np.testing.assert_array_equal(value(-x), -X)
    np.testing.assert_array_equal(value(abs(x)), abs(X))
    np.testing.assert_array_equal(value(~p), [False, True])


def test_logic_is_for_bool_only() -> None:
    p = tf.constant([True, False])
    assert value(p & True).tolist() == [True, False]
    assert value(True | p).tolist() == [True, True]
    assert value(p ^ p).tolist() == [False, False]
    with pytest.raises(TypeError, match="& is for tensors of bool, not of float32"):
        tf.constant(X) & tf.constant(X)


def test_power_and_matrix_product() -> None:
    x = tf.constant(X)
    np.testing.assert_allclose(value(x**2), X**2)
    np.testing.assert_allclose(value(2.0**x), 2.0**X)
    np.testing.assert_allclose(value(x @ tf.transpose(x)), X @ X.T)
    np.testing.assert_allclose(value(X @ tf.transpose(x)), X @ X.T)


SUBSCRIPTS: list[Any] = [
    0, -1, (0, 1), (slice(None), 1), (Ellipsis, slice(1, 2)), (slice(0, 1), slice(None, None, 2)),
    None, (slice(None), None), (Ellipsis, None, 0), slice(None, None, -1), slice(0, 100),
    (slice(1, None), slice(-2, None)), np.int64(1), (Ellipsis,),
]  # fmt: skip


@pytest.mark.parametrize("key", SUBSCRIPTS)
def test_subscripts_are_numpys(key: Any) -> None:
    part = tf.constant(X)[key]
    np.testing.assert_array_equal(value(part), X[key])
    assert part.shape.as_list() == list(X[key].shape)


def test_subscripts_may_be_tensors() -> None:
    x, one = tf.constant(X), tf.constant(1)
    np.testing.assert_array_equal(value(x[one]), X[1])
    np.testing.assert_array_equal(value(x[:, one:]), X[:, 1:])
    np.testing.assert_array_equal(value(x[tf.constant(0, tf.int64), one]), X[0, 1])
    np.testing.assert_array_equal(value(x[tf.Variable(1, dtype=tf.int32)]), X[1])


BAD_SUBSCRIPTS: list[tuple[Any, type[Exception], str]] = [
    (3, ValueError, "index 3 is outside axis 0 of size 2"),
    ((0, 0, 0), ValueError, "3 entries for axes"),
    ("a", TypeError, "is no subscript"),
    (1.5, TypeError, "is no subscript"),
    (slice(None, None, 0), ValueError, "not zero"),
    ((Ellipsis, Ellipsis), ValueError, "at most one"),
]


@pytest.mark.parametrize(("key", "error", "says"), BAD_SUBSCRIPTS)
def test_bad_subscripts_fail_while_building(key: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tf.constant(X)[key]


def test_a_variable_acts_as_its_value() -> None:
    v = tf.Variable(X)
    np.testing.assert_array_equal(value(v + 1), X + 1)
    np.testing.assert_array_equal(value(1 - v), 1 - X)
    np.testing.assert_array_equal(value(X * v), X * X)
    np.testing.assert_array_equal(value(v[0]), X[0])
    np.testing.assert_array_equal(value(v @ tf.transpose(v)), X @ X.T)
    np.testing.assert_array_equal(value(v > 0), X > 0)


def test_types_are_never_mixed() -> None:
    with pytest.raises(TypeError, match="AddV2 takes float32 for 'y', got int32") as caught:
        tf.constant(X) + tf.constant(1)
    text = str(caught.value)
    assert "add = AddV2(Const: f32[2,3], Const_1: i32[])" in text
    assert "test_operators.py" in text
    assert "cast" in text
    with pytest.raises(TypeError, match=r"1\.5 cannot be of type int32"):
        tf.constant(1) + 1.5
    with pytest.raises(TypeError, match="'a' cannot be of type float32"):
        tf.constant(X) + "a"
    with pytest.raises(ValueError, match="None"):
        tf.constant(X) + None


def test_shapes_are_checked_while_building() -> None:
    with pytest.raises(ValueError, match="do not broadcast"):
        tf.constant(X) + tf.zeros([4])


def test_python_cannot_look_into_a_tensor() -> None:
    x: Any = tf.placeholder(tf.float32, [2])
    for look in (bool, list, len, float, int, np.asarray):
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="'Placeholder:0'"):
            look(x)
    assert (x == x) is True
    assert (x != 1) is True
    assert x in {x}


def test_another_type_may_take_over() -> None:
    class Other:
        def __radd__(self, tensor: Any) -> str:
            return f"other + {tensor.name}"

    made: Any = tf.placeholder(tf.float32, name="x") + Other()
    assert made == "other + x:0"


def test_plus_joins_strings() -> None:
    text = tf.constant(["a", "b"])
    assert value(text + "c").tolist() == [b"ac", b"bc"]
    assert value("c" + text).tolist() == [b"ca", b"cb"]
    assert value(tf.add("x", ["y", "z"])).tolist() == [b"xy", b"xz"]


def test_tensors_have_all_operators_before_the_first_is_used() -> None:
    from graphvm.ops import operators, overloads

    assert sorted(f"__{name}__" for name in operators._OPERATORS.split()) == sorted(
        overloads.OPERATORS
    )
