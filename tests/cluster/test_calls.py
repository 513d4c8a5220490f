"""Calls over links: whoever is not wanted any more is told so, however the messages race."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from graphvm_runtime.cluster.calls import CallTable, fill_request, request_of
from graphvm_runtime.cluster.transport import Link
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import CancelledError, GraphError, GraphvmError
from graphvm_runtime.ir.graph import Endpoint
from graphvm_runtime.protos.worker_pb2 import Packet

STOPPED = CancelledError("stopped")


@dataclass(eq=False)
class FakeLink:
    last_call: int = 0
    error: GraphvmError | None = None


def a_link(**fields: Any) -> Link:
    return cast(Link, FakeLink(**fields))


def test_a_cancel_stops_the_call_that_runs_and_no_other() -> None:
    calls, link = CallTable(), a_link(last_call=2)
    first, second = calls.begin(link, 1), calls.begin(link, 2)
    calls.cancel(link, 1, STOPPED)
    with pytest.raises(CancelledError, match="stopped"):
        first.check()
    second.check()


def test_a_cancel_that_overtakes_its_call_stops_it_when_it_comes() -> None:
    calls, link = CallTable(), a_link(last_call=4)
    calls.cancel(link, 5, STOPPED)
    calls.begin(a_link(), 5).check()  # of another link
    assert calls.begin(link, 5).error is not None


def test_a_cancel_that_comes_after_the_end_of_its_call_is_forgotten() -> None:
    calls, link = CallTable(), a_link(last_call=1)
    calls.begin(link, 1)
    calls.end(link, 1)
    calls.cancel(link, 1, STOPPED)
    calls.begin(link, 1).check()


def test_a_lost_link_stops_its_calls_and_those_that_still_begin() -> None:
    calls, link, other = CallTable(), a_link(), a_link()
    running, elsewhere = calls.begin(link, 1), calls.begin(other, 1)
    calls.cancel(link, 3, STOPPED)
    cast(FakeLink, link).error = CancelledError("lost")
    calls.lost(link, CancelledError("lost"))
    elsewhere.check()
    for cancel in (running, calls.begin(link, 2), calls.begin(link, 3)):
        with pytest.raises(CancelledError, match="lost"):
            cancel.check()


def test_a_request_crosses_as_it_is() -> None:
    request = Request((Endpoint("x", 1),), (Endpoint("y"), Endpoint("z", 2)), ("init",))
    message = Packet().make_callable
    fill_request(message, request)
    assert request_of(message) == request
    message.fetch.append("^x")
    with pytest.raises(GraphError, match="control input"):
        request_of(message)
