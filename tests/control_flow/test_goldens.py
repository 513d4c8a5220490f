"""Recorded programs give the same in every form: as dataflow, raised, and lowered again."""

from typing import Any

import pytest

from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.control_flow.lower import lower
from graphvm_runtime.ir.control_flow.raise_ import raise_, raise_report
from graphvm_runtime.ir.graph import Graph, endpoint
from tests.control_flow.alike import alike
from tests.control_flow.cases import (
    FORMS,
    FUNCTIONAL,
    PRIMITIVES,
    Case,
    check_case,
    load,
    names,
    prepared,
    requested,
)

# A string is true when it is not empty, a vector when it has elements: no op asks for that.
NOT_LOWERED = {"functions/if_string_and_int_pred", "functions/functional_ops_pred_truthiness"}

# Everything else is raised, whole. Regions by case; why not is in the report.
NOT_RAISED = {
    # one side of the Merge waits for both sides of the predicate: it is never alive
    "control_v1/dead_control_dependency": {"Merge"},
}
# Graphs without a region: a lone Switch whose output is asked for, or a malformed loop.
NO_REGION = {
    "errors_run/cond_pred_not_scalar",
    "errors_run/frames_mixed",
    "errors_run/switch_dead_fetch",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", names(PRIMITIVES | FUNCTIONAL))
def test_agrees_with_tensorflow(name: str, form: str) -> None:
    case = load(name)
    if name in NOT_LOWERED and form in ("lowered", "loose"):
        assert any("GraphError" in line for line in check_case(case, form))
        return
    assert list(check_case(case, form)) == []


def _requests(case: Case) -> Any:
    """What a case asks for, each once."""
    return list(dict.fromkeys(map(requested, case.runs)))


@pytest.mark.parametrize("name", names(PRIMITIVES))
def test_is_raised_unless_there_is_a_reason(name: str) -> None:
    case = load(name)
    if name in NO_REGION:
        return
    regions, left = 0, {}
    for request in _requests(case):
        graph, request = prepared(case.graph, request)
        for region in raise_report(graph, {str(e) for e in request.fetches}):
            regions += 1
            if not region.raised:
                left[region.region] = region.reason
    assert regions
    assert left.keys() == NOT_RAISED.get(name, set())
    assert all(left.values())


@pytest.mark.parametrize("name", names(PRIMITIVES | FUNCTIONAL))
def test_raised_equals_raised_and_lowered_and_raised(name: str) -> None:
    if name in NOT_LOWERED | NO_REGION | NOT_RAISED.keys():
        return
    case = load(name)
    for request in _requests(case):
        graph, request = prepared(case.graph, request)
        ends = [e for e in request.fetches if e.node in graph.by_name]
        wanted = {str(e) for e in ends} | set(request.targets)
        raised = raise_(graph, wanted)
        if _has_calls(raised) or raised.is_dataflow:
            continue  # calls are written inline; an output of a lone Switch is asked for
        again = raise_(lower(raised, keep=request.targets), wanted)
        assert not again.is_dataflow
        assert alike(raised, again, ends, [t for t in request.targets if t in again.by_name])


def _has_calls(graph: Graph) -> bool:
    bodies = (graph, *(f.body for f in graph.library.values()))
    return any("PartitionedCall" in n.op.name for b in bodies for n in b.nodes)


@pytest.mark.parametrize("name", ["control_v1/cond_nested", "control_v1/while_nested_three"])
def test_an_imported_graph_is_raised_whole_without_saying_what_is_wanted(name: str) -> None:
    case = load(name)
    raised = raise_(case.graph)
    assert not any(n.op.name in PRIMITIVES | {"Exit", "LoopCond"} for n in raised.nodes)
    for run in case.runs:
        for d in run["fetches"]:
            assert endpoint(d["name"]).node in raised.by_name


def test_a_string_predicate_is_refused_with_what_to_do() -> None:
    case = load("functions/if_string_and_int_pred")
    with pytest.raises(GraphError, match="dataflow primitives take a boolean scalar"):
        lower(case.graph)
