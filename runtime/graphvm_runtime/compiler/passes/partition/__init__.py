"""Cuts a placed graph into one graph a device, joined by `_Send` and `_Recv`.

Every share keeps the order of the one graph it is cut from; a value is sent right after it is
made and received right before it is first used. So the first node in that order that has not run
can always run: shares never wait for each other in a circle, and the k-th value that is received
on a channel is the k-th that was sent.

A region (`If`, `While`, call) whose body spans devices is run by each of them over its share of
the body. The device that has the predicate sends it to the others in every iteration. A loop
variable is where the body makes its next value; what a loop only reads is sent once, before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from graphvm_runtime.compiler.passes.partition.plan import Cuts, Plan
from graphvm_runtime.compiler.passes.partition.write import Libraries, Writer
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.device_spec import DeviceSpec
from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ir.graph import Endpoint, Graph

__all__ = ["GraphPart", "Partition", "partition", "whole"]


class GraphPart(NamedTuple):
    """What one device runs.

    Attributes:
        feeds: which of the request's feeds it takes, in its own order.
        fetches: which of the request's fetches it gives, in its own order.
    """

    device: DeviceSpec
    graph: Graph
    request: Request
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """Cuts a placed graph; one of dataflow primitives, which only one device can run, it leaves.

    Attributes:
        default: where values are fetched from that are anywhere.
    """

    default: DeviceSpec
    name: str = "partition"

    def __call__(self, graph: Graph, request: Request) -> list[GraphPart]:
        """The shares.

        Raises:
            InvalidArgumentError: a resource or a list would have to cross devices.
            UnimplementedError: a function that calls itself spans devices, or dataflow primitives
                do.
        """
        if not graph.is_dataflow:
            return partition(graph, request, self.default)
        devices = {n.device for n in graph.nodes if n.device.job is not None}
        if len(devices) > 1:
            node = next(n for n in graph.nodes if n.device != self.default)
            raise UnimplementedError(
                "dataflow primitives that could not be raised to functional control flow do not "
                "span devices",
                node=node.signature(),
                do=f"place all of it on {self.default}, or build it with cond and while_loop",
            )
        return [whole(graph, request, devices.pop() if devices else self.default)]


def whole(graph: Graph, request: Request, device: DeviceSpec) -> GraphPart:
    """All of a graph as the share of one device."""
    every = tuple(range(len(request.feeds))), tuple(range(len(request.fetches)))
    return GraphPart(device, graph, request, *every)


def partition(graph: Graph, request: Request, default: DeviceSpec) -> list[GraphPart]:
    """The shares of a placed graph.

    Args:
        graph: each node has a full device name, or none where it is anywhere.
        request: what is fed and fetched.
        default: where values are fetched from that are anywhere.

    Returns:
        A share for each device that has something to do.

    Raises:
        InvalidArgumentError: a resource or a list would have to cross devices.
        UnimplementedError: a function that calls itself spans devices.
    """
    # a queue may wait for what comes later in the order of the nodes: then none is kept
    blocking = any(n.op.is_blocking for n in graph.all_nodes())
    cuts = Cuts(graph.library, frozenset(e.node for e in request.feeds), default)
    shared = Libraries(cuts, blocking)
    plan = Plan(cuts, graph.nodes)
    ends: list[tuple[Endpoint, DeviceSpec]] = []
    for end in request.fetches:
        home = plan.home(end) or default
        ends.append((end, home))
        plan.want(end, home)
    writer = Writer(shared, plan)
    writer.write(())
    fetched: dict[DeviceSpec, list[tuple[int, Endpoint]]] = {}
    for index, (end, home) in enumerate(ends):
        fetched.setdefault(home, []).append((index, writer.local(end, home)))
    out = []
    feeds = {e: i for i, e in enumerate(request.feeds)}
    for device, nodes in writer.lists.items():
        mine = fetched.get(device, [])
        if not nodes and not mine:
            continue
        names = {n.name for n in nodes}
        taken = [e for e in feeds if e.node in names]
        targets = tuple(t for t in request.targets if t in names)
        part = Request(tuple(taken), tuple(e for _, e in mine), targets)
        made = Graph(
            tuple(nodes), shared.of.get(device, {}), graph.producer,
            graph.min_consumer,
        )  # fmt: skip
        out.append(GraphPart(
            device, made, part,
            tuple(feeds[e] for e in taken), tuple(i for i, _ in mine),
        ))  # fmt: skip
    return out
