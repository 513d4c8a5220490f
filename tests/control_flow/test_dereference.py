"""Reference variables read as resources: each reader sees the variable when the reader runs."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.compiler.passes.dereference import Dereference
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Endpoint, Graph, endpoint
from tests.control_flow.cases import Session, graph_of

VARIABLE = """graph
%v = VariableV2() {dtype=f32, shape=[]} : f32&[]
%x = Placeholder() {dtype=f32, shape=[]} : f32[]
%set = Assign(v:0, x:0) {T=f32} : f32&[]
%add = AssignAdd(v:0, x:0) {T=f32} : f32&[]
"""


def dereferenced(text: str, *fetches: str) -> tuple[Graph, Request]:
    request = Request((), tuple(map(endpoint, fetches)))
    return Dereference()(graph_of(text), request)


def values(text: str, runs: list[list[str]], x: float = 2.0) -> list[list[Any]]:
    session = Session(graph_of(text), "raised")
    return [
        session.run(Request((endpoint("x"),), tuple(map(endpoint, r))), [np.float32(x)])
        for r in runs
    ]


def test_no_reference_is_left() -> None:
    graph, request = dereferenced(VARIABLE, "v:0", "add:0")
    assert not any(t.dtype.is_ref for n in graph.nodes for t in n.outputs)
    assert {graph.by_name[e.node].op.name for e in request.fetches} == {"ReadVariableOp"}
    assert graph.by_name["set"].op.name == "AssignVariableOp"


def test_an_assignment_fetched_gives_the_new_value() -> None:
    assert values(VARIABLE, [["set:0"], ["add:0"], ["v:0"]]) == [[2.0], [4.0], [4.0]]


def test_a_reader_sees_the_variable_after_all_it_waits_for() -> None:
    text = (
        VARIABLE
        + """
    %after = Add(v:0, x:0, ^add) {T=f32} : f32[]
    %twice = Mul(add:0, add:0) {T=f32} : f32[]
    %late = Identity(x:0, ^add) {T=f32} : f32[]
    %sum = Add(v:0, late:0) {T=f32} : f32[]
    """
    )
    assert values(text, [["set:0"], ["after:0"]])[1] == [6.0]
    assert values(text, [["set:0"], ["twice:0"]])[1] == [16.0]
    assert values(text, [["set:0"], ["sum:0"]])[1] == [6.0]


def test_assignments_in_a_row_work_on_one_variable() -> None:
    text = (
        VARIABLE
        + """
    %again = AssignSub(add:0, x:0) {T=f32} : f32&[]
    %more = AssignAdd(again:0, again:0) {T=f32} : f32&[]
    """
    )
    assert values(text, [["set:0"], ["more:0"], ["v:0"]])[1:] == [[4.0], [4.0]]


def test_references_pass_through_switch_merge_and_loops() -> None:
    text = (
        VARIABLE
        + """
    %p = Placeholder() {dtype=bool, shape=[]} : bool[]
    %s = RefSwitch(v:0, p:0) {T=f32} : f32&[], f32&[]
    %ten = Const() {dtype=f32, value=f32[]{10.0}} : f32[]
    %big = Switch(ten:0, p:0) {T=f32} : f32[], f32[]
    %add_ten = AssignAdd(s:1, big:1) {T=f32} : f32&[]
    %m = RefMerge(s:0, add_ten:0) {T=f32, N=2} : f32&[], i32[]
    %y = Neg(m:0) {T=f32} : f32[]
    """
    )
    session = Session(graph_of(text), "raised")
    fed = (endpoint("x"), endpoint("p"))
    session.run(Request(fed[:1], (endpoint("set"),)), [ONE])
    for form in ("raised", "dataflow"):
        session.form = form
        for taken, want in ((False, 0.0), (True, -10.0)):
            before = session.run(Request((), (endpoint("v"),)), [])[0]
            got = session.run(Request(fed, (endpoint("y"),)), [ONE, np.array(taken)])[0]
            assert got == want - before


ONE = np.float32(1)


def test_references_are_captured_by_bodies() -> None:
    """TensorFlow refuses this; here a body reads and changes the variable itself."""
    v = tf.Variable(1.0, name="v", use_resource=False)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.cond(i > 0, lambda: v.assign_add(2.0), lambda: v + 0.0)]):
            return i + 1

    done = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(done) == 3
        assert sess.run(v) == 5.0


def test_a_fed_variable_cannot_be_assigned_to() -> None:
    graph = graph_of(VARIABLE)
    request = Request((Endpoint("v"), Endpoint("x")), (Endpoint("set"),))
    with pytest.raises(InvalidArgumentError, match="takes a reference, but v:0 is a value here"):
        Session(graph, "raised").run(request, [ONE, ONE])
