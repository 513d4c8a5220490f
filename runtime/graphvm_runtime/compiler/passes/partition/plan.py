"""How a placed graph is to be cut: where each value is made, and which devices need it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ir.graph import Endpoint, Function, Node
from graphvm_runtime.ops.functional import LOOPS, REGIONS
from graphvm_runtime.ops.registry import Trait


@dataclass(slots=True)
class Summary:
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
class Region:
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


def add_all(devices: list[DeviceSpec], more: Iterable[DeviceSpec]) -> None:
    """Adds devices that are not there yet."""
    for device in more:
        if device not in devices:
            devices.append(device)


class Plan:
    """How the nodes of one graph or body are cut: what is needed where.

    Attributes:
        homes: devices at which each node runs; none for what is anywhere.
        alias: values that are only handed on, and what they are.
        wanted: devices that need each value.
        awaited: devices at which something comes after each node.
    """

    def __init__(
        self,
        cuts: Cuts,
        nodes: Sequence[Node],
        present: Mapping[str, list[DeviceSpec]] | None = None,
    ) -> None:
        self.cuts = cuts
        self.in_body = present is not None
        self.fed = frozenset[str]() if self.in_body else cuts.fed
        self.nodes = nodes
        self.by_name = {n.name: n for n in nodes}
        self.present = present or {}
        self.homes: dict[str, list[DeviceSpec]] = {}
        self.alias: dict[Endpoint, Endpoint] = {}
        self.regions: dict[str, Region] = {}
        self.wanted: dict[Endpoint, list[DeviceSpec]] = {}
        self.awaited: dict[str, list[DeviceSpec]] = {}
        for node in nodes:
            self._cut(node)

    def _cut(self, node: Node) -> None:
        name = node.op.name
        anywhere = node.op.traits & Trait.REMATERIALISABLE or name == "_Arg"
        if anywhere or node.name in self.fed:
            self.homes[node.name] = []
            return
        if node.op.forwards and not node.after and (self.in_body or node.device == ANY):
            self.homes[node.name] = []
            for i, end in enumerate(node.inputs):
                self.alias[Endpoint(node.name, i)] = self.origin(end)
            return
        if name == "NoOp":
            homes: list[DeviceSpec] = []
            for above in node.after:
                add_all(homes, self.homes[above])
            self.homes[node.name] = homes
            return
        if name in REGIONS:
            region = self.regions[node.name] = self.cuts.region(node, self)
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
        add_all(self.wanted.setdefault(self.origin(end), []), (device,))

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


class Cuts:
    """How the functions of one graph are cut, and the regions that use them.

    Args:
        library: the functions, placed.
        fed: nodes of the graph that are fed.
        default: where things go that are anywhere.
    """

    def __init__(
        self, library: Mapping[str, Function], fed: frozenset[str], default: DeviceSpec
    ) -> None:
        self.library = library
        self.fed = fed
        self.default = default
        self._summaries: dict[str, Summary | None] = {}

    # -- what functions need ---------------------------------------------------------------

    def summary(self, name: str) -> Summary:
        """What a function needs and gives."""
        if name in self._summaries:
            found = self._summaries[name]
            if found is None:
                return self._of_recursive(name)
            return found
        self._summaries[name] = None
        function = self.library[name]
        plan = Plan(self, function.body.nodes, {})  # as if each parameter were anywhere
        devices: list[DeviceSpec] = []
        for homes in plan.homes.values():
            add_all(devices, homes)
        params = {p: i for i, p in enumerate(function.params)}
        needs = [list(plan.wanted.get(p, ())) for p in function.params]
        for position, param in enumerate(function.params):
            node = function.body.by_name[param.node]
            if node.device != ANY:  # a resource or a list is where it is
                needs[position] = [node.device]
                add_all(devices, (node.device,))
        results: list[DeviceSpec | int | None] = []
        for end in function.results:
            origin = plan.origin(end)
            at = params.get(origin)
            results.append(plan.home(origin) if at is None else at)
        made = self._summaries[name] = Summary(devices, needs, results)
        return made

    def _of_recursive(self, name: str) -> Summary:
        """Of a function that calls itself: it must be in one place."""
        function = self.library[name]
        devices: list[DeviceSpec] = []
        pending, seen = [name], set[str]()
        while pending:
            each = pending.pop()
            if each in seen:
                continue
            seen.add(each)
            for node in self.library[each].body.nodes:
                if node.op.name not in REGIONS and node.device != ANY:
                    add_all(devices, (node.device,))
                pending.extend(r.name for r in node.functions())
        if len(devices) > 1:
            raise UnimplementedError(
                f"function {name!r} calls itself and spans devices",
                do=f"place all of its nodes on {devices[0]}",
            )
        home = devices[0] if devices else self.default
        return Summary([home], [[home] for _ in function.params], [home for _ in function.results])

    # -- regions ---------------------------------------------------------------------------

    def region(self, node: Node, plan: Plan) -> Region:
        """How a region is cut."""
        if node.op.name in LOOPS:
            return self._loop(node)
        skip = node.op.region.first if node.op.region else 0
        bodies = [self.summary(ref.name) for ref in node.functions()]
        devices: list[DeviceSpec] = []
        inputs: list[list[DeviceSpec]] = [[] for _ in node.inputs]
        for body in bodies:
            add_all(devices, body.devices)
            for i, needs in enumerate(body.needs):
                add_all(inputs[i + skip], needs)
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
            add_all(devices, (home,))
            for g in given:
                if isinstance(g, int):
                    add_all(inputs[g + skip], (home,))
        if not devices:
            devices = [node.device]
        if skip:
            inputs[0] = list(devices)
        return Region(devices, inputs, outputs)

    def _loop(self, node: Node) -> Region:
        cond = self.summary(node.attrs["cond"].name)
        body = self.summary(node.attrs["body"].name)
        count = len(node.inputs)
        devices: list[DeviceSpec] = []
        add_all(devices, body.devices)
        add_all(devices, cond.devices)
        needs: list[list[DeviceSpec]] = []
        for i in range(count):
            needs.append([])
            add_all(needs[i], body.needs[i])
            add_all(needs[i], cond.needs[i])
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
                add_all(devices, (home,))
        if not devices:
            devices = [node.device]
        for i, home in enumerate(homes):
            if home is None:
                # a variable that only goes round is read where the next value of another is made
                for j, given in enumerate(body.results):
                    there = homes[j]
                    if isinstance(given, int) and given == i and j != i and there is not None:
                        add_all(needs[i], (there,))
        inputs = [needs[i] if home is None else [home] for i, home in enumerate(homes)]
        outputs: list[DeviceSpec | Endpoint | None] = [
            node.inputs[i] if home is None else home for i, home in enumerate(homes)
        ]
        return Region(devices, inputs, outputs, homes)
