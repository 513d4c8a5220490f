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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import bool_, resource, variant
from graphvm_runtime.errors import InvalidArgumentError, UnimplementedError
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, Source, source_text
from graphvm_runtime.ops.registry import AttrValue, FuncRef, lookup
from graphvm_runtime.shapes import TensorType

_IFS = frozenset({"If", "StatelessIf"})
_WHILES = frozenset({"While", "StatelessWhile"})
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_REGIONS = _IFS | _WHILES | _CALLS
_HANDED_ON = frozenset({"Identity", "StopGradient", "IdentityN", "PreventGradient"})
_COPIED = frozenset({"Const", "FakeParam"})
_BOOL = TensorType(bool_, ())


class Share(NamedTuple):
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


def partition(graph: Graph, request: Request, default: DeviceSpec) -> list[Share]:
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
    return _Partition(graph, request, default).shares()


@dataclass(slots=True)
class _Summary:
    """What a function needs and gives, seen from its callers.

    Attributes:
        devices: those that have something to do in it.
        needs: for each parameter the devices that read it, first ones first.
        results: where each result is made; a parameter's position, or None for anywhere.
    """

    devices: list[DeviceSpec]
    needs: list[list[DeviceSpec]]
    results: list[DeviceSpec | int | None]


@dataclass(slots=True)
class _Region:
    """How one region is cut.

    Attributes:
        devices: those that run a share of it.
        inputs: for each input the devices that need it.
        outputs: where each output is; an input that it equals, None for anywhere.
        homes: of the variables of a loop; None for those that it only reads.
    """

    devices: list[DeviceSpec]
    inputs: list[list[DeviceSpec]]
    outputs: list[DeviceSpec | Endpoint | None]
    homes: list[DeviceSpec | None] = field(default_factory=list)


def _add(devices: list[DeviceSpec], more: Iterable[DeviceSpec]) -> None:
    for device in more:
        if device not in devices:
            devices.append(device)


class _Plan:
    """How the nodes of one graph or body are cut: what is needed where.

    Attributes:
        homes: devices at which each node runs; none for what is anywhere.
        alias: values that are only handed on, and what they are.
        wanted: devices that need each value.
        awaited: devices at which something comes after each node.
    """

    def __init__(
        self,
        owner: _Partition,
        nodes: Sequence[Node],
        present: Mapping[str, list[DeviceSpec]] | None = None,
    ) -> None:
        self.owner = owner
        self.in_body = present is not None
        self.fed = frozenset[str]() if self.in_body else owner.fed
        self.nodes = nodes
        self.by_name = {n.name: n for n in nodes}
        self.present = present or {}
        self.homes: dict[str, list[DeviceSpec]] = {}
        self.alias: dict[Endpoint, Endpoint] = {}
        self.regions: dict[str, _Region] = {}
        self.wanted: dict[Endpoint, list[DeviceSpec]] = {}
        self.awaited: dict[str, list[DeviceSpec]] = {}
        for node in nodes:
            self._cut(node)

    def _cut(self, node: Node) -> None:
        name = node.op.name
        if name in _COPIED or node.name in self.fed or name == "_Arg":
            self.homes[node.name] = []
            return
        if name in _HANDED_ON and not node.after and (self.in_body or node.device == ANY):
            self.homes[node.name] = []
            for i, end in enumerate(node.inputs):
                self.alias[Endpoint(node.name, i)] = self.origin(end)
            return
        if name == "NoOp":
            homes: list[DeviceSpec] = []
            for above in node.after:
                _add(homes, self.homes[above])
            self.homes[node.name] = homes
            return
        if name in _REGIONS:
            region = self.regions[node.name] = self.owner.region(node, self)
            if len(region.devices) == 1:  # it stays as it is
                region.inputs = [region.devices for _ in node.inputs]
            self.homes[node.name] = region.devices
            for end, devices in zip(node.inputs, region.inputs, strict=True):
                for device in devices:
                    self.want(end, device)
            for i, given in enumerate(region.outputs):
                if isinstance(given, Endpoint):
                    self.alias[Endpoint(node.name, i)] = self.origin(given)
        else:
            self.homes[node.name] = [node.device]
            for end in node.inputs:
                self.want(end, node.device)
        for above in node.after:
            for device in self.homes[node.name]:
                self.wait(above, device)

    def origin(self, end: Endpoint) -> Endpoint:
        """What a value is that was only handed on."""
        return self.alias.get(end, end)

    def want(self, end: Endpoint, device: DeviceSpec) -> None:
        """Notes that a device needs a value."""
        _add(self.wanted.setdefault(self.origin(end), []), (device,))

    def wait(self, name: str, device: DeviceSpec) -> None:
        """Notes that something at a device comes after a node."""
        node = self.by_name[name]
        if node.op.name == "NoOp" or not self.homes[name]:
            for above in (*node.after, *(e.node for e in node.inputs)):
                self.wait(above, device)
            return
        waiting = self.awaited.setdefault(name, [])
        if device not in waiting:
            waiting.append(device)

    def home(self, end: Endpoint) -> DeviceSpec | None:
        """Where a value is made; None for anywhere."""
        end = self.origin(end)
        node = self.by_name[end.node]
        region = self.regions.get(end.node)
        if region is not None:
            found = region.outputs[end.index]
            assert not isinstance(found, Endpoint)
            return found
        if node.op.name == "_Arg":
            there = self.present.get(node.name, ())
            return there[0] if there else None
        homes = self.homes[end.node]
        return homes[0] if homes else None


class _Partition:
    """The work on one graph."""

    def __init__(self, graph: Graph, request: Request, default: DeviceSpec) -> None:
        self.graph = graph
        self.request = request
        self.default = default
        self.fed = frozenset(e.node for e in request.feeds)
        # a queue may wait for what comes later in the order of the nodes: then none is kept
        self.blocking = any(
            n.op.is_blocking
            for nodes in (graph.nodes, *(f.body.nodes for f in graph.library.values()))
            for n in nodes
        )
        self.channels = 0
        self._cut_functions = 0
        self.libraries: dict[DeviceSpec, dict[str, Function]] = {}
        self._summaries: dict[str, _Summary | None] = {}

    # -- what functions need ---------------------------------------------------------------

    def summary(self, name: str) -> _Summary:
        """What a function needs and gives."""
        if name in self._summaries:
            found = self._summaries[name]
            if found is None:
                return self._of_recursive(name)
            return found
        self._summaries[name] = None
        function = self.graph.library[name]
        plan = _Plan(self, function.body.nodes, {})  # as if each parameter were anywhere
        devices: list[DeviceSpec] = []
        for homes in plan.homes.values():
            _add(devices, homes)
        params = {p: i for i, p in enumerate(function.params)}
        needs = [list(plan.wanted.get(p, ())) for p in function.params]
        for position, param in enumerate(function.params):
            node = function.body.by_name[param.node]
            if node.device != ANY:  # a resource or a list is where it is
                needs[position] = [node.device]
                _add(devices, (node.device,))
        results: list[DeviceSpec | int | None] = []
        for end in function.results:
            origin = plan.origin(end)
            at = params.get(origin)
            results.append(plan.home(origin) if at is None else at)
        made = self._summaries[name] = _Summary(devices, needs, results)
        return made

    def _of_recursive(self, name: str) -> _Summary:
        """Of a function that calls itself: it must be in one place."""
        function = self.graph.library[name]
        devices: list[DeviceSpec] = []
        pending, seen = [name], set[str]()
        while pending:
            each = pending.pop()
            if each in seen:
                continue
            seen.add(each)
            for node in self.graph.library[each].body.nodes:
                if node.op.name not in _REGIONS and node.device != ANY:
                    _add(devices, (node.device,))
                pending.extend(r.name for r in node.functions())
        if len(devices) > 1:
            raise UnimplementedError(
                f"function {name!r} calls itself and spans devices",
                do="place all of it on one device",
            )
        home = devices[0] if devices else self.default
        return _Summary(
            [home], [[home] for _ in function.params], [home for _ in function.results]
        )

    # -- regions ---------------------------------------------------------------------------

    def region(self, node: Node, plan: _Plan) -> _Region:
        """How a region is cut."""
        if node.op.name in _WHILES:
            return self._loop(node)
        skip = 1 if node.op.name in _IFS else 0
        bodies = [self.summary(ref.name) for ref in node.functions()]
        devices: list[DeviceSpec] = []
        inputs: list[list[DeviceSpec]] = [[] for _ in node.inputs]
        for body in bodies:
            _add(devices, body.devices)
            for i, needs in enumerate(body.needs):
                _add(inputs[i + skip], needs)
        outputs: list[DeviceSpec | Endpoint | None] = []
        for i in range(len(node.outputs)):
            given = [body.results[i] for body in bodies]
            fixed = [g for g in given if isinstance(g, DeviceSpec)]
            passed = [node.inputs[g + skip] for g in given if isinstance(g, int)]
            if fixed:
                home = fixed[0]
            elif len(passed) == len(given) and len(set(map(plan.origin, passed))) == 1:
                outputs.append(passed[0])
                continue
            else:
                known = [h for h in map(plan.home, passed) if h is not None]
                home = (known or devices or [node.device])[0]
            outputs.append(home)
            _add(devices, (home,))
            for g in given:
                if isinstance(g, int):
                    _add(inputs[g + skip], (home,))
        if not devices:
            devices = [node.device]
        if skip:
            inputs[0] = list(devices)
        return _Region(devices, inputs, outputs)

    def _loop(self, node: Node) -> _Region:
        cond = self.summary(node.attrs["cond"].name)
        body = self.summary(node.attrs["body"].name)
        count = len(node.inputs)
        devices: list[DeviceSpec] = []
        _add(devices, body.devices)
        _add(devices, cond.devices)
        needs: list[list[DeviceSpec]] = []
        for i in range(count):
            needs.append([])
            _add(needs[i], body.needs[i])
            _add(needs[i], cond.needs[i])
        homes: list[DeviceSpec | None] = []
        for i, given in enumerate(body.results):
            if given == i and isinstance(given, int):
                homes.append(None)
            elif isinstance(given, DeviceSpec):
                homes.append(given)
            else:  # another variable's value, or a constant: wherever it is looked at
                homes.append(needs[i][0] if needs[i] else (devices or [node.device])[0])
        for home in homes:
            if home is not None:
                _add(devices, (home,))
        if not devices:
            devices = [node.device]
        for i, home in enumerate(homes):
            if home is None:
                # a variable that only goes round is read where the next value of another is made
                for j, given in enumerate(body.results):
                    there = homes[j]
                    if isinstance(given, int) and given == i and j != i and there is not None:
                        _add(needs[i], (there,))
        inputs = [needs[i] if home is None else [home] for i, home in enumerate(homes)]
        outputs: list[DeviceSpec | Endpoint | None] = [
            node.inputs[i] if home is None else home for i, home in enumerate(homes)
        ]
        return _Region(devices, inputs, outputs, homes)

    # -- the shares ------------------------------------------------------------------------

    def shares(self) -> list[Share]:
        """See `partition`."""
        plan = _Plan(self, self.graph.nodes)
        ends: list[tuple[Endpoint, DeviceSpec]] = []
        for end in self.request.fetches:
            home = plan.home(end) or self.default
            ends.append((end, home))
            plan.want(end, home)
        writer = _Writer(self, plan)
        writer.write(())
        fetched: dict[DeviceSpec, list[tuple[int, Endpoint]]] = {}
        for index, (end, home) in enumerate(ends):
            fetched.setdefault(home, []).append((index, writer.local(end, home)))
        out = []
        feeds = {e: i for i, e in enumerate(self.request.feeds)}
        for device, nodes in writer.lists.items():
            mine = fetched.get(device, [])
            if not nodes and not mine:
                continue
            names = {n.name for n in nodes}
            taken = [e for e in feeds if e.node in names]
            targets = tuple(t for t in self.request.targets if t in names)
            request = Request(tuple(taken), tuple(e for _, e in mine), targets)
            graph = Graph(
                tuple(nodes), self.libraries.get(device, {}), self.graph.producer,
                self.graph.min_consumer,
            )  # fmt: skip
            out.append(Share(
                device, graph, request,
                tuple(feeds[e] for e in taken), tuple(i for i, _ in mine),
            ))  # fmt: skip
        return out

    def channel(self) -> int:
        """A number for another edge that is cut."""
        self.channels += 1
        return self.channels

    def fresh(self, name: str) -> str:
        """A name for a device's share of a function."""
        self._cut_functions += 1
        return f"{name}_cut_{self._cut_functions}"

    def keep(self, device: DeviceSpec, ref: FuncRef) -> None:
        """Gives a device a whole function and all that it calls."""
        library = self.libraries.setdefault(device, {})
        pending = [ref.name]
        while pending:
            name = pending.pop()
            if name not in library:
                function = library[name] = self.graph.library[name]
                pending.extend(r.name for n in function.body.nodes for r in n.functions())


class _Writer:
    """Writes the shares of one graph or body, node by node in its order.

    Attributes:
        lists: the nodes of each device.
    """

    def __init__(self, owner: _Partition, plan: _Plan) -> None:
        self.owner = owner
        self.plan = plan
        self.lists: dict[DeviceSpec, list[Node]] = {}
        self._names: dict[DeviceSpec, set[str]] = {}
        self._here: dict[tuple[Endpoint, DeviceSpec], Endpoint] = {}
        self._done: dict[tuple[str, DeviceSpec, DeviceSpec], str] = {}
        self._edges: dict[tuple[Endpoint | str, DeviceSpec, DeviceSpec], int] = {}

    def write(self, devices: Sequence[DeviceSpec]) -> None:
        """Writes all nodes; `devices` get a list in any case."""
        for device in devices:
            self.lists.setdefault(device, [])
        for name, there in self.plan.present.items():
            node = self.plan.by_name[name]
            for device in there:
                self.add(device, node)
                self._here[Endpoint(name), device] = Endpoint(name)
            for device in self.plan.wanted.get(Endpoint(name), ()):
                if there and device not in there:
                    self._send(Endpoint(name), there[0], device)
        for node in self.plan.nodes:
            homes = self.plan.homes[node.name]
            if not homes:
                continue
            region = self.plan.regions.get(node.name)
            if region is not None and len(homes) > 1:
                _Cut(self, node, region).write()
            else:
                for device in homes:
                    self._place(node, device)
            self._send_values(node)
            self._send_signals(node)

    def add(self, device: DeviceSpec, node: Node) -> Node:
        """Adds a node to a device's share; one that is new there gets a name that is free."""
        names = self._names.setdefault(device, set())
        name, count = node.name, 0
        old = self.plan.by_name.get(name)
        is_new = old is None or old.op is not node.op
        while name in names or ((is_new or count) and name in self.plan.by_name):
            count += 1
            name = f"{node.name}_{count}"
        names.add(name)
        node = node if name == node.name else node.changed(name=name)
        self.lists.setdefault(device, []).append(node)
        return node

    def _place(self, node: Node, device: DeviceSpec) -> None:
        inputs = [self.local(e, device) for e in node.inputs]
        if node.op.name == "NoOp":
            after = [n for n in node.after if device in self.plan.homes[n]]
        else:
            after = self.after(node, device)
        for ref in node.functions():
            self.owner.keep(device, ref)
        self.add(device, node.changed(inputs=inputs, after=after))
        for i in range(len(node.outputs)):
            end = Endpoint(node.name, i)
            if end not in self.plan.alias:
                self._here[end, device] = end

    def put(self, end: Endpoint, device: DeviceSpec, local: Endpoint) -> None:
        """Notes what a value is called at a device."""
        self._here[end, device] = local

    def after(self, node: Node, device: DeviceSpec) -> list[str]:
        """What a node comes after, at a device."""
        out: list[str] = []
        for name in node.after:
            self._follow(name, device, out)
        return list(dict.fromkeys(out))

    def _follow(self, name: str, device: DeviceSpec, out: list[str]) -> None:
        above = self.plan.by_name[name]
        homes = self.plan.homes[name]
        if above.op.name == "NoOp" and device in homes and len(homes) == 1:
            out.append(name)
            return
        if above.op.name == "NoOp" or not homes:
            for each in (*above.after, *(e.node for e in above.inputs)):
                self._follow(each, device, out)
            return
        out += [name if h == device else self._signal(above, h, device) for h in homes]

    # -- values that cross -----------------------------------------------------------------

    def local(self, end: Endpoint, device: DeviceSpec) -> Endpoint:
        """What a value is called at a device; it is received there if need be."""
        end = self.plan.origin(end)
        found = self._here.get((end, device))
        if found is not None:
            return found
        node = self.plan.by_name[end.node]
        if node.op.name in _COPIED or node.name in self.plan.fed:
            copy = self.add(device, node.changed(after=(), device=device))
            for i in range(len(node.outputs)):
                self._here[Endpoint(node.name, i), device] = Endpoint(copy.name, i)
            return self._here[end, device]
        home = self.plan.home(end)
        assert home is not None, f"{end} is nowhere"
        edge = self._edges[end, home, device]
        made = self._received(
            f"{end.node}/recv_{end.index}", edge, str(end), node.outputs[end.index], home, device,
            node.source,
        )  # fmt: skip
        self._here[end, device] = Endpoint(made)
        return Endpoint(made)

    def _send_values(self, node: Node) -> None:
        for i in range(len(node.outputs)):
            end = Endpoint(node.name, i)
            if end in self.plan.alias:
                continue
            home = self.plan.home(end)
            for device in self.plan.wanted.get(end, ()):
                if home is not None and device != home:
                    self._send(end, home, device)

    def _send(self, end: Endpoint, home: DeviceSpec, device: DeviceSpec) -> int:
        """Sends a value from its home to a device; gives the channel."""
        node = self.plan.by_name[end.node]
        type_ = node.outputs[end.index]
        if type_.dtype.base in (resource, variant):
            what = "a resource" if type_.dtype.base is resource else "a list"
            raise InvalidArgumentError(
                f"{what} cannot leave its device: {end} is on {home} and used on {device}",
                node=node.signature(),
                made=source_text(node.source),
                do="put what uses it on the same device",
            )
        number = self._edges[end, home, device] = self.owner.channel()
        self.sent(
            f"{end.node}/send_{end.index}", number, str(end), self._here[end, home], type_,
            home, device, (), node.source,
        )  # fmt: skip
        return number

    def sent(
        self,
        name: str,
        channel: int,
        tensor: str,
        value: Endpoint,
        type_: TensorType,
        home: DeviceSpec,
        device: DeviceSpec,
        after: Sequence[str],
        source: Source,
    ) -> None:
        """Adds a `_Send`."""
        attrs = {"T": type_.dtype.base, **_transfer(channel, tensor, home, device)}
        self.add(home, Node(
            name, lookup("_Send"), (value,), tuple(after), MappingProxyType(attrs), (), home, source
        ))  # fmt: skip

    def _received(
        self,
        name: str,
        channel: int,
        tensor: str,
        type_: TensorType,
        home: DeviceSpec,
        device: DeviceSpec,
        source: Source,
        lag: int = 0,
    ) -> str:
        """Adds a `_Recv`; gives its name."""
        base = TensorType(type_.dtype.base, type_.shape)
        attrs: dict[str, AttrValue] = {
            "tensor_type": base.dtype, "shape": base.shape,
            **_transfer(channel, tensor, home, device),
        }  # fmt: skip
        if lag:
            attrs["_lag"] = lag
        if self.owner.blocking:
            attrs["_blocks"] = True
        return self.add(device, Node(
            name, lookup("_Recv"), (), (), MappingProxyType(attrs), (base,), device, source
        )).name  # fmt: skip

    # -- control edges that cross ----------------------------------------------------------

    def _send_signals(self, node: Node) -> None:
        for device in self.plan.awaited.get(node.name, ()):
            for home in self.plan.homes[node.name]:
                if home != device:
                    number = self._edges[node.name, home, device] = self.owner.channel()
                    self._dummy(node.name, number, home, device, [node.name], node.source)

    def _dummy(
        self,
        name: str,
        channel: int,
        home: DeviceSpec,
        device: DeviceSpec,
        after: Sequence[str],
        source: Source,
    ) -> None:
        """Sends a value that says no more than that something has happened."""
        value = self.add(home, Node(
            f"{name}/signal", lookup("Const"), (), (),
            MappingProxyType({"dtype": bool_, "value": np.zeros((), np.bool_)}), (_BOOL,), home,
            source,
        ))  # fmt: skip
        self.sent(f"{name}/send_signal", channel, f"^{name}", Endpoint(value.name), _BOOL, home,
                  device, after, source)  # fmt: skip

    def _signal(self, node: Node, home: DeviceSpec, device: DeviceSpec) -> str:
        """The node at a device that stands for the end of a node elsewhere."""
        key = node.name, home, device
        found = self._done.get(key)
        if found is None:
            number = self._edges[key]
            found = self._done[key] = self._received(
                f"{node.name}/recv_signal", number, f"^{node.name}", _BOOL, home, device,
                node.source,
            )  # fmt: skip
        return found

    def pace(self, name: str, fast: DeviceSpec, slow: DeviceSpec, limit: int) -> None:
        """Lets one device run ahead of another by at most so many iterations of this body."""
        number = self.owner.channel()
        self._dummy(f"{name}/pace", number, slow, fast, (), "")
        recv = self._received(f"{name}/pace/recv", number, f"^{name}", _BOOL, slow, fast, "", limit)
        nodes = self.lists[fast]
        at = next(i for i, n in enumerate(nodes) if n.name == recv)
        first = next((i for i, n in enumerate(nodes) if n.op.name != "_Arg"), at)
        nodes.insert(first, nodes.pop(at))

    def hears_from(self, device: DeviceSpec, other: DeviceSpec) -> bool:
        """Whether a device waits for another whenever this body runs."""
        name = str(other).encode()
        return any(
            n.op.name == "_Recv" and n.attrs["send_device"] == name and "_lag" not in n.attrs
            for n in self.lists.get(device, ())
        )


def _transfer(
    channel: int, tensor: str, home: DeviceSpec, device: DeviceSpec
) -> dict[str, AttrValue]:
    return {
        "tensor_name": tensor.encode(),
        "send_device": str(home).encode(),
        "send_device_incarnation": 0,
        "recv_device": str(device).encode(),
        "client_terminated": False,
        "_channel": channel,
    }


class _Cut:
    """Writes all shares of a region that spans devices."""

    def __init__(self, outer: _Writer, node: Node, region: _Region) -> None:
        self.outer = outer
        self.owner = outer.owner
        self.node = node
        self.region = region
        self.skip = 1 if node.op.name in _IFS else 0
        self.is_loop = node.op.name in _WHILES

    def write(self) -> None:
        """Adds a node to each device, and its bodies to their libraries."""
        taken = {d: [i for i, at in enumerate(self.region.inputs) if d in at]
                 for d in self.region.devices}  # fmt: skip
        given = {
            d: [i for i in range(len(self.node.outputs))
                if (i in taken[d] if self.is_loop else self.region.outputs[i] == d)]
            for d in self.region.devices
        }  # fmt: skip
        bodies = {a: self._body(a, taken, given) for a in _body_attrs(self.node)}
        for device in self.region.devices:
            refs = {attr: FuncRef(names[device]) for attr, names in bodies.items()}
            self._share(device, taken[device], given[device], refs)

    def _share(
        self, device: DeviceSpec, taken: list[int], given: list[int], refs: dict[str, FuncRef]
    ) -> None:
        node, outer = self.node, self.outer
        inputs = [outer.local(node.inputs[i], device) for i in taken]
        ends = [node.inputs[i] for i in taken if i >= self.skip]
        into = tuple(outer.plan.by_name[e.node].outputs[e.index].dtype.base for e in ends)
        types = [node.outputs[i] for i in given]
        attrs: dict[str, AttrValue] = {**node.attrs, **refs}
        if self.is_loop:
            attrs["T"] = into
        else:
            attrs["Tin"] = into
            attrs["Tout"] = tuple(t.dtype.base for t in types)
        for listed in ("output_shapes", "_output_shapes"):
            if attrs.get(listed):
                attrs[listed] = tuple(attrs[listed][i] for i in given)
        made = outer.add(device, node.changed(
            inputs=inputs, after=outer.after(node, device), attrs=MappingProxyType(attrs),
            outputs=types, device=device,
        ))  # fmt: skip
        for at, i in enumerate(given):
            if self.region.outputs[i] == device:
                outer.put(Endpoint(node.name, i), device, Endpoint(made.name, at))

    def _body(
        self,
        attr: str,
        taken: Mapping[DeviceSpec, list[int]],
        given: Mapping[DeviceSpec, list[int]],
    ) -> dict[DeviceSpec, str]:
        """Cuts one body; gives the name of each device's function."""
        function = self.owner.graph.library[self.node.attrs[attr].name]
        present = {
            p.node: self.region.inputs[i + self.skip] for i, p in enumerate(function.params)
        }
        plan = _Plan(self.owner, function.body.nodes, present)
        writer = _Writer(self.owner, plan)
        results: dict[DeviceSpec, list[Endpoint]] = {}
        for device in self.region.devices:
            wanted = [0] if attr == "cond" else given[device]
            results[device] = [function.results[i] for i in wanted]
            for end in results[device]:
                plan.want(end, device)
        writer.write(self.region.devices)
        shares = {d: [writer.local(e, d) for e in ends] for d, ends in results.items()}
        if attr == "body":
            self._keep_pace(writer)
        names = {}
        for device in self.region.devices:
            params = [function.params[i - self.skip] for i in taken[device] if i >= self.skip]
            wanted = [0] if attr == "cond" else given[device]
            name = names[device] = self.owner.fresh(function.name)
            self.owner.libraries.setdefault(device, {})[name] = Function(
                name,
                tuple(params),
                tuple(shares[device]),
                tuple(function.result_names[i] for i in wanted),
                Graph(tuple(_numbered(writer.lists[device], params))),
                (),
                function.attrs,
            )
        return names

    def _keep_pace(self, body: _Writer) -> None:
        """Bounds how far the device that decides runs ahead of those that only listen."""
        cond = self.owner.graph.library[self.node.attrs["cond"].name]
        decides = self.owner.summary(cond.name).results[0]
        if isinstance(decides, int):
            there = self.region.inputs[decides]
            decides = there[0] if there else None
        leader = decides or self.region.devices[0]
        limit = max(1, self.node.attrs.get("parallel_iterations", 10))
        for device in self.region.devices:
            if device != leader and not body.hears_from(leader, device):
                body.pace(self.node.name, leader, device, limit)


def _numbered(nodes: Sequence[Node], params: Sequence[Endpoint]) -> list[Node]:
    """The nodes with parameters in their new order, first of all."""
    position = {p.node: i for i, p in enumerate(params)}
    by_name = {n.name: n for n in nodes}
    first = [by_name[p.node].with_attrs(index=i) for i, p in enumerate(params)]
    return first + [n for n in nodes if n.name not in position]


def _body_attrs(node: Node) -> tuple[str, ...]:
    return tuple(a for a in ("cond", "body", "then_branch", "else_branch", "f") if a in node.attrs)
