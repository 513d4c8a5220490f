"""Variables of both kinds: initialised, read, assigned, collected, found again."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf

KINDS = pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])


def ops() -> list[str]:
    return [f"{op.name} {op.type}" for op in tf.get_default_graph().get_operations()]


def test_the_nodes_of_a_resource_variable_are_tensorflows() -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    assert ops() == [
        "w/Initializer/initial_value Const",
        "w VarHandleOp",
        "w/IsInitialized/VarIsInitializedOp VarIsInitializedOp",
        "w/Assign AssignVariableOp",
        "w/Read/ReadVariableOp ReadVariableOp",
    ]
    assert (v.name, v.dtype, v.shape.as_list(), v.op.name) == ("w:0", tf.float32, [2], "w")
    assert repr(v) == "<tf.Variable 'w:0' shape=(2,) dtype=float32>"
    assert v.op.get_attr("shared_name") == b"w"


def test_the_nodes_of_a_reference_variable_are_tensorflows() -> None:
    v = tf.Variable([1.0, 2.0], name="w", use_resource=False)
    assert ops() == ["w/initial_value Const", "w VariableV2", "w/Assign Assign", "w/read Identity"]
    assert v.dtype.name == "float32_ref"
    assert isinstance(v, tf.Variable)


def test_the_kind_by_default_can_be_chosen() -> None:
    tf.disable_resource_variables()
    try:
        assert tf.Variable(1.0).op.type == "VariableV2"
        assert tf.get_variable("v", []).op.type == "VariableV2"
    finally:
        tf.enable_resource_variables()
    assert tf.Variable(1.0).op.type == "VarHandleOp"


def test_names_are_made_unique_in_their_scope() -> None:
    with tf.name_scope("a"):
        names = [tf.Variable(1.0).name, tf.Variable(1.0).name, tf.Variable(1.0, name="v").name]
    assert names == ["a/Variable:0", "a/Variable_1:0", "a/v:0"]


@KINDS
def test_a_variable_lives_in_the_session(resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=resource)
    add, subtract = v.assign_add([1.0, 1.0]), tf.assign_sub(v, [0.5, 0.5])
    assign = tf.assign(v, [7.0, 8.0])
    with tf.Session() as one, tf.Session() as two:
        with pytest.raises(tf.errors.FailedPreconditionError, match="before it was initialised"):
            one.run(v)
        assert not one.run(v.is_initialized())
        for session in (one, two):
            session.run(tf.global_variables_initializer())
        assert one.run(tf.is_variable_initialized(v))
        np.testing.assert_array_equal(one.run(add), [2, 3])
        np.testing.assert_array_equal(one.run(subtract), [1.5, 2.5])
        np.testing.assert_array_equal(one.run(v), [1.5, 2.5])
        np.testing.assert_array_equal(two.run(v), [1, 2])
        np.testing.assert_array_equal(two.run(assign), [7, 8])
        np.testing.assert_array_equal(v.eval(two), [7, 8])
        v.load([3.0, 4.0], two)
        np.testing.assert_array_equal(two.run(v.read_value()), [3, 4])


@KINDS
def test_what_uses_an_assignment_runs_after_it(resource: bool) -> None:
    v = tf.Variable(1.0, use_resource=resource)
    after = tf.assign(v, 5.0) + 1.0
    chained = tf.assign_add(tf.assign(v, 10.0), 1.0)
    with tf.control_dependencies([tf.assign(v, 2.0)]):
        read = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(after) == 6
        assert session.run(chained) == 11
        assert session.run(read) == 2


def test_an_assignment_without_its_value_is_an_operation() -> None:
    v = tf.Variable(1.0)
    assert isinstance(v.assign(2.0, read_value=False), tf.Operation)
    assert tf.assign(v, 2.0).op.type == "AssignVariableOp"


@KINDS
def test_assignments_are_checked_while_building(resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=resource)
    with pytest.raises(ValueError, match=r"\[3\]"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        v.assign(["a", "b"])
    with pytest.raises(TypeError, match="needs a variable"):
        tf.assign(3, 4)


def test_a_reference_may_change_its_shape_where_that_is_allowed() -> None:
    v = tf.Variable([1.0], validate_shape=False, use_resource=False)
    assert v.shape.rank is None
    grow = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(grow)
        np.testing.assert_array_equal(session.run(v), [1, 2, 3])


@KINDS
def test_initial_values_may_depend_on_each_other_in_any_order(resource: bool) -> None:
    a = tf.Variable(5.0, name="a", use_resource=resource)
    b = tf.Variable(a * 2.0, name="b", use_resource=resource)
    c = tf.Variable(b.initialized_value() + a, name="c", use_resource=resource)
    with tf.Session() as session:
        session.run(c.initializer)
        assert session.run(c) == 15
        session.run(b.initializer)
        assert session.run(b) == 10
        session.run(tf.global_variables_initializer())
        session.run(a.assign(7.0))
        session.run(b.initializer)
        assert session.run(b) == 14


def test_an_initial_value_by_function_is_made_in_the_scope_of_the_variable() -> None:
    v = tf.Variable(lambda: tf.ones([2]), name="q")
    assert v.initial_value is not None
    assert v.initial_value.name == "q/Initializer/ones:0"


def test_collections_know_the_variables() -> None:
    a, b = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    c = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a]
    assert tf.local_variables() == [c]
    assert tf.global_variables_initializer().control_inputs == [a.initializer, b.initializer]
    assert tf.local_variables_initializer().control_inputs == [c.initializer]


def test_a_reference_needs_a_value_of_whole_shape() -> None:
    with pytest.raises(ValueError, match="needs an initial value"):
        tf.Variable()
    with pytest.raises(ValueError, match="not known whole") as caught:
        tf.Variable(tf.placeholder(tf.float32, [None]), use_resource=False)
    assert "validate_shape=False" in str(caught.value)


def test_a_resource_has_the_static_shape_of_its_initial_value() -> None:
    assert tf.Variable([1.0, 2.0], validate_shape=False).shape.as_list() == [2]
    start = tf.placeholder(tf.float32)
    v = tf.Variable(start)
    assert v.shape.rank is None
    assert tf.Variable(tf.placeholder(tf.float32, [None, 2])).shape.as_list() == [None, 2]
    with tf.Session() as session:
        session.run(v.initializer, {start: [1.0, 2.0]})
        np.testing.assert_array_equal(session.run(v), [1, 2])
        np.testing.assert_array_equal(session.run(v.assign([1.0, 2.0, 3.0])), [1, 2, 3])
        session.run(v.assign_add([1.0, 1.0, 1.0]))
        np.testing.assert_array_equal(session.run(v * 2.0), [4, 6, 8])


@KINDS
def test_a_message_finds_the_variable_again(resource: bool) -> None:
    with tf.name_scope("s"):
        v = tf.Variable([1.0, 2.0], name="w", use_resource=resource)
    message = v.to_proto()
    assert message is not None
    assert message.variable_name == "s/w:0"
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="in")
        found = tf.Variable.from_proto(message, import_scope="in")
        assert (found.name, found.shape.as_list()) == ("in/s/w:0", [2])
        assert found.dtype is v.dtype
        with tf.Session() as session:
            session.run(found.initializer)
            np.testing.assert_array_equal(session.run(found + 1.0), [2, 3])
    inner = v.to_proto(export_scope="s")
    assert inner is not None
    assert inner.variable_name == "w:0"
    assert v.to_proto(export_scope="other") is None


@KINDS
def test_a_variable_made_in_a_body_is_made_outside(resource: bool) -> None:
    made: list[Any] = []

    def body(i: Any) -> Any:
        made.append(tf.Variable(2.0, name="step", use_resource=resource))
        return i + made[0]

    result = tf.while_loop(lambda i: i < 5.0, body, [0.0])
    assert tf.global_variables() == made
    assert made[0].graph is tf.get_default_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result) == 6


def test_a_tensor_of_a_body_is_no_initial_value() -> None:
    with pytest.raises(ValueError, match="cannot be a tensor of the body"):
        tf.while_loop(lambda i: i < 5.0, lambda i: tf.Variable(i) + 1.0, [0.0])


@KINDS
def test_a_device_holds_for_all_nodes_of_a_variable(resource: bool) -> None:
    with tf.device("/job:ps/task:1"):
        v = tf.Variable([1.0], use_resource=resource)
    assert {op.device for op in tf.get_default_graph().get_operations()} == {"/job:ps/task:1"}
    assert v.device == "/job:ps/task:1"


def test_python_cannot_iterate_over_a_variable() -> None:
    v = tf.Variable([1.0])
    with pytest.raises(TypeError, match="iterate"):
        list(v)
    assert len({v, tf.Variable(1.0)}) == 2


@pytest.mark.parametrize("use_resource", [False, True])
def test_count_up_to_stops_at_its_limit(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.get_variable("n", initializer=np.int64(0), use_resource=use_resource)
        counted = tf.count_up_to(n, 2)
        session.run(tf.global_variables_initializer())
        assert [session.run(counted), session.run(counted)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="limit of 2"):
            session.run(counted)
        assert session.run(n) == 2
