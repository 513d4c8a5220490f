"""Queues and stacks."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.errors import (
    CancelledError,
    InvalidArgumentError,
    OutOfRangeError,
)
from graphvm_runtime.kernels import made
from graphvm_runtime.values.resources import Queue
from tests.kernels.calling import Bench

F32, I32 = dtypes.float32, dtypes.int32


def queue(bench: Bench, *types: Any, shapes: Any = (), capacity: int = -1) -> Queue:
    found: Queue = bench(
        "FIFOQueueV2", component_types=types or (F32,), shapes=shapes, capacity=capacity,
        shared_name=b"q",
    )  # fmt: skip
    return found


def started(bench: Bench, op: str, *inputs: Any, **attrs: Any) -> list[Any]:
    """Starts a blocking kernel; what it reports is put in the list."""
    reports: list[Any] = []
    kernel = made(bench.node(op, *inputs, **attrs))
    assert kernel.start is not None
    flat = [x for item in inputs for x in (item if isinstance(item, list) else [item])]
    kernel.start(bench.step, lambda outputs, error: reports.append((outputs, error)), *flat)
    return reports


def test_elements_come_out_in_the_order_in_which_they_went_in() -> None:
    bench = Bench()
    q = queue(bench)
    for i in range(3):
        bench("QueueEnqueueV2", q, [np.float32(i)])
    assert bench("QueueSizeV2", q) == 3
    assert [bench("QueueDequeueV2", q, component_types=(F32,)) for _ in range(3)] == [0, 1, 2]


def test_components_come_out_together() -> None:
    bench = Bench()
    q = queue(bench, F32, I32)
    bench("QueueEnqueueV2", q, [np.ones(2, np.float32), np.int32(7)])
    first, second = bench("QueueDequeueV2", q, component_types=(F32, I32))
    assert first.tolist() == [1, 1]
    assert second == 7


def test_a_dequeue_waits_without_holding_a_thread() -> None:
    bench = Bench()
    q = queue(bench)
    reports = started(bench, "QueueDequeueV2", q, component_types=(F32,))
    assert reports == []
    bench("QueueEnqueueV2", q, [np.float32(5)])
    assert reports == [(5, None)]


def test_an_enqueue_waits_for_room() -> None:
    bench = Bench()
    q = queue(bench, capacity=1)
    bench("QueueEnqueueV2", q, [np.float32(1)])
    reports = started(bench, "QueueEnqueueV2", q, [np.float32(2)])
    assert reports == []
    assert bench("QueueDequeueV2", q, component_types=(F32,)) == 1
    assert len(reports) == 1


def test_a_call_waits_on_its_own_thread() -> None:
    bench = Bench()
    q = queue(bench)
    taken: list[Any] = []
    thread = threading.Thread(
        target=lambda: taken.append(bench("QueueDequeueV2", q, component_types=(F32,)))
    )
    thread.start()
    bench("QueueEnqueueV2", q, [np.float32(3)])
    thread.join(10)
    assert taken == [3]


def test_a_closed_queue_gives_what_is_left_and_then_ends() -> None:
    bench = Bench()
    q = queue(bench)
    bench("QueueEnqueueV2", q, [np.float32(1)])
    bench("QueueCloseV2", q)
    assert bench("QueueDequeueV2", q, component_types=(F32,)) == 1
    with pytest.raises(OutOfRangeError, match="queue 'q' is closed and has too few elements"):
        bench("QueueDequeueV2", q, component_types=(F32,))
    with pytest.raises(CancelledError, match="queue 'q' is closed"):
        bench("QueueEnqueueV2", q, [np.float32(1)])


def test_closing_may_cancel_those_who_wait_to_put() -> None:
    bench = Bench()
    q = queue(bench, capacity=1)
    bench("QueueEnqueueV2", q, [np.float32(1)])
    reports = started(bench, "QueueEnqueueV2", q, [np.float32(2)])
    bench("QueueCloseV2", q, cancel_pending_enqueues=True)
    assert isinstance(reports[0][1], CancelledError)


def test_a_cancelled_step_stops_waiting() -> None:
    bench = Bench()
    q = queue(bench)
    reports = started(bench, "QueueDequeueV2", q, component_types=(F32,))
    bench.step.cancel.cancel()
    assert isinstance(reports[0][1], CancelledError)
    bench.step = bench.new_step()
    bench("QueueEnqueueV2", q, [np.float32(1)])
    assert bench("QueueSizeV2", q) == 1


def test_what_is_put_in_is_kept() -> None:
    bench = Bench()
    kernel = made(
        bench.node("QueueEnqueueV2", queue(bench, F32, I32), [np.float32(1), np.int32(1)])
    )
    assert kernel.keeps == (1, 2)


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ([np.int32(1)], r"component 0 of queue 'q' is f32\[2\], got int32\[\]"),
        ([np.ones(3, np.float32)], r"component 0 of queue 'q' is f32\[2\], got float32\[3\]"),
        ([np.ones(2, np.float32)] * 2, "an element of 2 components for queue 'q' of 1"),
    ],
)
def test_an_element_that_does_not_fit_is_refused(element: list[Any], message: str) -> None:
    bench = Bench()
    q = queue(bench, F32, shapes=((2,),))
    with pytest.raises(InvalidArgumentError, match=message):
        bench("QueueEnqueueV2", q, element)


def test_a_dequeue_of_other_types_is_refused() -> None:
    bench = Bench()
    with pytest.raises(InvalidArgumentError, match=r"holds f32\[\*\], not i32"):
        bench("QueueDequeueV2", queue(bench), component_types=(I32,))


def test_a_second_queue_of_that_name_must_be_alike() -> None:
    bench = Bench()
    first = queue(bench)
    assert queue(bench) is first
    with pytest.raises(InvalidArgumentError, match=r"queue 'q' holds f32\[\*\], not i32\[\*\]"):
        queue(bench, I32)


def test_shapes_must_be_as_many_as_types() -> None:
    with pytest.raises(InvalidArgumentError, match="2 shapes for 1 components"):
        queue(Bench(), F32, shapes=((), ()))


def stack(bench: Bench, limit: int = -1) -> Any:
    return bench("StackV2", np.int32(limit), elem_type=F32, stack_name=b"s")


def test_a_stack_gives_the_last_first() -> None:
    bench = Bench()
    s = stack(bench)
    assert [bench("StackPushV2", s, np.float32(i)) for i in range(3)] == [0, 1, 2]
    assert [bench("StackPopV2", s, elem_type=F32) for _ in range(3)] == [2, 1, 0]


def test_each_run_of_a_stack_node_makes_a_new_stack() -> None:
    bench = Bench()
    assert stack(bench) is not stack(bench)


def test_a_full_and_an_empty_stack_say_so() -> None:
    bench = Bench()
    s = stack(bench, 1)
    bench("StackPushV2", s, np.float32(1))
    with pytest.raises(InvalidArgumentError, match="stack 's' is full: it takes 1 elements"):
        bench("StackPushV2", s, np.float32(1))
    bench("StackPopV2", s, elem_type=F32)
    with pytest.raises(InvalidArgumentError, match="stack 's' is empty"):
        bench("StackPopV2", s, elem_type=F32)


def test_a_stack_takes_elements_of_its_type() -> None:
    bench = Bench()
    with pytest.raises(InvalidArgumentError, match="stack 's' holds f32, not i32"):
        bench("StackPushV2", stack(bench), np.int32(1))


def test_a_push_is_kept_and_passed_on() -> None:
    bench = Bench()
    kernel = made(bench.node("StackPushV2", stack(bench), np.float32(1)))
    assert (kernel.keeps, kernel.aliases, kernel.borrowed) == ((1,), (1,), True)
