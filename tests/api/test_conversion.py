"""Python values become tensors of TensorFlow's types, or fail with a clear word."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import graphvm as tf

NATURAL = [
    (1, tf.int32, []),
    (2**31, tf.int64, []),
    (2**40, tf.int64, []),
    (1.5, tf.float32, []),
    (True, tf.bool, []),
    (1j, tf.complex128, []),
    ("a", tf.string, []),
    (b"a", tf.string, []),
    ([1, 2.5], tf.float32, [2]),
    ([True, False], tf.bool, [2]),
    ([True, 1], tf.int32, [2]),
    ([[1], [2]], tf.int32, [2, 1]),
    ([], tf.float32, [0]),
    ([[], []], tf.float32, [2, 0]),
    ([1, 2**40], tf.int64, [2]),
    (["a", b"b"], tf.string, [2]),
    ((1, 2), tf.int32, [2]),
    ([np.float64(1.5)], tf.float32, [1]),
    ([np.float32(1), 2], tf.float32, [2]),
    ([np.int64(1)], tf.int32, [1]),
    ([np.uint8(3)], tf.uint8, [1]),
    (np.float64(1), tf.float64, []),
    (np.arange(3), tf.int64, [3]),
    (np.arange(3, dtype=np.int16), tf.int16, [3]),
    (np.array(["a", "b"]), tf.string, [2]),
    (np.array([1], ml_dtypes.bfloat16), tf.bfloat16, [1]),
    (tf.TensorShape([1, 2]), tf.int32, [2]),
    (tf.TensorShape([2**33]), tf.int64, [1]),
    (tf.Dimension(3), tf.int32, []),
    ([tf.Dimension(3), -1], tf.int32, [2]),
]


@pytest.mark.parametrize(("value", "dtype", "shape"), NATURAL)
def test_a_value_has_its_natural_type(value: Any, dtype: Any, shape: list[int]) -> None:
    tensor = tf.convert_to_tensor(value)
    assert tensor.dtype is dtype
    assert tensor.shape.as_list() == shape


GIVEN = [
    (1, tf.float32, np.float32(1)),
    (True, tf.int32, np.int32(1)),
    (1.5, tf.complex64, np.complex64(1.5)),
    (300, tf.uint8, np.uint8(44)),
    (-1, tf.uint8, np.uint8(255)),
    (2**40, tf.int32, np.int32(0)),
    (np.float32(1.5), tf.int32, np.int32(1)),
    (np.array([1.5]), tf.int32, np.array([1], np.int32)),
    ([True], tf.float32, np.array([1], np.float32)),
    ([], tf.string, np.array([], object)),
]


@pytest.mark.parametrize(("value", "dtype", "held"), GIVEN)
def test_a_value_takes_the_type_it_is_given(value: Any, dtype: Any, held: Any) -> None:
    tensor = tf.convert_to_tensor(value, dtype)
    assert tensor.dtype is dtype
    stored = tensor.op.node.attrs["value"]
    np.testing.assert_array_equal(stored, held)


REFUSED = [
    (1.5, tf.int32, TypeError, "cannot be of type int32"),
    (1, tf.bool, TypeError, "cannot be of type bool"),
    ([1.5], tf.int32, TypeError, "cannot be of type int32"),
    (1.0, tf.string, TypeError, "cannot be of type string"),
    ("a", tf.float32, TypeError, "cannot be of type float32"),
    (1j, tf.float32, TypeError, "cannot be of type float32"),
    (2**70, None, TypeError, "no element type holds"),
    ([1, "a"], None, TypeError, "no element type holds"),
    (None, None, ValueError, "None is no value"),
    ([None], None, TypeError, "no element type holds"),
    ([[1, 2], [3]], None, ValueError, "different lengths"),
    ({"a": 1}, None, TypeError, "no element type holds"),
    (tf.float32, None, TypeError, "no element type holds"),
    (tf.TensorShape([None]), None, ValueError, "not known whole"),
    ([tf.Dimension(None)], None, ValueError, "not known"),
]


@pytest.mark.parametrize(("value", "dtype", "error", "says"), REFUSED)
def test_what_has_no_tensor_form_says_so(
    value: Any, dtype: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        tf.convert_to_tensor(value, dtype)
    assert "test_conversion.py" in str(caught.value)


def test_a_hint_is_taken_where_the_value_allows_it() -> None:
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype is tf.float32
    assert tf.convert_to_tensor(1.5, preferred_dtype=tf.int32).dtype is tf.float32


def test_a_tensor_stays_itself_and_is_never_cast() -> None:
    x = tf.placeholder(tf.float32, [2])
    assert tf.convert_to_tensor(x) is x
    with pytest.raises(TypeError, match="a tensor of int32 is wanted"):
        tf.convert_to_tensor(x, tf.int32)


def test_lists_with_tensors_in_them_are_packed_under_tensorflows_names() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tensor = tf.convert_to_tensor([[1.0, x], [2.0, 3.0]])
    assert (tensor.name, tensor.shape.as_list()) == ("packed:0", [2, 2])
    names = [op.name for op in tf.get_default_graph().get_operations()]
    assert names == ["x", "packed/0/0", "packed/0", "packed/1", "packed"]


def test_a_constant_is_a_copy_that_nothing_changes() -> None:
    array = np.zeros(2, np.float32)
    tensor = tf.constant(array)
    array[0] = 7
    with tf.Session() as session:
        value = session.run(tensor)
        value[1] = 5
        np.testing.assert_array_equal(session.run(tensor), [0, 0])


def test_a_constant_is_filled_up_to_its_shape() -> None:
    with tf.Session() as session:
        np.testing.assert_array_equal(
            session.run(tf.constant([1, 2], shape=[2, 2])), [[1, 2], [2, 2]]
        )
        assert session.run(tf.constant("a", shape=[2])).tolist() == [b"a", b"a"]
    with pytest.raises(ValueError, match="3 values for a constant of 2"):
        tf.constant([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match="has the shape"):
        tf.constant(1, shape=[2], verify_shape=True)
    with pytest.raises(TypeError, match="is a tensor already"):
        tf.constant(tf.constant(1))


def test_a_type_of_the_users_own_converts_by_its_registered_function() -> None:
    class Celsius:
        def __init__(self, degrees: float) -> None:
            self.degrees = degrees

    tf.register_tensor_conversion_function(
        Celsius, lambda value, dtype, name, as_ref: tf.constant(value.degrees + 273.15)
    )
    with tf.Session() as session:
        assert session.run(tf.identity(Celsius(1.0))) == pytest.approx(274.15)
        assert session.run(tf.add(tf.constant(1.0), Celsius(0.0))) == pytest.approx(274.15)
