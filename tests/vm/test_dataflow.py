"""The dataflow machine: frames, dead tensors, merges, what waits, who owns an array."""

import threading
import time
from typing import Any

import numpy as np
import pytest

from graphvm_runtime.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
)
from graphvm_runtime.ir.graph import Graph, endpoint, reachable
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.resources import Queue, ResourceManager, Step, Variable
from graphvm_runtime.vm.dataflow import Dataflow
from tests.control_flow.cases import graph_of

INPUTS = """graph
%p = Placeholder() {dtype=bool, shape=[]} : bool[]
%x = Placeholder() {dtype=f32, shape=[*]} : f32[*]
%s = Switch(x:0, p:0) {T=f32} : f32[*], f32[*]
"""
LOOP = """graph
%x = Placeholder() {dtype=f32, shape=[]} : f32[]
%n = Const() {dtype=f32, value=f32[]{10.0}} : f32[]
%enter = Enter(x:0) {T=f32, frame_name="loop", parallel_iterations=LIMIT} : f32[]
%limit = Enter(n:0) {T=f32, frame_name="loop", is_constant=true, parallel_iterations=LIMIT} : f32[]
%merge = Merge(enter:0, next:0) {T=f32, N=2} : f32[], i32[]
%less = Less(merge:0, limit:0) {T=f32} : bool[]
%go = LoopCond(less:0) : bool[]
%switch = Switch(merge:0, go:0) {T=f32} : f32[], f32[]
%double = Add(switch:1, switch:1) {T=f32} : f32[]
%next = NextIteration(double:0) {T=f32} : f32[]
%exit = Exit(switch:0) {T=f32} : f32[]
"""
QUEUE = '%q = FIFOQueueV2() {component_types=(f32), capacity=1, shared_name="q"} : resource[]\n'


def new_step() -> Step:
    return Step(ResourceManager(), {}, 1)


def run(text: str, fetches: list[str], step: Step | None = None, **feeds: Any) -> list[Any]:
    graph = pruned(graph_of(text), fetches)
    machine = Dataflow(graph, [endpoint(f) for f in feeds], [endpoint(f) for f in fetches])
    return machine.run(step or new_step(), list(feeds.values()))


def pruned(graph: Graph, fetches: list[str]) -> Graph:
    return graph.with_nodes(reachable(graph.by_name, [endpoint(f).node for f in fetches]))


ONE = np.float32(1)


# ---- dead tensors


@pytest.mark.parametrize(("taken", "alive", "dead"), [(True, "s:1", "s:0"), (False, "s:0", "s:1")])
def test_one_side_of_a_switch_is_alive(taken: bool, alive: str, dead: str) -> None:
    assert run(INPUTS, [alive], p=np.bool_(taken), x=ONE) == [1.0]
    with pytest.raises(InvalidArgumentError, match="does not have a value") as caught:
        run(INPUTS, [dead], p=np.bool_(taken), x=ONE)
    assert caught.value.node.startswith("s = Switch")


def test_a_node_with_a_dead_input_does_not_run() -> None:
    text = (
        INPUTS
        + """
    %ok = Const() {dtype=bool, value=bool[]{false}} : bool[]
    %check = Assert(ok:0, s:1) {T=(f32)}
    %after = Identity(s:0, ^check) {T=f32} : f32[]
    %m = Merge(s:0, after:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    assert run(text, ["m:0", "m:1"], p=np.bool_(False), x=ONE) == [1.0, 0]


def test_a_merge_gives_the_first_value_that_arrives_and_says_which() -> None:
    text = INPUTS + "%m = Merge(s:0, s:1) {T=f32, N=2} : f32[], i32[]\n"
    assert run(text, ["m:0", "m:1"], p=np.bool_(True), x=ONE) == [1.0, 1]
    assert run(text, ["m:0", "m:1"], p=np.bool_(False), x=ONE) == [1.0, 0]


def test_a_merge_of_dead_tensors_is_dead() -> None:
    text = (
        INPUTS
        + """
    %a = Neg(s:1) {T=f32} : f32[]
    %m = Merge(s:1, a:0) {T=f32, N=2} : f32[], i32[]
    %either = Merge(m:0, s:0) {T=f32, N=2} : f32[], i32[]
    """
    )
    assert run(text, ["either:1"], p=np.bool_(False), x=ONE) == [1]


def test_a_merge_does_not_wait_for_an_input_that_never_comes() -> None:
    """Its other input waits for a queue that only what comes after the merge fills."""
    text = (
        INPUTS
        + QUEUE
        + """
    %taken = QueueDequeueV2(q:0) {component_types=(f32)} : f32[*]
    %m = Merge(taken:0, x:0) {T=f32, N=2} : f32[], i32[]
    %put = QueueEnqueueV2(q:0, m:0) {Tcomponents=(f32)}
    %end = Identity(taken:0, ^put) {T=f32} : f32[]
    """
    )
    assert run(text, ["m:1", "end:0"], x=ONE) == [1, 1.0]


def test_deadness_goes_along_control_edges_but_not_through_a_trigger() -> None:
    text = (
        INPUTS
        + """
    %dead = Neg(s:1) {T=f32} : f32[]
    %t = ControlTrigger(^dead)
    %y = Identity(x:0, ^t) {T=f32} : f32[]
    %z = Identity(x:0, ^dead) {T=f32} : f32[]
    """
    )
    assert run(text, ["y:0"], p=np.bool_(False), x=ONE) == [1.0]
    with pytest.raises(InvalidArgumentError, match="does not have a value"):
        run(text, ["z:0"], p=np.bool_(False), x=ONE)


def test_a_predicate_must_be_a_scalar() -> None:
    with pytest.raises(InvalidArgumentError, match="must be a scalar") as caught:
        run(INPUTS, ["s:1"], p=np.array([True]), x=ONE)
    assert "s = Switch" in str(caught.value)


# ---- frames


@pytest.mark.parametrize("limit", [1, 2, 10])
@pytest.mark.parametrize(("start", "want"), [(3.0, 12.0), (20.0, 20.0), (0.01, 10.24)])
def test_a_loop_runs_whatever_may_run_at_a_time(limit: int, start: float, want: float) -> None:
    [value] = run(LOOP.replace("LIMIT", str(limit)), ["exit:0"], x=np.float32(start))
    np.testing.assert_allclose(value, want, rtol=1e-6)


def test_no_more_iterations_run_at_a_time_than_allowed() -> None:
    """A counter runs ahead of a variable that waits, as far as its loop lets it."""
    text = """graph
    %zero = Const() {dtype=i32, value=i32[]{0}} : i32[]
    %n = Const() {dtype=i32, value=i32[]{8}} : i32[]
    %q = FIFOQueueV2() {component_types=(i32), capacity=100, shared_name="q"} : resource[]
    %gate = FIFOQueueV2() {component_types=(i32), capacity=100, shared_name="gate"} : resource[]
    %i0 = Enter(zero:0) {T=i32, FRAME} : i32[]
    %limit = Enter(n:0) {T=i32, is_constant=true, FRAME} : i32[]
    %qq = Enter(q:0) {T=resource, is_constant=true, FRAME} : resource[]
    %gg = Enter(gate:0) {T=resource, is_constant=true, FRAME} : resource[]
    %i = Merge(i0:0, inext:0) {T=i32, N=2} : i32[], i32[]
    %less = Less(i:0, limit:0) {T=i32} : bool[]
    %go = LoopCond(less:0) : bool[]
    %s = Switch(i:0, go:0) {T=i32} : i32[], i32[]
    %pivot = Identity(s:1) {T=i32} : i32[]
    %one = Const(^pivot) {dtype=i32, value=i32[]{1}} : i32[]
    %add = Add(s:1, one:0) {T=i32} : i32[]
    %inext = NextIteration(add:0) {T=i32} : i32[]
    %iexit = Exit(s:0) {T=i32} : i32[]
    %put = QueueEnqueueV2(qq:0, s:1) {Tcomponents=(i32)}
    %v0 = Enter(zero:0) {T=i32, FRAME} : i32[]
    %v = Merge(v0:0, vnext:0) {T=i32, N=2} : i32[], i32[]
    %vs = Switch(v:0, go:0) {T=i32} : i32[], i32[]
    %wait = QueueDequeueV2(gg:0, ^put) {component_types=(i32)} : i32[*]
    %sum = Add(vs:1, wait:0) {T=i32} : i32[]
    %vnext = NextIteration(sum:0) {T=i32} : i32[]
    %vexit = Exit(vs:0) {T=i32} : i32[]
    """.replace("FRAME", 'frame_name="f", parallel_iterations=3')
    step = new_step()
    found: list[Any] = []
    graph = pruned(graph_of(text), ["vexit:0", "iexit:0"])
    machine = Dataflow(graph, [], [endpoint("vexit"), endpoint("iexit")])
    thread = threading.Thread(target=lambda: found.extend(machine.run(step, [])))
    thread.start()

    def queue(name: str) -> Queue:
        while True:
            held = step.resources.find(Queue, "", name)
            if held is not None:
                return held
            time.sleep(0.001)

    counted, gate = queue("q"), queue("gate")
    end = time.monotonic() + 20
    while counted.size() < 3 and time.monotonic() < end:
        time.sleep(0.001)
    ahead = counted.size()
    for _ in range(8):
        gate.put(step, lambda *_: None, [(np.int32(1),)])  # type: ignore[list-item]  # rank 0
    thread.join(20)
    assert found == [8, 8]
    assert ahead == 3  # the loop had started three iterations, and no more


def test_frames_that_are_mixed_up_are_refused() -> None:
    text = LOOP.replace("LIMIT", "10") + "%bad = Add(merge:0, x:0) {T=f32} : f32[]\n"
    graph = graph_of(text)
    with pytest.raises(InvalidArgumentError, match="inputs from different frames"):
        Dataflow(graph, [endpoint("x")], [endpoint("exit")])


@pytest.mark.parametrize("name", ["merge:0", "double:0"])
def test_what_is_inside_a_loop_can_be_neither_fetched_nor_fed(name: str) -> None:
    graph = graph_of(LOOP.replace("LIMIT", "10"))
    with pytest.raises(InvalidArgumentError, match="is inside a loop"):
        Dataflow(graph, [endpoint("x")], [endpoint(name)])


def test_a_loop_on_the_side_not_taken_never_starts() -> None:
    text = LOOP.replace("LIMIT", "10").replace("Enter(x:0)", "Enter(s:1)") + (
        "%p = Placeholder() {dtype=bool, shape=[]} : bool[]\n"
        "%s = Switch(x:0, p:0) {T=f32} : f32[], f32[]\n"
        "%m = Merge(s:0, exit:0) {T=f32, N=2} : f32[], i32[]\n"
    )
    assert run(text, ["m:0", "m:1"], p=np.bool_(False), x=np.float32(3)) == [3.0, 0]
    assert run(text, ["m:0", "m:1"], p=np.bool_(True), x=np.float32(3)) == [12.0, 1]


# ---- errors, waiting, cancelling


def test_an_error_names_the_node_and_cancels_what_waits() -> None:
    text = (
        QUEUE.join(["graph\n", ""])
        + """
    %x = Placeholder() {dtype=f32, shape=[*]} : f32[*]
    %wait = QueueDequeueV2(q:0) {component_types=(f32)} : f32[*]
    %bad = MatMul(x:0, x:0) {T=f32} : f32[*]
    %y = Add(wait:0, bad:0) {T=f32} : f32[*]
    """
    )
    step = new_step()
    with pytest.raises(OpError) as caught:
        run(text, ["y:0"], step, x=np.ones((2, 3), np.float32))
    assert caught.value.node_name == "bad"
    assert step.cancel.error is caught.value


@pytest.mark.parametrize("error", [CancelledError("stop"), DeadlineExceededError("late")])
def test_a_cancelled_step_ends_with_the_reason(error: Any) -> None:
    text = "graph\n" + QUEUE + "%w = QueueDequeueV2(q:0) {component_types=(f32)} : f32[*]\n"
    step = new_step()
    timer = threading.Timer(0.05, step.cancel.cancel, [error])
    timer.start()
    with pytest.raises(type(error), match=str(error)):
        run(text, ["w:0"], step)
    timer.join()


def test_an_endless_loop_can_be_cancelled() -> None:
    text = LOOP.replace("LIMIT", "10").replace("Add(switch:1, switch:1)", "Abs(switch:1)")
    step = new_step()
    timer = threading.Timer(0.05, step.cancel.cancel, [CancelledError("stop")])
    timer.start()
    with pytest.raises(CancelledError):
        run(text, ["exit:0"], step, x=ONE)
    timer.join()


# ---- arrays


def test_an_assigned_array_is_the_variables_own() -> None:
    text = """graph
    %v = VarHandleOp() {dtype=f32, shape=[2], shared_name="v"} : resource[]
    %x = Placeholder() {dtype=f32, shape=[2]} : f32[2]
    %same = Identity(x:0) {T=f32} : f32[2]
    %assign = AssignVariableOp(v:0, same:0) {dtype=f32}
    %read = ReadVariableOp(v:0, ^assign) {dtype=f32} : f32[2]
    """
    step = new_step()
    fed = np.ones(2, np.float32)
    run(text, ["read:0"], step, x=fed)
    fed[:] = 5
    held = step.resources.find(Variable, "", "v")
    assert held is not None
    assert held.read().tolist() == [1.0, 1.0]
    assert held.type == TensorType(held.type.dtype, (2,))


def test_runs_may_go_on_at_the_same_time() -> None:
    graph = graph_of(LOOP.replace("LIMIT", "4"))
    machine = Dataflow(graph, [endpoint("x")], [endpoint("exit")])
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = machine.run(new_step(), [np.float32(number)])[0]

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {1: 16.0, 3: 12.0, 5: 10.0}


def test_only_graphs_with_primitives_need_the_machine() -> None:
    assert graph_of(INPUTS).is_dataflow
    assert not graph_of("graph\n%n = NoOp()\n").is_dataflow
