"""switch_case and case: which branch runs, structures, clear errors."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.errors import InvalidArgumentError


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def stateful(op: str) -> bool:
    return any(o.type == op for o in tf.get_default_graph().get_operations())


# -- switch_case -----------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "taken"), [(0, 0), (1, 1), (2, 2), (3, 2), (-1, 2)])
def test_an_index_out_of_range_takes_the_last_branch(index: int, taken: int) -> None:
    i = tf.placeholder(tf.int32, [])
    y = tf.switch_case(i, [lambda: 10, lambda: 11, lambda: 12])
    assert (y.name, y.shape.as_list(), y.dtype) == ("switch_case/Identity:0", [], tf.int32)
    assert stateful("StatelessCase")
    assert run(y, {i: index}) == 10 + taken


@pytest.mark.parametrize("index", [-1, 2, 7])
def test_a_default_takes_what_has_no_branch(index: int) -> None:
    i = tf.placeholder(tf.int32, [])
    y = tf.switch_case(i, {1: lambda: 11, 0: lambda: 10}, default=lambda: -1)
    assert run(y, {i: index}) == -1
    assert run(y, {i: 1}) == 11


def test_branches_come_in_pairs_in_any_order() -> None:
    i = tf.placeholder(tf.int32, [])
    y = tf.switch_case(i, [(1, lambda: {"a": 1.0}), (0, lambda: {"a": 0.5})])
    assert run(y, {i: 0}) == {"a": 0.5}


def test_only_the_branch_that_is_chosen_runs() -> None:
    i = tf.placeholder(tf.int32, [])
    v = tf.Variable(0, use_resource=True)
    made = tf.switch_case(i, [lambda k=k: v.assign_add(10**k) for k in range(3)])
    assert stateful("Case")
    with tf.Session() as session:
        session.run(v.initializer)
        for index in (0, 2, 5):
            session.run(made, {i: index})
        assert session.run(v) == 201


def test_dimensions_in_which_branches_differ_are_unknown() -> None:
    i = tf.placeholder(tf.int32, [])
    shapes = ([1, 2], [3, 2], [4, 2])
    y = tf.switch_case(i, [lambda s=s: tf.ones(s) for s in shapes])
    assert y.shape.as_list() == [None, 2]
    assert run(y, {i: 2}).shape == (4, 2)


def test_an_index_of_one_element_is_no_scalar() -> None:
    with pytest.raises(ValueError, match="the index of a branch is a scalar"):
        tf.switch_case(tf.constant([1]), [lambda: 0, lambda: 1])


def test_an_index_of_unknown_rank_must_be_a_scalar() -> None:
    i = tf.placeholder(tf.int32)
    y = tf.raw_ops.Case(
        branch_index=i, input=[], Tout=[tf.int32],
        branches=[tf.get_default_graph().library[name] for name in _two_branches()],
    )  # fmt: skip
    assert run(y[0], {i: 1}) == 1
    with pytest.raises(InvalidArgumentError, match=r"the index must be a scalar, got shape \[2\]"):
        run(y[0], {i: [1, 1]})


def _two_branches() -> list[str]:
    made = tf.switch_case(tf.constant(0), [lambda: 0, lambda: 1])
    node = made.op.inputs[0].op.node_def
    return [f.name for f in node.attr["branches"].list.func]


@pytest.mark.parametrize(
    ("branches", "error", "message"),
    [
        ([], ValueError, "takes functions for 0, 1 and so on without a gap, got none"),
        ({0: int, 2: int}, ValueError, "without a gap, got 0, 2"),
        ([(0, 3)], TypeError, "takes a function for 'branch 0', not 3"),
        ([lambda: 1, lambda: 2.0], TypeError, "result 0 is int32 in branch 0 and float32 in br"),
        ([lambda: 1, lambda: (1, 2)], ValueError, "branch 0 and branch 1 give different struct"),
        ([lambda: None], ValueError, "a branch gives nothing"),
    ],
)
def test_branches_that_do_not_fit_are_refused(
    branches: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tf.switch_case(tf.constant(0), branches)


def test_an_index_that_is_no_tensor_of_int32_is_refused() -> None:
    with pytest.raises(TypeError, match="the index is a Python int"):
        tf.switch_case(1, [lambda: 0])
    with pytest.raises(TypeError, match="the index is float32, not int32"):
        tf.switch_case(tf.constant(1.0), [lambda: 0])


# -- case ------------------------------------------------------------------------------------


def test_the_first_predicate_that_holds_decides() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.case([(x > 2.0, lambda: 3), (x > 1.0, lambda: 2)], default=lambda: 0)
    assert [run(y, {x: value}) for value in (3, 1.5, 0)] == [3, 2, 0]


def test_without_a_default_one_has_to_hold() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.case({x > 2.0: lambda: tf.constant(3)})
    assert run(y, {x: 3}) == 3
    with pytest.raises(InvalidArgumentError, match="none of the predicates of a case holds"):
        run(y, {x: 0})


def test_an_exclusive_case_has_one_predicate_that_holds() -> None:
    x = tf.placeholder(tf.float32, [])
    pairs = [(x > 2.0, lambda: 3), (x > 1.0, lambda: 2)]
    y = tf.case(pairs, default=lambda: 0, exclusive=True)
    assert [run(y, {x: value}) for value in (1.5, 0)] == [2, 0]
    with pytest.raises(InvalidArgumentError, match="more than one predicate of an exclusive case"):
        run(y, {x: 3})


def test_a_case_without_functions_is_refused() -> None:
    with pytest.raises(ValueError, match="takes one or more pairs"):
        tf.case([])
    with pytest.raises(TypeError, match="takes a function for 'function 0', not 1"):
        tf.case([(tf.constant(True), 1)])
    with pytest.raises(TypeError, match="takes a function for 'default', not 1"):
        tf.case([(tf.constant(True), int)], default=1)  # type: ignore[arg-type]


def test_a_case_inside_a_loop() -> None:
    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.switch_case(i % 3, [lambda: y * 2.0, lambda: y + 1.0, lambda: -y])

    y = tf.while_loop(lambda i, _: i < 7, body, (0, tf.constant(1.0)))[1]
    want = 1.0
    for i in range(7):
        want = [want * 2, want + 1, -want][i % 3]
    np.testing.assert_allclose(run(y), want)
