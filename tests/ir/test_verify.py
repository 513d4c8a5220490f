"""Each numbered rule of graphs is noticed when it is broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Endpoint, Graph
from graphvm_runtime.ir.text import parse_graph
from graphvm_runtime.ir.verify import verify, violations

SOUND = """\
graph producer=2474

%p = Placeholder() {dtype=bool, shape=[]} : bool[]
%x = Placeholder() {dtype=f32, shape=[2]} : f32[2]
%y = Neg(x:0, ^p) {T=f32} : f32[2]
%i = If(p:0, x:0) {Tcond=bool, Tin=(f32), Tout=(f32), else_branch=@f, then_branch=@f} : f32[2]
%w = While(x:0) {T=(f32), body=@f, cond=@t} : f32[2]
%e = Enter(x:0) {T=f32, frame_name="f"} : f32[2]
%m = Merge(e:0, n:0) {N=2, T=f32} : f32[*], i32[]
%n = NextIteration(m:0) {T=f32} : f32[*]

function f(a) -> (r=n:0) {
  %a = _Arg() {T=f32, index=0} : f32[*]
  %n = Neg(a:0) {T=f32} : f32[*]
}
function t(a) -> (r=c:0) {
  %a = _Arg() {T=f32, index=0} : f32[*]
  %c = Const() {dtype=bool, value=bool[]{true}} : bool[]
}
"""


def test_a_sound_graph_passes() -> None:
    verify(parse_graph(SOUND))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("%y =", "%x =", "V1: name 'x'"),
        ("Neg(x:0, ^p)", "Neg(q:0, ^p)", "V2: there is no node 'q'"),
        ("Neg(x:0, ^p)", "Neg(x:0, ^q)", "V2: there is no node 'q'"),
        ("Neg(x:0, ^p)", "Neg(x:1, ^p)", "V3: 'x' has no output 1"),
        ("Neg(x:0, ^p)", "Neg(w:0, ^p)", "V4: 'w' comes later"),
        ("Neg(x:0, ^p)", "Neg(x:0, ^w)", "V4: 'w' comes later"),
        ("NextIteration(", "Identity(", "V4: 'n' comes later"),
        ("Neg(x:0, ^p) {T=f32}", "Neg(x:0, ^p) {T=f64}", "V5: takes \\(float64\\), got"),
        ("Neg(x:0, ^p)", "Neg(x:0, x:0, ^p)", "V5: takes"),
        ("Neg(x:0, ^p) {T=f32}", "Neg(x:0, ^p) {}", "V6: the attribute 'T' has no value"),
        ("Neg(x:0, ^p) {T=f32}", "Neg(x:0, ^p) {T=3}", "V6: the attribute 'T' is no type"),
        (": f32[2]\n%i", ": f64[2]\n%i", "V7: gives \\(float32\\)"),
        (": f32[2]\n%i", "\n%i", "V7: gives"),
        ("Neg(x:0, ^p)", "Neg(x:0, ^p, ^p)", "V8: a control input stands twice"),
        ("then_branch=@f", "then_branch=@g", "V9: the library has no function g"),
        ("f(a) -> (r=n:0)", "f() -> (r=n:0)", "V10: its parameters are not its _Arg"),
        ("index=0} : f32[*]\n  %n", "index=1} : f32[*]\n  %n", "V10: its _Arg nodes are not"),
        ("f(a) -> (r=n:0)", "f(a) -> (r=q:0)", "V10: its result or control output q:0"),
        ("f(a) -> (r=n:0)", "f(a) -> (r=n:0) after (q)", "V10: its result or control output q"),
        ("Tout=(f32)", "Tout=(f64)", "V11: then_branch gives \\(float32\\), not \\(float64\\)|V7"),
        ("cond=@t", "cond=@f2", "V9"),
        ("body=@f", "body=@t", "V11: body 't' gives \\(bool\\), not \\(float32\\)"),
        ("Tin=(f32)", "Tin=()", "V5"),
        (": f32[2]\n%i", ": f32[3]\n%i", "V12: output 0 is f32\\[3\\], f32\\[2\\] follows"),
    ],
)
def test_a_broken_rule_is_told(old: str, new: str, rule: str) -> None:
    assert old in SOUND
    with pytest.raises(GraphError, match=rule):
        verify(parse_graph(SOUND.replace(old, new, 1)))


def test_a_body_has_no_library_and_a_name_for_each_result() -> None:
    graph = parse_graph(SOUND)
    f = graph.library["f"]
    odd = replace(f, result_names=(), body=replace(f.body, library={"f": f}))
    found = list(violations(graph.with_library({**graph.library, "f": odd})))
    assert [v.split(",")[0] for v in found] == [
        "V10: 1 results have 0 names",
        "V10: its body has a library of its own",
    ]


def test_many_faults_are_counted() -> None:
    x = parse_graph(SOUND).by_name["x"]
    lost = [x.changed(name=f"n{i}", inputs=[Endpoint("q")]) for i in range(12)]
    with pytest.raises(GraphError, match="and 2 more"):
        verify(Graph(tuple(lost)))
