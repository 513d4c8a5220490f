"""get_variable and its scopes share, name and configure variables as TensorFlow 1 does."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf


def v(name: str = "v") -> tuple[str, str]:
    """Names of a variable and of an operation made here."""
    made = tf.get_variable(name, [1], initializer=tf.zeros_initializer())
    return made.name, tf.no_op().name


def test_names_of_variables_and_of_operations_go_their_own_ways() -> None:
    out: list[Any] = []
    with tf.variable_scope("a"):
        out.append(v())
    with tf.variable_scope("a", reuse=True):
        out.append(v())
    with tf.variable_scope("a/b"):
        out.append(v())
    for _ in range(2):
        with tf.variable_scope(None, "d"):
            out.append(v())
    with tf.variable_scope(None, "a"):
        out.append(v())
    with tf.variable_scope("a") as scope:
        with tf.variable_scope("c"):
            out.append(v())
        with tf.variable_scope(None, "c"):
            out.append(v())
    with tf.variable_scope(scope, reuse=True):
        out.append(v())
    with tf.variable_scope(scope, auxiliary_name_scope=False, reuse=tf.AUTO_REUSE):
        out.append(v())
    with tf.variable_scope("x"), tf.variable_scope(scope, reuse=True):
        out.append(v())
    assert out == [
        ("a/v:0", "a/NoOp"),
        ("a/v:0", "a_1/NoOp"),
        ("a/b/v:0", "a/b/NoOp"),
        ("d/v:0", "d/NoOp"),
        ("d_1/v:0", "d_1/NoOp"),
        ("a_1/v:0", "a_2/NoOp"),
        ("a/c/v:0", "a_3/c/NoOp"),
        ("a/c_1/v:0", "a_3/c_1/NoOp"),
        ("a/v:0", "a_4/NoOp"),
        ("a/v:0", "NoOp"),
        ("a/v:0", "x/a/NoOp"),
    ]
    assert (scope.name, scope.original_name_scope, scope.reuse) == ("a", "a_3/", False)


def test_a_name_scope_does_not_name_variables() -> None:
    with tf.name_scope("n"), tf.variable_scope("a"), tf.name_scope("m"):
        assert v() == ("a/v:0", "n/a/m/NoOp")


def test_reuse_is_asked_for() -> None:
    first = tf.get_variable("v", [1])
    with pytest.raises(ValueError, match="variable 'v' exists already") as caught:
        tf.get_variable("v", [1])
    assert "AUTO_REUSE" in str(caught.value)
    assert "test_variable_scope.py" in str(caught.value)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        assert tf.get_variable("v", [1]) is first
        with pytest.raises(ValueError, match="variable 'w' does not exist"):
            tf.get_variable("w", [1])
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v") is first
        assert tf.get_variable("w", [1]) is tf.get_variable("w")
    tf.get_variable_scope().reuse_variables()
    assert tf.get_variable("v", [1]) is first


def test_reuse_is_inherited_and_never_taken_back() -> None:
    with tf.variable_scope("a", reuse=True), tf.variable_scope("b", reuse=False):
        assert tf.get_variable_scope().reuse is True
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        with tf.variable_scope("b", reuse=False):
            assert tf.get_variable_scope().reuse is tf.AUTO_REUSE
        with tf.variable_scope("b", reuse=True):
            assert tf.get_variable_scope().reuse is True
    with (
        pytest.raises(ValueError, match="reuse needs a name"),
        tf.variable_scope(None, "a", reuse=True),
    ):
        pass
    with pytest.raises(TypeError, match="needs a name"), tf.variable_scope(None):
        pass


def test_what_is_shared_must_fit() -> None:
    tf.get_variable("v", [1])
    tf.get_variable_scope().reuse_variables()
    with pytest.raises(ValueError, match=r"has the shape \(1,\), not \(2,\)"):
        tf.get_variable("v", [2])
    with pytest.raises(ValueError, match="is of float32, not float64"):
        tf.get_variable("v", [1], tf.float64)


def test_initial_values_come_in_all_forms() -> None:
    assert tf.get_variable("a", initializer=tf.constant(3)).dtype is tf.int32
    assert tf.get_variable("b", initializer=3.0).shape.as_list() == []
    assert tf.get_variable("c", initializer=np.zeros(2)).dtype is tf.float64
    assert tf.get_variable("d", initializer=lambda: tf.ones([2])).shape.as_list() == [2]
    by_shape = tf.get_variable(
        "e", [2], initializer=lambda shape, dtype=None: tf.ones(shape, dtype)
    )
    assert by_shape.dtype is tf.float32
    assert tf.get_variable("f", [2], initializer=tf.ones_initializer).shape.as_list() == [2]
    assert tf.get_variable("g", [2], tf.int32).initial_value.op.type == "Const"
    glorot = tf.get_variable("h", [2, 3])
    assert glorot.initial_value.name == "h/Initializer/random_uniform:0"
    with pytest.raises(ValueError, match="do not give one"):
        tf.get_variable("i", [2], initializer=tf.constant([3, 1]))
    with pytest.raises(ValueError, match="needs a shape"):
        tf.get_variable("j")
    with pytest.raises(ValueError, match="needs a whole shape"):
        tf.get_variable("k", [None, 2])


def test_a_scope_gives_defaults() -> None:
    with tf.variable_scope(
        "a", initializer=tf.ones_initializer(), regularizer=tf.reduce_sum, dtype=tf.float64
    ):
        made = tf.get_variable("v", [2])
    assert made.dtype is tf.float64
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.name == "a/v/Regularizer/Sum:0"
    with tf.variable_scope("b", use_resource=False):
        assert tf.get_variable("v", [1]).op.type == "VariableV2"


def test_getters_see_each_request_from_the_inside_out() -> None:
    seen: list[str] = []

    def noting(mark: str) -> Any:
        def getter(get: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            seen.append(f"{mark} {name} {kwargs['shape']}")
            return get(name, *args, **kwargs)

        return getter

    outer = tf.variable_scope("a", custom_getter=noting("outer"))
    inner = tf.variable_scope("b", custom_getter=noting("inner"))
    with outer, inner:
        assert tf.get_variable("v", [1]).name == "a/b/v:0"
    assert seen == ["inner a/b/v [1]", "outer a/b/v [1]"]


def test_collections_and_training_are_chosen_by_variable() -> None:
    made = tf.get_variable("v", [1], trainable=False, collections=["mine"])
    assert tf.get_collection("mine") == [made]
    assert tf.global_variables() == tf.trainable_variables() == []
    local = tf.get_local_variable("l", [1])
    assert tf.local_variables() == [local]


def test_scopes_list_what_is_in_them() -> None:
    with tf.variable_scope("a") as scope:
        inside = tf.get_variable("v", [1])
    tf.get_variable("v", [1])
    assert scope.global_variables() == scope.trainable_variables() == [inside]


def test_a_variable_of_a_body_has_its_plain_name() -> None:
    tf.while_loop(lambda i: i < 3, lambda i: i + tf.get_variable("v", [], use_resource=True), [0.0])
    assert [x.name for x in tf.global_variables()] == ["v:0"]


INITIALIZERS: list[tuple[Any, float, float, float, float]] = [
    # initializer, mean, its tolerance, standard deviation, greatest absolute value
    (tf.zeros_initializer(), 0, 0, 0, 0),
    (tf.ones_initializer(), 1, 0, 0, 1),
    (tf.constant_initializer(3), 3, 0, 0, 3),
    (tf.random_uniform_initializer(-2, 2, seed=1), 0, 0.1, 4 / 12**0.5, 2),
    (tf.random_normal_initializer(1, 0.5, seed=1), 1, 0.05, 0.5, 4),
    (tf.truncated_normal_initializer(0, 1, seed=1), 0, 0.05, 0.8796, 2),
    (tf.glorot_uniform_initializer(seed=1), 0, 0.01, (2 / 150) ** 0.5, (6 / 150) ** 0.5),
    (tf.glorot_normal_initializer(seed=1), 0, 0.01, (2 / 150) ** 0.5, 0.3),
    (tf.initializers.he_normal(seed=1), 0, 0.01, (2 / 100) ** 0.5, 0.33),
    (tf.initializers.lecun_uniform(seed=1), 0, 0.01, 0.1, 0.18),
    (tf.variance_scaling_initializer(2.0, "fan_out", seed=1), 0, 0.02, 0.2, 0.46),
]


@pytest.mark.parametrize("case", INITIALIZERS, ids=lambda case: type(case[0]).__name__)
def test_initializers_have_the_distribution_that_they_promise(case: Any) -> None:
    initializer, mean, tolerance, stddev, greatest = case
    made = tf.get_variable("v", [100, 50], initializer=initializer)
    with tf.Session() as session:
        session.run(made.initializer)
        value = session.run(made)
    assert abs(value.mean() - mean) <= tolerance
    assert value.std() == pytest.approx(stddev, rel=0.05)
    assert np.abs(value).max() <= greatest
    again = type(initializer).from_config(initializer.get_config())
    assert again.get_config() == initializer.get_config()
