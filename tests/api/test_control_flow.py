"""cond, while_loop and friends: structures, names, captures, side effects, clear errors."""

import collections
from typing import Any

import numpy as np
import pytest

import graphvm as tf

Pair = collections.namedtuple("Pair", "a b")


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def types() -> dict[str, str]:
    return {op.name: op.type for op in tf.get_default_graph().get_operations()}


# -- cond ------------------------------------------------------------------------------------


def test_a_branch_is_chosen_when_it_runs() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2], name="x")
    y = tf.cond(p, lambda: x + 1.0, lambda: x * 2.0)
    assert (y.name, y.shape.as_list(), y.dtype) == ("cond/Identity:0", [2], tf.float32)
    assert types()["cond"] == "StatelessIf"
    np.testing.assert_array_equal(run(y, {p: True, x: [1, 2]}), [2, 3])
    np.testing.assert_array_equal(run(y, {p: False, x: [1, 2]}), [2, 4])


@pytest.mark.parametrize("holds", [True, False])
def test_branches_give_any_structure(holds: bool) -> None:
    p, x = tf.constant(holds), tf.constant(3.0)
    y = tf.cond(
        p,
        lambda: {"a": x, "b": (x + 1.0, [Pair(1, None)])},
        lambda: {"a": 0.0, "b": (x * x, [Pair(2, None)])},
    )
    assert y["b"][1][0].b is None
    value = run({"a": y["a"], "b": y["b"][0], "c": y["b"][1][0].a})
    assert value == ({"a": 3, "b": 4, "c": 1} if holds else {"a": 0, "b": 9, "c": 2})


def test_one_element_comes_alone_unless_strict() -> None:
    p, x = tf.constant(True), tf.constant(3.0)
    assert isinstance(tf.cond(p, lambda: [x], lambda: (x,)), tf.Tensor)
    assert isinstance(tf.cond(p, lambda: [x], lambda: [x], strict=True), list)


def test_a_number_holds_where_it_is_not_zero() -> None:
    for value, expected in [(3, 1), (0, 2), (0.5, 1)]:
        assert run(tf.cond(tf.constant(value), lambda: 1, lambda: 2)) == expected
    assert run(tf.cond(tf.constant([[True]]), lambda: 1, lambda: 2)) == 1


def test_dimensions_in_which_branches_differ_are_unknown() -> None:
    y = tf.cond(tf.constant(False), lambda: tf.ones([2, 3]), lambda: tf.ones([2, 5]))
    assert y.shape.as_list() == [2, None]
    assert run(y).shape == (2, 5)


def test_captures_reach_through_any_depth() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(
        x > 0.0,
        lambda: tf.cond(x > 1.0, lambda: tf.while_loop(lambda i: i < x, lambda i: i + x, [0.0]),
                        lambda: x * 10.0),
        lambda: -x,
    )  # fmt: skip
    assert [run(y, {x: v}) for v in (-1.0, 0.5, 3.0)] == [1, 5, 3]
    assert [t.name for t in y.op.inputs[0].op.inputs] == ["Greater:0", "x:0"]


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])
def test_only_the_chosen_branch_changes_a_variable(resource: bool) -> None:
    v = tf.Variable(1.0, use_resource=resource)
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: v.assign_add(10.0), lambda: v.read_value())
    op = tf.cond(p, lambda: tf.group(v.assign(5.0)), tf.no_op)
    assert types()["cond"] == "If"
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y, {p: False}) == 1
        assert session.run(y, {p: True}) == 11
        assert not session.run(op, {p: False})
        assert session.run(v) == 11
        assert session.run(op, {p: True})
        assert session.run(v) == 5


def test_what_a_branch_does_not_return_does_not_run() -> None:
    v = tf.Variable(1.0)

    def forgetful() -> Any:
        v.assign(100.0)
        return tf.constant(2.0)

    def careful() -> Any:
        with tf.control_dependencies([v.assign(100.0)]):
            return tf.constant(2.0)

    with tf.Session() as session:
        session.run(v.initializer)
        session.run(tf.cond(tf.constant(True), forgetful, lambda: 0.0))
        assert session.run(v) == 1
        session.run(tf.cond(tf.constant(True), careful, lambda: 0.0))
        assert session.run(v) == 100


def test_a_control_edge_into_a_body_becomes_one_of_the_node() -> None:
    v = tf.Variable(1.0)
    outside = v.assign(7.0)

    def branch() -> Any:
        with tf.control_dependencies([outside]):
            return tf.constant(1.0)

    y = tf.cond(tf.constant(True), branch, lambda: 2.0)
    assert [op.name for op in y.op.inputs[0].op.control_inputs] == [outside.op.name]
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(y)
        assert session.run(v) == 7


def test_a_check_in_a_branch_runs_with_it() -> None:
    x = tf.placeholder(tf.float32, [])

    def checked() -> Any:
        with tf.control_dependencies([tf.Assert(x < 5.0, ["too big:", x])]):
            return tf.sqrt(x)

    y = tf.cond(x > 0.0, checked, lambda: 0.0)
    assert run(y, {x: 4.0}) == 2
    assert run(y, {x: -9.0}) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="too big"):
        run(y, {x: 9.0})


COND_ERRORS: list[tuple[Any, Any, Any, type[Exception], str]] = [
    (True, lambda: 1, lambda: 2, TypeError, "Python bool"),
    (None, lambda: 1, lambda: 2.0, TypeError, "result 0 is int32 in true_fn and float32"),
    (None, lambda: [1, 2], lambda: 1, ValueError, "different structures"),
    (None, lambda: [1, 2], lambda: (1, 2), TypeError, "different structures"),
    (None, lambda: [1, 2], lambda: [1, 2, 3], ValueError, "one has 2 elements, the other 3"),
    (None, lambda: {"a": 1}, lambda: {"b": 1}, ValueError, "keys differ"),
    (None, lambda: None, lambda: None, ValueError, "gives nothing"),
    (None, 1, lambda: 2, TypeError, "takes a function for 'true_fn'"),
]


@pytest.mark.parametrize("case", COND_ERRORS)
def test_branches_that_do_not_fit_say_so(case: Any) -> None:
    pred, true_fn, false_fn, error, says = case
    with pytest.raises(error, match=says) as caught:
        tf.cond(tf.constant(True) if pred is None else pred, true_fn, false_fn)
    assert "test_control_flow.py" in str(caught.value)


# -- while_loop -------------------------------------------------------------------------------


def test_a_loop_runs_as_long_as_it_should() -> None:
    i, s = tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s * 2.0), (0, 1.0))
    assert (i.name, s.name) == ("while/Identity_2:0", "while/Identity_3:0")
    assert types()["while"] == "StatelessWhile"
    assert run([i, s]) == [10, 1024]
    assert run(tf.while_loop(lambda i: False, lambda i: i + 1, [5])) == 5


def test_loop_variables_have_any_structure() -> None:
    x = tf.constant([1.0, 2.0])
    i, rest = tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, {"a": v["a"] + x, "b": Pair(v["b"].b, v["b"].a)}),
        (0, {"a": x, "b": Pair(1, 2)}),
        name="loop",
    )
    assert isinstance(rest["b"], Pair)
    value = run([i, rest["a"], rest["b"].a, rest["b"].b])
    np.testing.assert_array_equal(value[1], [4, 8])
    assert (value[0], value[2], value[3]) == (3, 2, 1)
    assert i.name == "loop/Identity_2:0"


def test_one_loop_variable_comes_alone_unless_asked_otherwise() -> None:
    grow = (lambda i: i < 3, lambda i: i + 1, [0])
    assert isinstance(tf.while_loop(*grow), tf.Tensor)
    assert isinstance(tf.while_loop(*grow, return_same_structure=True), list)
    pair = tf.while_loop(lambda p: p[0] < 3, lambda p: (p[0] + 1, p[1]), [(0, 1)])
    assert run(pair) == (3, 1)


def test_shapes_may_change_where_that_is_said() -> None:
    y = tf.while_loop(
        lambda x: tf.size(x) < 20,
        lambda x: tf.concat([x, x], 0),
        [tf.zeros([2, 3])],
        shape_invariants=[tf.TensorShape([None, 3])],
    )
    assert y.shape.as_list() == [None, 3]
    assert run(y).shape == (8, 3)
    z = tf.while_loop(
        lambda i, x: i < 2,
        lambda i, x: (i + 1, tf.concat([x, x], 0)),
        [0, tf.zeros([2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
    )
    assert z[1].shape.rank is None


def test_a_loop_stops_at_its_limit() -> None:
    limit = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0], maximum_iterations=limit)
    assert [run(y, {limit: n}) for n in (0, 3, 99)] == [0, 3, 10]
    assert run(tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=7)) == 7
    with pytest.raises(TypeError, match="maximum_iterations is an integer"):
        tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=1.5)


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])
def test_a_loop_changes_a_variable_in_order(resource: bool) -> None:
    v = tf.Variable(0.0, use_resource=resource)
    y = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + v.assign_add(1.0)), (0, 0.0))
    assert types()["while"] == "While"
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y) == (4, 1 + 2 + 3 + 4)
        assert session.run(v) == 4


def test_a_predicate_may_be_a_tensor_of_one_element() -> None:
    assert run(tf.while_loop(lambda i: i < [3], lambda i: i + 1, [0])) == 3


def test_a_loop_without_back_prop_has_no_gradient() -> None:
    x = tf.constant(2.0)
    y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), (0, 1.0), back_prop=False)
    assert tf.gradients(y[1], x) == [None]


LOOP_ERRORS: list[tuple[Any, Any, type[Exception], str]] = [
    (lambda i, s: (i + 1, tf.concat([s, s], 0)), {}, ValueError,
     r"loop variable 's' has the shape \[2\] in every iteration, but \[4\] after one"),
    (lambda i, s: (tf.cast(i, tf.float32), s), {}, TypeError,
     "loop variable 'i' enters as int32 and is float32 after an iteration"),
    (lambda i, s: i, {}, ValueError, "another structure"),
    (lambda i, s: (i, s, s), {}, ValueError, "another structure"),
    (lambda i, s: (i, s), {"shape_invariants": [tf.TensorShape([]), tf.TensorShape([3])]},
     ValueError, r"not of the invariant shape \[3\]"),
    (lambda i, s: (i, s), {"shape_invariants": [tf.TensorShape([])]}, ValueError, "1 elements"),
    (lambda i, s: (i, s), {"parallel_iterations": 0}, TypeError, "at least 1"),
    (3, {}, TypeError, "takes a function for 'body'"),
]  # fmt: skip


@pytest.mark.parametrize("case", LOOP_ERRORS)
def test_bodies_that_do_not_fit_say_so(case: Any) -> None:
    body, more, error, says = case
    with pytest.raises(error, match=says):
        tf.while_loop(lambda i, s: i < 3, body, (0, tf.zeros([2])), **more)


def test_a_changed_shape_is_shown_with_the_line_that_changed_it() -> None:
    def body(s: Any) -> Any:
        return tf.concat([s, s], 0, name="grown")  # this line

    with pytest.raises(ValueError, match="shape_invariants") as caught:
        tf.while_loop(lambda s: True, body, [tf.zeros([2])])
    line = body.__code__.co_firstlineno + 1
    assert f"test_control_flow.py:{line}, in body" in str(caught.value)
    assert "node  grown = ConcatV2" in str(caught.value)


def test_other_mistakes_of_loops() -> None:
    with pytest.raises(TypeError, match="loop_vars is a list or tuple"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, tf.constant(0))
    with pytest.raises(TypeError, match="gives int32, not bool"):
        tf.while_loop(lambda i: i, lambda i: i + 1, [0])
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="use cond or while_loop"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1 if i else i, [0])


def test_a_failed_body_leaves_no_node_behind() -> None:
    before = [op.name for op in tf.get_default_graph().get_operations()]

    def broken() -> Any:
        tf.constant(1.0)
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        tf.cond(tf.placeholder(tf.bool, [], name="p"), broken, lambda: 1.0)
    after = [op.name for op in tf.get_default_graph().get_operations()]
    assert after == [*before, "p"]


# -- what only orders ---------------------------------------------------------------------------


def test_a_group_runs_everything_in_it() -> None:
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    both = tf.group([a.assign(1.0)], {"b": b.assign(2.0)}, None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(both) is None
        assert session.run([a, b]) == [1, 2]
    assert tf.group().type == "NoOp"
    with pytest.raises(TypeError, match="takes operations and tensors"):
        tf.group(3)


def test_a_tuple_waits_for_all() -> None:
    v = tf.Variable(0.0)
    x, nothing = tf.tuple([tf.constant(1.0), None], control_inputs=[v.assign(9.0)])
    assert nothing is None
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(x) == 1
        assert session.run(v) == 9
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.tuple([None])


def test_bodies_are_written_and_read_back() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, tf.cond(s > 4.0, lambda: s + x, lambda: s * x)),
        (0, x),
    )  # fmt: skip
    tf.identity(y[1], name="y")
    message = tf.get_default_graph().as_graph_def()
    expected = run("y:0", {x: 2.0})
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        assert run("y:0", {"x:0": 2.0}) == expected == 10


@pytest.mark.parametrize(
    ("build", "kind", "said"),
    [
        (lambda: tf.switch_case(tf.constant([1]), [lambda: 1, lambda: 2]), ValueError, "a scalar"),
        (lambda: tf.case([1, 2], default=lambda: 1), TypeError, "takes pairs"),
        (lambda: count(maximum_iterations=[4]), ValueError, "maximum_iterations is a scalar"),
        (lambda: count(parallel_iterations="a"), TypeError, "parallel_iterations is an integer"),
        (lambda: count(shape_invariants=[(), ()]), ValueError, "shape_invariants are not built"),
    ],
)
def test_a_wrong_argument_is_named(build: Any, kind: type[Exception], said: str) -> None:
    with tf.Graph().as_default(), pytest.raises(kind, match=said):
        build()


def count(**options: Any) -> Any:
    return tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], **options)


def test_an_index_of_unknown_shape_must_be_a_scalar_when_it_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        index = tf.placeholder(tf.int32)
        picked = tf.switch_case(index, [lambda: 10, lambda: 20])
        for _ in range(4):
            assert sess.run(picked, {index: 0}) == 10
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar"):
                sess.run(picked, {index: [1]})
