"""Functional regions as TF1 would have written them."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.control_flow.lower import lower
from graphvm_runtime.ir.graph import endpoint
from graphvm_runtime.ir.verify import verify
from tests.control_flow.cases import Session, graph_of


def lowered_names(**options: Any) -> Any:
    graph = lower(tf.get_default_graph().ir(), **options)
    verify(graph)
    return {n.name: n.op.name for n in graph.nodes}


def test_a_conditional_gets_the_names_of_tensorflow_1() -> None:
    p, x = tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.float32, [], name="x")
    tf.cond(p, lambda: x * 2.0, lambda: -x, name="cond")
    names = lowered_names()
    assert names.items() >= {
        "cond/Switch": "Switch", "cond/switch_t": "Identity", "cond/switch_f": "Identity",
        "cond/pred_id": "Identity", "cond/mul/Switch": "Switch", "cond/mul": "Mul",
        "cond/Neg/Switch": "Switch", "cond/Neg": "Neg", "cond/Merge": "Merge",
    }.items()  # fmt: skip
    assert "cond" not in names


def test_a_loop_gets_the_names_of_tensorflow_1() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), x])
    graph = lower(tf.get_default_graph().ir())
    names = {n.name: n.op.name for n in graph.nodes}
    for name in ("Enter", "Merge", "Switch", "Identity", "NextIteration", "Exit"):
        assert names[f"while/{name}"] == names[f"while/{name}_1"] or name == "Identity"
    assert names["while/LoopCond"] == "LoopCond"
    [captured] = [n for n in graph.nodes if n.attrs.get("is_constant")]
    assert captured.name == "while/mul/Enter"
    assert captured.attrs["frame_name"] == b"while/while_context"


def test_only_the_nodes_asked_for_are_lowered() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    tf.cond(p, lambda: x * 2.0, lambda: -x, name="a")
    tf.cond(p, lambda: x * 2.0, lambda: -x, name="b")
    names = lowered_names(only=["a"])
    assert "a/Merge" in names
    assert names["b"].endswith("If")


def test_a_function_that_calls_itself_keeps_the_call() -> None:
    text = """graph
    %x = Placeholder() {dtype=f32, shape=[]} : f32[]
    %call = PartitionedCall(x:0) {Tin=(f32), Tout=(f32), f=@halve} : f32[]

    function halve(a) -> (r=choice:0) {
      %a = _Arg() {T=f32, index=0} : f32[]
      %one = Const() {dtype=f32, value=f32[]{1.0}} : f32[]
      %big = Greater(a:0, one:0) {T=f32} : bool[]
      %choice = StatelessIf(big:0, a:0) {Tcond=bool, Tin=(f32), Tout=(f32), then_branch=@more, \
else_branch=@done} : f32[]
    }

    function more(a) -> (r=call:0) {
      %a = _Arg() {T=f32, index=0} : f32[]
      %two = Const() {dtype=f32, value=f32[]{2.0}} : f32[]
      %half = RealDiv(a:0, two:0) {T=f32} : f32[]
      %call = PartitionedCall(half:0) {Tin=(f32), Tout=(f32), f=@halve} : f32[]
    }

    function done(a) -> (r=a:0) {
      %a = _Arg() {T=f32, index=0} : f32[]
    }
    """
    graph = graph_of(text)
    low = lower(graph, keep=["call"])
    assert [n.name for n in low.nodes if n.op.name == "PartitionedCall"] == ["call/choice/call"]
    request = Request((endpoint("x"),), (endpoint("call"),))
    for form in ("interpreted", "lowered"):
        assert Session(graph, form).run(request, [np.float32(40)]) == [0.625]


@pytest.mark.parametrize(
    ("value", "taken"),
    [(np.float32(0), False), (np.float32(-2), True), (np.zeros(3, np.float32), True),
     (np.zeros([0], np.float32), False)],
)  # fmt: skip
def test_predicates_of_any_type_and_rank(value: Any, taken: Any) -> None:
    shape = "[]" if value.ndim == 0 else "[?]"
    text = f"""graph
    %p = Placeholder() {{dtype=f32, shape={shape}}} : f32{shape}
    %choice = StatelessIf(p:0) {{Tcond=f32, Tin=(), Tout=(f32), then_branch=@yes, \
else_branch=@no}} : f32[]

    function yes() -> (r=c:0) {{
      %c = Const() {{dtype=f32, value=f32[]{{1.0}}}} : f32[]
    }}

    function no() -> (r=c:0) {{
      %c = Const() {{dtype=f32, value=f32[]{{0.0}}}} : f32[]
    }}
    """
    request = Request((endpoint("p"),), (endpoint("choice"),))
    for form in ("interpreted", "lowered"):
        assert Session(graph_of(text), form).run(request, [value]) == [float(taken)]


def test_a_predicate_of_unknown_rank_is_refused() -> None:
    text = """graph
    %p = Placeholder() {dtype=f32, shape=[*]} : f32[*]
    %choice = StatelessIf(p:0) {Tcond=f32, Tin=(), Tout=(), then_branch=@no, else_branch=@no}

    function no() -> () {
    }
    """
    with pytest.raises(GraphError, match="take a boolean scalar"):
        lower(graph_of(text))


def test_effects_reach_whoever_takes_an_output() -> None:
    """In a file, a consumer that prunes must still get the effects of the branch."""
    p = tf.placeholder(tf.bool, [], name="p")
    v = tf.Variable(1.0, name="v", use_resource=True)

    def bumped() -> Any:
        with tf.control_dependencies([v.assign_add(1.0)]):
            return tf.constant(5.0), tf.constant(6.0)

    _, second = tf.cond(p, bumped, lambda: (tf.constant(0.0), tf.constant(0.0)))
    tf.identity(v.read_value(), name="after")
    session = Session(lower(tf.get_default_graph().ir()), "dataflow")
    session.run(Request((), (), (v.initializer.name,)), [])
    session.run(Request((endpoint("p"),), (second.endpoint,)), [np.array(True)])
    assert session.run(Request((), (endpoint("after"),)), []) == [2.0]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_case_becomes_choices_of_two(count: int) -> None:
    index = tf.placeholder(tf.int32, [], name="index")
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(0.0, name="v", use_resource=True)

    def branch(number: int) -> Any:
        with tf.control_dependencies([v.assign_add(10.0**number)]):
            return x * float(number)

    functions = [lambda i=i: branch(i) for i in range(count)]
    made = tf.switch_case(index, functions, name="choice")
    tf.identity(v.read_value(), name="after")
    graph = tf.get_default_graph().ir()
    verify(lower(graph, keep=["choice"]))
    request = Request((endpoint("index"), endpoint("x")), (made.endpoint,))
    for form in ("interpreted", "lowered", "dataflow"):
        session = Session(graph, form)
        session.run(Request((), (), (v.initializer.name,)), [])
        want = 0.0
        for at in (0, 1, -1, 2, 9):
            taken = at if 0 <= at < count else count - 1
            want += 10.0**taken
            assert session.run(request, [np.int32(at), np.float32(2)]) == [2.0 * taken]
            assert session.run(Request((), (endpoint("after"),)), []) == [want]
