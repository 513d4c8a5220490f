"""Functions of strings."""

import numpy as np
import pytest

import graphvm as tf


def test_as_string_writes_numbers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        wide = tf.strings.as_string([1.5, -2.0], precision=2, width=7, fill="0")
        assert wide.shape == [2]
        assert session.run(wide).tolist() == [b"0001.50", b"-002.00"]
        assert session.run(tf.as_string([True, False])).tolist() == [b"true", b"false"]
        assert session.run(tf.as_string(np.int64(2**40))) == b"1099511627776"


def test_a_format_for_other_numbers_is_refused_when_it_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.as_string([1, 2], scientific=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not for numbers of int32"):
            session.run(text)


def test_strings_fill_up_diagonals_with_empty_ones() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.matrix_diag(["a", "b"])).tolist() == [[b"a", b""], [b"", b"b"]]
