"""Channels of a step: first in, first out, and nobody waits for ever."""

import threading

import pytest

from graphvm_runtime.cluster.rendezvous import Channels, Spoiled
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.errors import CancelledError, DataLossError, InternalError


def test_values_come_in_order_whoever_is_first() -> None:
    channels = Channels()
    for k in range(3):
        channels.deliver(7, k, k * 10)
    assert [channels.receive(7) for _ in range(3)] == [0, 10, 20]
    got: list[int] = []
    waiter = threading.Thread(target=lambda: got.extend(channels.receive(7) for _ in range(2)))
    waiter.start()
    channels.deliver(7, 3, 30)
    channels.deliver(7, 4, 40)
    waiter.join(10)
    assert got == [30, 40]


def test_a_value_out_of_turn_is_a_fault() -> None:
    channels = Channels()
    with pytest.raises(InternalError, match="value 1 of channel 7 came where 0 was due"):
        channels.deliver(7, 1, None)


def test_a_failure_wakes_all_that_wait_and_those_that_come_later() -> None:
    channels = Channels()
    errors: list[BaseException] = []

    def wait(channel: int) -> None:
        try:
            channels.receive(channel)
        except CancelledError as error:
            errors.append(error)

    waiters = [threading.Thread(target=wait, args=(k,)) for k in range(3)]
    for each in waiters:
        each.start()
    reported: list[object] = []
    channels.start_receive(9, 0, lambda value, error: reported.append(error))
    failure = CancelledError("stop")
    channels.fail(failure)
    for each in waiters:
        each.join(10)
    with pytest.raises(CancelledError):
        channels.receive(5)
    # each has an object of its own, since it will be tied to the node that raises it
    assert len({id(e) for e in [failure, *errors, *reported]}) == 5
    assert {str(e) for e in [*errors, *reported]} == {"stop"}


def test_a_value_that_could_not_be_taken_in_fails_who_receives_it() -> None:
    channels = Channels()
    error = DataLossError("cut off")
    channels.deliver(1, 0, Spoiled(error))
    channels.deliver(2, 0, 5)
    channels.deliver(3, 0, Spoiled(error))
    assert channels.receive(2) == 5
    with pytest.raises(DataLossError, match="cut off"):
        channels.receive(1)
    reported: list[object] = []
    channels.start_receive(3, 0, lambda value, error: reported.append(error))
    assert reported == [error]


def test_a_lag_lets_receives_run_ahead() -> None:
    channels = Channels()
    assert [channels.receive(1, lag=2) for _ in range(2)] == [None, None]
    reported: list[object] = []
    channels.start_receive(1, 2, lambda value, error: reported.append(value))
    assert reported == []
    channels.deliver(1, 0, "first")
    assert reported == ["first"]


def test_threads_run_jobs_that_wait_for_each_other_and_are_used_again() -> None:
    threads = Threads("test")
    barrier = threading.Barrier(5)
    jobs = [threads.submit(barrier.wait, 10) for _ in range(5)]
    assert sorted(j.result(10) for j in jobs) == list(range(5))
    names = {threads.submit(lambda: threading.current_thread().name).result(10) for _ in range(9)}
    assert len(names) <= 5
    failing = threads.submit(lambda: 1 // 0)
    assert isinstance(failing.exception(10), ZeroDivisionError)
    threads.shutdown()
    with pytest.raises(RuntimeError):
        threads.start(print)
    assert not [t for t in threading.enumerate() if t.name.startswith("test-")]
