"""The decisions of a cluster, as stories without clocks and sockets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphvm_runtime.cluster.state import (
    REMEMBERED,
    AwaitGrace,
    Cancel,
    Ended,
    Failed,
    Finish,
    Forget,
    GraceOver,
    Open,
    PeerLost,
    Phase,
    StepCancelled,
    StepEvent,
    StepFinished,
    StepStarted,
    StepState,
    Stop,
    Stopped,
    TaskState,
    ValueArrived,
)
from graphvm_runtime.errors import CancelledError, InternalError, UnavailableError

BROKEN = UnavailableError("gone")
CANCELLED = CancelledError("stop")
TASKS = ("a", "b", "c")


def test_a_step_ends_when_all_tasks_have() -> None:
    step = StepState(TASKS)
    assert step.handle(Ended("b")) == []
    assert step.handle(Ended("a")) == []
    assert step.handle(Ended("c")) == [Finish(None)]
    assert step.phase is Phase.ENDED


def test_the_first_failure_stops_the_others() -> None:
    step = StepState(TASKS)
    step.handle(Ended("a"))
    assert step.handle(Failed("b", BROKEN)) == [Cancel("c", BROKEN), AwaitGrace()]
    assert step.handle(Failed("c", CANCELLED)) == [Finish(BROKEN)]


def test_the_last_task_fails() -> None:
    step = StepState("ab")
    step.handle(Ended("a"))
    assert step.handle(Failed("b", BROKEN)) == [Finish(BROKEN)]


def test_a_reason_is_worth_more_than_a_cancellation() -> None:
    step = StepState("ab")
    step.handle(Failed("a", CANCELLED))
    assert step.handle(Failed("b", BROKEN)) == [Finish(BROKEN)]


def test_who_does_not_stop_in_time_is_given_up() -> None:
    step = StepState("ab")
    assert step.handle(Stopped(CANCELLED)) == [
        Cancel("a", CANCELLED), Cancel("b", CANCELLED), AwaitGrace(),
    ]  # fmt: skip
    step.handle(Failed("a", CANCELLED))
    assert step.handle(GraceOver()) == [Finish(CANCELLED)]
    assert step.handle(Ended("b")) == []


def test_a_grace_period_of_a_healthy_step_means_nothing() -> None:
    step = StepState("ab")
    assert step.handle(GraceOver()) == []
    assert step.phase is Phase.RUNNING


def test_a_stranger_is_a_fault_that_tells_the_story() -> None:
    step = StepState("ab")
    step.handle(Ended("a"))
    with pytest.raises(InternalError, match=r"'x' has no share.*Ended\(task='a'\)"):
        step.handle(Ended("x"))


EVENTS = st.one_of(
    st.sampled_from(TASKS).map(Ended),
    st.sampled_from(TASKS).map(lambda t: Failed(t, BROKEN)),
    st.just(Stopped(CANCELLED)),
    st.just(GraceOver()),
)


@given(st.lists(EVENTS))
def test_a_step_finishes_exactly_once_and_tells_each_task_once(events: list[StepEvent]) -> None:
    step = StepState(TASKS)
    actions = [a for e in (*events, *map(Ended, TASKS)) for a in step.handle(e)]
    assert sum(isinstance(a, Finish) for a in actions) == 1
    told = [a.task for a in actions if isinstance(a, Cancel)]
    assert len(told) == len(set(told))
    assert sum(isinstance(a, AwaitGrace) for a in actions) <= 1
    finish = next(a for a in actions if isinstance(a, Finish))
    seen = {e for e in events if isinstance(e, Failed | Stopped)}
    assert finish.error is None or any(finish.error is e.error for e in seen)


def test_a_step_opens_with_the_first_value_or_when_it_begins() -> None:
    task = TaskState()
    assert task.handle(ValueArrived(1, "p")) == [Open(1)]
    assert task.handle(ValueArrived(1, "q")) == []
    assert task.handle(StepStarted(1, "master", frozenset({"p"}))) == []
    assert task.handle(StepStarted(2, "master", frozenset())) == [Open(2)]
    assert task.handle(StepFinished(1)) == [Forget(1)]


def test_a_value_that_comes_late_opens_nothing() -> None:
    task = TaskState()
    task.handle(StepStarted(1, "master", frozenset()))
    task.handle(StepFinished(1))
    assert task.handle(ValueArrived(1, "p")) == []
    assert not task.open


def test_a_step_cancelled_before_it_begins_never_runs() -> None:
    task = TaskState()
    task.handle(ValueArrived(1, "p"))
    assert task.handle(StepCancelled(1, CANCELLED)) == [Forget(1)]
    (stop,) = task.handle(StepStarted(1, "master", frozenset()))
    assert isinstance(stop, Stop)
    assert not task.open


def test_who_goes_takes_along_the_steps_that_need_him() -> None:
    task = TaskState()
    task.handle(StepStarted(1, "master", frozenset({"p", "q"})))
    task.handle(StepStarted(2, "other", frozenset({"q"})))
    task.handle(ValueArrived(3, "p"))
    assert task.handle(PeerLost("p", BROKEN)) == [Stop(1, BROKEN), Forget(3)]
    assert task.handle(PeerLost("other", BROKEN)) == [Stop(2, BROKEN)]
    assert set(task.open) == {1, 2}  # they end themselves


def test_memory_of_ended_steps_is_bounded() -> None:
    task = TaskState()
    for number in range(REMEMBERED + 10):
        task.handle(StepStarted(number, "master", frozenset()))
        task.handle(StepFinished(number))
    assert len(task._over) == REMEMBERED
    assert not task.open
