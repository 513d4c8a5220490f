"""Small forms of TensorFlow 1's API: names, feeds, scopes, arguments, restoring."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf


def test_a_type_is_found_by_its_number() -> None:
    assert tf.DType(1) is tf.float32
    assert tf.DType(101).base_dtype is tf.float32
    with pytest.raises(TypeError, match="9999"):
        tf.DType(9999)


def test_names_as_bytes_are_fetched_alone_and_in_lists() -> None:
    tf.constant(1.0, name="a")
    with tf.Session() as sess:
        assert sess.run(b"a:0") == 1.0
        assert sess.run([b"a:0", "a:0"]) == [1.0, 1.0]


@pytest.mark.parametrize("dense", [False, True])
def test_indexed_slices_are_fed_by_their_parts(dense: bool) -> None:
    parts = [tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])]
    value: list[Any] = [np.ones((1, 2), np.float32), np.array([3], np.int32)]
    if dense:
        parts.append(tf.placeholder(tf.int32, [2]))
        value.append(np.array([4, 2], np.int32))
    slices = tf.IndexedSlices(*parts)
    with tf.Session() as sess:
        for got, want in zip(sess.run(parts, {slices: tuple(value)}), value, strict=True):
            assert np.array_equal(got, want)
        with pytest.raises(ValueError, match="must be a tuple of"):
            sess.run(parts, {slices: (value[0],)})


def test_variable_scopes_are_left_in_the_reverse_order() -> None:
    outer, inner = tf.variable_scope("a"), tf.variable_scope("b")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="'a' must be left"):
        outer.__exit__(None, None, None)


@pytest.mark.parametrize("value", [3, None, "yes"])
def test_auxiliary_name_scope_is_a_bool(value: Any) -> None:
    with (
        pytest.raises(TypeError, match="auxiliary_name_scope must be a bool"),
        tf.variable_scope("a", auxiliary_name_scope=value),
    ):
        pass


def test_a_local_variable_in_collections_is_a_local_variable_too() -> None:
    v = tf.get_local_variable("x", [2], collections=["mine"])
    assert tf.get_collection("mine") == tf.get_collection("local_variables") == [v]
    assert not tf.global_variables()


def test_a_custom_getter_is_callable() -> None:
    with pytest.raises(ValueError, match="custom_getter must be callable"):
        tf.get_variable("x", [2], custom_getter=3)
    with (
        pytest.raises(ValueError, match="custom_getter must be callable"),
        tf.variable_scope("a", custom_getter=3),
    ):
        pass


def test_a_constraint_is_callable_and_may_be_partial() -> None:
    clip = functools.partial(tf.clip_by_value, clip_value_min=0.0, clip_value_max=1.0)
    assert tf.get_variable("x", [2], constraint=clip).constraint is clip
    with pytest.raises(ValueError, match="constraint must be callable"):
        tf.Variable(1.0, constraint=3)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("use_resource", [False, True])
def test_reads_are_on_the_caching_device(use_resource: bool) -> None:
    made = [
        tf.Variable(1.0, caching_device="/device:CPU:0", use_resource=use_resource),
        tf.get_variable(
            "v", [], caching_device=lambda op: "/device:CPU:0", use_resource=use_resource
        ),
    ]
    for v in made:
        assert v.value().device == "/device:CPU:0"
        assert v.op.device == ""


def test_a_device_that_the_machine_lacks_groups_nodes() -> None:
    with tf.device("/gpu:0"):
        c = tf.constant(1.0) + 1
    with tf.Session() as sess:
        assert sess.run(c) == 2.0


def test_the_mask_of_constant_lengths_has_a_static_shape() -> None:
    assert tf.sequence_mask([1, 2, 3, 4]).shape == [4, 4]
    assert tf.sequence_mask([[1], [3]]).shape == [2, 1, 3]
    assert tf.sequence_mask([-1]).shape == [1, 0]
    assert tf.sequence_mask(np.zeros([0], np.int32)).shape == [0, 0]


def test_transpose_takes_the_conjugate() -> None:
    x = tf.constant([[1 + 2j, 3 - 1j]])
    with tf.Session() as sess:
        assert sess.run(tf.transpose(x, conjugate=True)).tolist() == [[1 - 2j], [3 + 1j]]
        assert sess.run(tf.transpose([[1.0, 2.0]], conjugate=True)).tolist() == [[1.0], [2.0]]


def test_indices_outside_may_be_ignored() -> None:
    policy: Any = {"bad_indices_policy": "IGNORE"}
    with tf.Session() as sess:
        assert sess.run(tf.gather_nd([1, 2], [[1], [5]], **policy)).tolist() == [2, 0]
        assert sess.run(tf.scatter_nd([[1], [5]], [3, 4], [2], **policy)).tolist() == [0, 3]


def test_restoring_tells_all_that_differs_at_once(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in (("dense/kernel", [1.0]), ("bias", [1.0, 2.0]), ("old", [1.0])):
            tf.Variable(value, name=name)
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    for name, initial in (("dense/kernels", [1.0]), ("bias", [1.0]), ("fresh_one", [1.0])):
        tf.Variable(initial, name=name)
    with tf.Session() as sess, pytest.raises(tf.errors.OpError) as caught:
        tf.train.Saver().restore(sess, path)
    text = str(caught.value)
    assert "it lacks 'dense/kernels' (is it 'dense/kernel'?), 'fresh_one'" in text
    assert "'bias' has the shape [2], not (1,) as variable 'bias'" in text
    assert "the graph lacks 'dense/kernel', 'old'" in text
