"""Hand-made regions: what is raised runs as it did, what is not says why."""

from typing import Any

import numpy as np
import pytest

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.control_flow.raise_ import raise_, raise_report
from graphvm_runtime.ir.graph import endpoint
from graphvm_runtime.ir.text import print_graph
from tests.control_flow.cases import Session, graph_of, prepared

INPUTS = """graph
%p = Placeholder() {dtype=bool, shape=[]} : bool[]
%x = Placeholder() {dtype=f32, shape=[]} : f32[]
"""
CONDITIONAL = (
    INPUTS
    + """
%s = Switch(x:0, p:0) {T=f32} : f32[], f32[]
%neg = Neg(s:0) {T=f32} : f32[]
%exp = Exp(s:1) {T=f32} : f32[]
"""
)
LOOP = """graph
%x = Placeholder() {dtype=f32, shape=[]} : f32[]
%n = Const() {dtype=f32, value=f32[]{10.0}} : f32[]
%enter = Enter(x:0) {T=f32, frame_name="loop"} : f32[]
%limit = Enter(n:0) {T=f32, frame_name="loop", is_constant=true} : f32[]
%merge = Merge(enter:0, next:0) {T=f32, N=2} : f32[], i32[]
%less = Less(merge:0, limit:0) {T=f32} : bool[]
%go = LoopCond(less:0) : bool[]
%switch = Switch(merge:0, go:0) {T=f32} : f32[], f32[]
%double = Add(switch:1, switch:1) {T=f32} : f32[]
%next = NextIteration(double:0) {T=f32} : f32[]
%exit = Exit(switch:0) {T=f32} : f32[]
"""


def report(text: Any, *keep: Any) -> Any:
    return raise_report(graph_of(text), keep)


def only_reason(text: Any, *keep: Any) -> Any:
    [region] = [r for r in report(text, *keep) if not r.raised]
    return region.reason


def both(text: Any, fetches: Any, **feeds: Any) -> Any:
    """Values as dataflow and raised; they agree."""
    graph = graph_of(text)
    request = Request(tuple(endpoint(f) for f in feeds), tuple(endpoint(f) for f in fetches))
    values = [np.array(v, bool if f == "p" else np.float32) for f, v in feeds.items()]
    pruned, pruned_request = prepared(graph, request)
    assert all(r.raised for r in raise_report(pruned, {str(e) for e in pruned_request.fetches}))
    first = Session(graph, "dataflow").run(request, values)
    second = Session(graph, "raised").run(request, values)
    assert first == second
    return second


@pytest.mark.parametrize("merge", ["neg:0, exp:0", "exp:0, neg:0"])
@pytest.mark.parametrize("taken", [True, False])
def test_a_merge_may_name_its_sides_in_any_order(merge: Any, taken: Any) -> None:
    text = CONDITIONAL + f"%m = Merge({merge}) {{T=f32, N=2}} : f32[], i32[]\n"
    value, index = both(text, ["m:0", "m:1"], p=taken, x=1.0)
    assert value == (np.exp(np.float32(1)) if taken else -1)
    assert index == int(taken == merge.startswith("neg"))


def test_a_side_may_be_handed_through() -> None:
    text = CONDITIONAL + "%m = Merge(s:0, exp:0) {T=f32, N=2} : f32[], i32[]\n"
    assert both(text, ["m:0"], p=False, x=2.0) == [2.0]


def test_branches_may_take_outer_tensors_without_a_switch() -> None:
    text = (
        CONDITIONAL
        + """
    %more = Add(exp:0, x:0) {T=f32} : f32[]
    %m = Merge(neg:0, more:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    assert both(text, ["m:0"], p=False, x=2.0) == [-2.0]
    assert both(text, ["m:0"], p=True, x=0.0) == [1.0]


def test_a_later_conditional_may_use_what_an_earlier_one_computed() -> None:
    """As the derivative of a conditional does; the random number must be the same."""
    text = (
        CONDITIONAL
        + """
    %shape = Const(^exp) {dtype=i32, value=i32[0]{}} : i32[0]
    %noise = RandomUniform(shape:0) {T=i32, dtype=f32, seed=1, seed2=2} : f32[]
    %scaled = Mul(exp:0, noise:0) {T=f32} : f32[]
    %m = Merge(neg:0, scaled:0) {T=f32, N=2} : f32[], i32[]
    %back = Switch(m:0, p:0) {T=f32} : f32[], f32[]
    %again = RealDiv(back:1, noise:0) {T=f32} : f32[]
    %m2 = Merge(back:0, again:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    assert both(text, ["m2:0"], p=False, x=2.0) == [-2.0]
    np.testing.assert_allclose(both(text, ["m2:0"], p=True, x=0.5), [np.exp(0.5)], rtol=1e-6)


def test_conditionals_that_need_each_other_are_split() -> None:
    """Two predicates, each of whose conditionals takes the other's results."""
    text = (
        INPUTS
        + """
    %q = Placeholder() {dtype=bool, shape=[]} : bool[]
    %s = Switch(x:0, p:0) {T=f32} : f32[], f32[]
    %a = Neg(s:1) {T=f32} : f32[]
    %p1 = Merge(s:0, a:0) {T=f32, N=2} : f32[], i32[]
    %t = Switch(x:0, q:0) {T=f32} : f32[], f32[]
    %b = Exp(t:1) {T=f32} : f32[]
    %q1 = Merge(t:0, b:0) {T=f32, N=2} : f32[], i32[]
    %u = Switch(p1:0, q:0) {T=f32} : f32[], f32[]
    %c = Square(u:1) {T=f32} : f32[]
    %cb = Add(c:0, t:1) {T=f32} : f32[]
    %q2 = Merge(u:0, cb:0) {T=f32, N=2} : f32[], i32[]
    %v = Switch(q1:0, p:0) {T=f32} : f32[], f32[]
    %d = Square(v:1) {T=f32} : f32[]
    %da = Add(d:0, a:0) {T=f32} : f32[]
    %p2 = Merge(v:0, da:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    graph = graph_of(text)
    names = ("p", "q", "x")
    request = Request(tuple(map(endpoint, names)), (endpoint("p2"), endpoint("q2")))
    for p in (False, True):
        for q in (False, True):
            feeds = [np.array(p), np.array(q), np.float32(3)]
            first = Session(graph, "dataflow").run(request, feeds)
            assert Session(graph, "raised").run(request, feeds) == first
    assert all(r.raised for r in raise_report(graph, {"p2:0", "q2:0"}))


def test_a_tensor_inside_that_is_fetched_keeps_its_region() -> None:
    text = CONDITIONAL + "%m = Merge(neg:0, exp:0) {T=f32, N=2} : f32[], i32[]\n"
    assert only_reason(text, "m:0", "exp:0") == "exp, inside, is fed or fetched"
    graph = graph_of(text)
    request = Request((endpoint("p"), endpoint("x")), (endpoint("m"), endpoint("exp")))
    assert Session(graph, "raised").run(request, [np.array(True), np.float32(0)]) == [1.0, 1.0]


def test_a_merge_of_sides_of_two_predicates_stays() -> None:
    text = (
        CONDITIONAL
        + """
    %q = Placeholder() {dtype=bool, shape=[]} : bool[]
    %t = Switch(x:0, q:0) {T=f32} : f32[], f32[]
    %m = Merge(neg:0, t:1) {T=f32, N=2} : f32[], i32[]
    """
    )
    assert only_reason(text, "m:0") == "m does not merge the two sides of one predicate"


def test_a_region_around_one_that_stays_stays_too() -> None:
    text = (
        CONDITIONAL
        + """
    %q = Placeholder() {dtype=bool, shape=[]} : bool[]
    %t = Switch(exp:0, q:0) {T=f32} : f32[], f32[]
    %f = Square(t:0) {T=f32} : f32[]
    %odd = Merge(f:0, t:1, t:0) {T=f32, N=3} : f32[], i32[]
    %m = Merge(neg:0, odd:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    reasons = {r.region: r.reason for r in report(text, "m:0")}
    assert reasons["odd"] == "odd merges 3 inputs"
    assert reasons["m"]


def test_a_loop_by_hand() -> None:
    assert both(LOOP, ["exit:0"], x=3.0) == [12.0]
    raised = raise_(graph_of(LOOP), ["exit:0"])
    assert (
        print_graph(raised)
        == """graph producer=0

%x = Placeholder() {dtype=f32, shape=[]} : f32[]
%n = Const() {dtype=f32, value=f32[]{10.0}} : f32[]
%loop = StatelessWhile(x:0, n:0) {T=(f32, f32), body=@loop_body, cond=@loop_cond, \
output_shapes=([], [])} : f32[], f32[]
%exit = Identity(loop:0) {T=f32} : f32[]

function loop_cond(merge, arg1) -> (output_0=less:0) {
  %merge = _Arg() {T=f32, index=0} : f32[]
  %arg1 = _Arg() {T=f32, index=1} : f32[]
  %less = Less(merge:0, arg1:0) {T=f32} : bool[]
}

function loop_body(merge, arg1) -> (output_0=double:0, output_1=arg1:0) {
  %merge = _Arg() {T=f32, index=0} : f32[]
  %arg1 = _Arg() {T=f32, index=1} : f32[]
  %double = Add(merge:0, merge:0) {T=f32} : f32[]
}
"""
    )


def test_the_body_may_use_what_the_condition_computes() -> None:
    text = (
        LOOP.replace("Add(switch:1, switch:1)", "Add(switch:1, sine:0)")
        + """
    %sine = Exp(merge:0) {T=f32} : f32[]
    """
    )
    assert both(text, ["exit:0"], x=0.0)[0] > 10


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("Exit(switch:0)", "Exit(merge:0)"), "exit gives something else than a loop variable"),
        (("NextIteration(double:0)", "NextIteration(merge:0)"), "next does not run exactly when"),
        (("Merge(enter:0, next:0)", "Merge(enter:0, next:0, ^limit)"), "merge comes after limit"),
        (
            ("Add(switch:1, switch:1)", "Add(switch:1, switch:1, ^enter)"),
            "enter leads to something else than one Merge",
        ),
        (("LoopCond(less:0)", "Identity(less:0) {T=bool}"), "it has 0 LoopCond nodes"),
    ],
)
def test_a_loop_that_is_not_plain_stays(change: Any, reason: Any) -> None:
    [region] = [r for r in report(LOOP.replace(*change), "exit:0") if r.region == "loop"]
    assert not region.raised
    assert region.reason.startswith(reason)


def test_an_effect_of_the_condition_that_the_body_uses_keeps_the_loop() -> None:
    text = (
        LOOP.replace("Less(merge:0, limit:0)", "Less(noise:0, limit:0)").replace(
            "Add(switch:1, switch:1)", "Add(switch:1, noise:0)"
        )
        + """
    %shape = Const(^merge) {dtype=i32, value=i32[0]{}} : i32[0]
    %noise = RandomUniform(shape:0) {T=i32, dtype=f32} : f32[]
    """
    )
    assert only_reason(text, "exit:0") == "noise, an effect of the condition, is used by the body"


def test_a_trigger_orders_what_may_be_dead() -> None:
    """A trigger fires though what it waits for is on the side not taken."""
    text = (
        CONDITIONAL
        + """
    %trigger = ControlTrigger(^exp)
    %y = Neg(x:0, ^trigger) {T=f32} : f32[]
    %m = Merge(neg:0, exp:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    assert both(text, ["m:0", "y:0"], p=False, x=2.0) == [-2.0, -2.0]


def test_outputs_keep_their_names_where_nothing_else_is_said() -> None:
    raised = raise_(
        graph_of(
            LOOP
            + CONDITIONAL.replace("graph\n", "").replace(
                "%x = Placeholder() {dtype=f32, shape=[]} : f32[]\n", ""
            )
            + "%m = Merge(neg:0, exp:0) {T=f32, N=2} : f32[], i32[]\n"
        )
    )
    assert not raised.is_dataflow
    assert raised.by_name["exit"].op.name == raised.by_name["m"].op.name == "Identity"
