"""Gives every node a device of the cluster.

A node goes where its device name says; what holds or uses a resource goes with the resource, a
tensor list with the values it collects, colocated nodes go together. What says nothing goes with
its inputs if they are all in one place, else to the default device. What exists anywhere without
a cost (constants, fed values, plain hand-overs) stays without a device: it is used where it is
needed.

Bodies are placed once for each way in which they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import resource, variant
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.bodies import body_keys, body_ref, with_bodies
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, source_text, unused
from graphvm_runtime.ops.functional import LOOPS, REGIONS
from graphvm_runtime.ops.registry import PURE, Trait
from graphvm_runtime.ops.signature import AttrValue, FuncRef

_CLASS = "_class"
_PREFIX = b"loc:@"


@dataclass(frozen=True, slots=True)
class Place:
    """Places a graph and its functions.

    Attributes:
        devices: all devices of the cluster, with full names.
        default: where nodes go that nothing draws elsewhere.
        soft: take another kind of device where the one asked for does not exist.
    """

    devices: tuple[DeviceSpec, ...]
    default: DeviceSpec
    soft: bool = True
    name: str = "place"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with full device names.

        Raises:
            InvalidArgumentError: a node asks for a device that the cluster does not have.
        """
        placer = _Placer(self, graph.library)
        fed = frozenset(e.node for e in request.feeds)
        body = _Body(placer, graph.nodes, {}, self.default, lambda name: None, fed)
        nodes = body.placed()
        return replace(graph, nodes=nodes, library=placer.library), request

    def resolved(self, node: Node) -> DeviceSpec | None:
        """The device that a node asks for; None where it leaves that open.

        Raises:
            InvalidArgumentError: the cluster has no such device.
        """
        spec = node.device
        if spec == ANY:
            return None
        task = spec.task_only()
        found = [d for d in self.devices if task.matches(d)]
        if not found:
            raise _no_device(node, self.devices)
        exact = [d for d in found if spec.matches(d)]
        if not exact and not self.soft:
            raise _no_device(node, self.devices)
        if task == ANY:
            return None
        found = exact or found
        return self.default if self.default in found else found[0]


def _no_device(node: Node, devices: Sequence[DeviceSpec]) -> InvalidArgumentError:
    names = [str(d) for d in devices]
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return InvalidArgumentError(
        f"the cluster has no device {node.device}",
        node=node.signature(),
        made=source_text(node.source),
        do=f"use one of {shown}, or allow soft placement",
    )


_Places = tuple[DeviceSpec | None, ...]
_Key = tuple[str, _Places, _Places, DeviceSpec, _Places]


class _Placer:
    """What the bodies of one graph share."""

    def __init__(self, place: Place, library: Mapping[str, Function]) -> None:
        self.place = place
        self.given = library
        self.library: dict[str, Function] = {}
        self._made: dict[_Key, tuple[str, _Body]] = {}
        self._links: dict[str, list[list[int]]] = {}
        self._whole: dict[tuple[str, DeviceSpec], str] = {}

    def whole(self, node: Node, device: DeviceSpec) -> Node:
        """A node at a device, with all that its functions do at the same device.

        Kernels that take functions call them where they are themselves.
        """
        refs = {ref.name for ref in node.functions()}
        if not refs:
            return node.changed(device=device)
        names = {name: self._whole_function(name, device) for name in refs}

        def renamed(value: AttrValue) -> AttrValue:
            if isinstance(value, FuncRef):
                return FuncRef(names[value.name], value.attrs)
            return tuple(map(renamed, value)) if isinstance(value, tuple) else value

        attrs = MappingProxyType({k: renamed(v) for k, v in node.attrs.items()})
        return node.changed(attrs=attrs, device=device)

    def _whole_function(self, name: str, device: DeviceSpec) -> str:
        found = self._whole.get((name, device))
        if found is not None:
            return found
        fresh = unused(f"{name}_whole", self.given, self.library)
        self._whole[name, device] = fresh
        function = self.given[name]
        self.library[fresh] = function  # takes the name, for functions that call it again
        nodes = tuple(self.whole(n, device) for n in function.body.nodes)
        self.library[fresh] = replace(function.with_nodes(nodes), name=fresh)
        return fresh

    def links(self, name: str) -> list[list[int]]:
        """What of a function must be in one place: numbers of parameters, results from -1 down."""
        found = self._links.get(name)
        if found is not None:
            return found
        self._links[name] = []  # for a function that calls itself
        function = self.given[name]
        body = _Body(self, function.body.nodes, {}, self.place.default, lambda name: None,
                     frozenset())  # fmt: skip
        groups: dict[str, list[int]] = {}
        ends = [*enumerate(function.params), *((~i, e) for i, e in enumerate(function.results))]
        for number, end in ends:
            if body._held(end) and body.by_name[end.node].op.name != "FakeParam":
                groups.setdefault(body._root(body._key(end)), []).append(number)
        found = self._links[name] = [g for g in groups.values() if len(g) > 1]
        return found

    def function(
        self,
        name: str,
        params: _Places,
        results: _Places,
        default: DeviceSpec,
        outer: Callable[[str], DeviceSpec | None],
    ) -> tuple[str, _Body]:
        """The name of a function placed for these parameters, and its body.

        Args:
            name: of the function.
            params: where resource and list parameters are, as far as that is known.
            results: where lists are wanted that it gives.
            default: where its nodes go that nothing draws elsewhere.
            outer: where nodes of the graph around it are, for colocation.
        """
        function = self.given[name]
        inside = function.body.by_name
        away = tuple(outer(t) for t in _classes(function.body.nodes) if t not in inside)
        key = name, params, results, default, away
        found = self._made.get(key)
        if found is not None:
            return found
        places = {p.node: where for p, where in zip(function.params, params, strict=True) if where}
        body = _Body(self, function.body.nodes, places, default, outer, frozenset())
        body.give(zip(function.results, results, strict=True))
        taken = {n for n, _ in self._made.values()}
        fresh = unused(f"{name}_at", taken) if name in taken else name
        self._made[key] = fresh, body
        nodes = body.placed()
        self.library[fresh] = replace(function.with_nodes(nodes), name=fresh)
        return fresh, body


def _classes(nodes: Sequence[Node]) -> list[str]:
    """Names that nodes want to be colocated with."""
    return list(dict.fromkeys(t for n in nodes for t in _tokens(n)))


def _tokens(node: Node) -> list[str]:
    return [
        c[len(_PREFIX) :].decode(errors="surrogateescape")
        for c in node.attrs.get(_CLASS, ())
        if isinstance(c, bytes) and c.startswith(_PREFIX)
    ]


class _Body:
    """The nodes of a graph or function, in groups that must be in one place.

    A group is named by a node, or by an output of a region (`If`, `While`, call) that is a
    resource or a list.
    """

    def __init__(
        self,
        placer: _Placer,
        nodes: Sequence[Node],
        params: Mapping[str, DeviceSpec],
        default: DeviceSpec,
        outer: Callable[[str], DeviceSpec | None],
        fed: frozenset[str],
    ) -> None:
        self.placer = placer
        self.nodes = _with_order_of_constants(nodes)
        self.params = params
        self.default = default
        self.outer = outer
        self.fed = fed
        self.by_name = {n.name: n for n in self.nodes}
        self.parent: dict[str, str] = {}
        self.members: dict[str, list[str]] = {}
        self.known: dict[str, DeviceSpec | None] = {}
        self.asking: set[str] = set()
        self.wanted: dict[str, DeviceSpec] = {}  # where lists go that the function gives
        self._join()

    def give(self, results: Iterable[tuple[Endpoint, DeviceSpec | None]]) -> None:
        """Lets lists be where the caller of the function wants them."""
        for end, device in results:
            if device is not None and self.by_name[end.node].op.name != "FakeParam":
                self.wanted[self._root(self._key(end))] = device

    # -- groups ----------------------------------------------------------------------------

    def _root(self, key: str) -> str:
        while (above := self.parent.get(key, key)) != key:
            self.parent[key] = self.parent.get(above, above)
            key = above
        return key

    def _unite(self, one: str, other: str) -> None:
        one, other = self._root(one), self._root(other)
        if one != other:
            self.parent[other] = one
            self.members[one] = [*self.members.get(one, [one]), *self.members.get(other, [other])]

    def _key(self, end: Endpoint) -> str:
        return f"{end.node}:{end.index}" if self._is_region(end.node) else end.node

    def _is_region(self, name: str) -> bool:
        return self.by_name[name].op.name in REGIONS

    def _type(self, end: Endpoint) -> object:
        return self.by_name[end.node].outputs[end.index].dtype.base

    def _held(self, end: Endpoint) -> bool:
        """Whether it is something that cannot leave its device."""
        return self._type(end) in (resource, variant)

    def _join(self) -> None:
        for node in self.nodes:
            region = node.op.name in REGIONS
            held = [(i, e) for i, e in enumerate(node.inputs) if self._held(e)]
            if not region:
                for _, end in held:
                    self._unite(self._key(end), node.name)
                if held or self._makes(node):
                    continue  # it is where its resource is, whatever it is colocated with
                for token in _tokens(node):
                    if token in self.by_name and not self._is_region(token):
                        self._unite(token, node.name)
                    else:
                        self._unite(f"@{token}", node.name)
            else:
                if node.op.name in LOOPS:
                    for i, end in held:
                        self._unite(self._key(end), f"{node.name}:{i}")
                self._join_passed(node)

    def _join_passed(self, node: Node) -> None:
        """Joins what bodies bring together: what went in with what it is given back as."""
        skip = node.op.region.first if node.op.region else 0
        for key in body_keys(node):
            for group in self.placer.links(body_ref(node, key).name):
                keys = [
                    self._key(node.inputs[i + skip]) if i >= 0 else f"{node.name}:{~i}"
                    for i in group
                ]
                for other in keys[1:]:
                    self._unite(keys[0], other)

    # -- places ----------------------------------------------------------------------------

    def where(self, key: str) -> DeviceSpec | None:
        """Where a group is; None for what is anywhere."""
        root = self._root(key)
        if root in self.known:
            return self.known[root]
        if root in self.asking:  # a circle: nothing in it says where
            return self.default
        self.asking.add(root)
        members = self.members.get(root, [root])
        found = self.wanted.get(root)
        if found is None or any(m in self.params for m in members):
            found = self._decide(members)
        self.asking.discard(root)
        self.known[root] = found
        return found

    def _decide(self, members: Sequence[str]) -> DeviceSpec | None:
        nodes = [self.by_name[m] for m in members if m in self.by_name]
        for m in members:
            if m in self.params:
                return self.params[m]
        hint = self._of_collected(members)
        if hint is not None:
            return hint
        asked = [n for n in nodes if not n.op.traits & Trait.PLACELESS]
        makers = [n for n in asked if self._makes(n)]
        # A resource stays where it was made, whatever else a request uses: a node that is not in
        # every graph must not move it.
        if makers:
            return self._of_makers(makers)
        for node in asked:
            device = self.placer.place.resolved(node)
            if device is not None:
                return device
        for m in members:
            if m.startswith("@"):
                outside = self._colocated(m[1:])
                if outside is not None:
                    return outside
        if len(members) == 1 and nodes:
            return self._of_single(nodes[0])
        return self.default

    def _of_makers(self, makers: Sequence[Node]) -> DeviceSpec:
        """Where the resources of a group are.

        Raises:
            InvalidArgumentError: they are in several places, and used as one.
        """
        found: dict[DeviceSpec, Node] = {}
        for maker in makers:
            device = self.placer.place.resolved(maker)
            if device is None:
                near = map(self._colocated, _tokens(maker))
                device = next((d for d in near if d is not None), self.default)
            found.setdefault(device, maker)
        if len(found) > 1:
            (one, first), (other, second) = list(found.items())[:2]
            raise InvalidArgumentError(
                f"a resource cannot leave its device: {first.name!r} is on {one}, "
                f"{second.name!r} on {other}, and something uses either",
                node=second.signature(),
                made=source_text(second.source),
                do=f"place {second.name!r} on {one} too",
            )
        return next(iter(found))

    def _makes(self, node: Node) -> bool:
        """Whether a resource begins here."""
        return any(t.dtype.base is resource for t in node.outputs) and not any(
            self._type(e) is resource for e in node.inputs
        )

    def _colocated(self, name: str) -> DeviceSpec | None:
        """Where a node is that another one wants to be with."""
        if name not in self.by_name:
            return self.outer(name)
        if self._is_region(name):
            return self._region_home(self.by_name[name])
        return self.where(name)

    def _of_single(self, node: Node) -> DeviceSpec | None:
        if node.op.traits & Trait.PLACELESS or node.name in self.fed:
            return None
        if node.op.name in REGIONS:
            return self._region_home(node)
        if node.op.forwards and not node.after:
            return None
        if node.op.effects == PURE or node.op.forwards:
            places = {self._of_value(e) for e in node.inputs}
            places.discard(None)
            if len(places) == 1:
                found = places.pop()
                return self.default if found is ANY else found
        return self.default

    def _of_value(self, end: Endpoint) -> DeviceSpec | None:
        """Where a value is made; None for anywhere, ANY where that is not known here."""
        while True:
            node = self.by_name[end.node]
            if node.op.name == "_Arg":
                return self.params.get(node.name, ANY)
            if node.op.name in REGIONS and not self._held(end):
                return ANY
            found = self.where(self._key(end))
            if found is not None or not node.op.forwards:
                return found
            end = node.inputs[end.index]

    def _region_home(self, node: Node) -> DeviceSpec:
        return self.placer.place.resolved(node) or self.default

    def _of_collected(self, members: Sequence[str]) -> DeviceSpec | None:
        """Where the values are made that a list collects."""
        for member in members:
            node = self.by_name.get(member)
            if node is not None:
                if node.op.collects is not None:
                    found = self._of_value(node.inputs[node.op.collects])
                    if found is not None and found is not ANY:
                        return found
                continue
            name, _, index = member.rpartition(":")
            region = self.by_name.get(name)
            if region is not None and self._type(Endpoint(name, int(index))) is variant:
                found = self._inside(region, int(index))
                if found is not None:
                    return found
        return None

    def _inside(self, region: Node, index: int) -> DeviceSpec | None:
        """Where a region wants the list that it gives as an output."""
        for attr in body_keys(region)[-1:] if region.op.name in LOOPS else body_keys(region):
            _, body = self._placed_body(region, attr, lists=False)
            result = self.placer.given[body_ref(region, attr).name].results[index]
            members = body.members.get(body._root(body._key(result)), [])
            found = body._of_collected(members or [body._key(result)])
            if found is not None:
                return found
        return self.placer.place.resolved(region)

    def _placed_body(self, node: Node, attr: str, lists: bool) -> tuple[str, _Body]:
        """A body of a region, placed for where its resources are, and lists if that is known."""
        skip = node.op.region.first if node.op.region else 0
        params = tuple(
            self.where(self._key(e))
            if self._type(e) is resource or (lists and self._type(e) is variant)
            else None
            for e in node.inputs[skip:]
        )
        name = body_ref(node, attr).name
        results = tuple(
            self.where(f"{node.name}:{i}")
            if lists and attr != "cond" and self._type(Endpoint(node.name, i)) is variant
            else None
            for i in range(len(self.placer.given[name].results))
        )
        return self.placer.function(name, params, results, self._region_home(node), self._colocated)

    # -- the outcome -----------------------------------------------------------------------

    def placed(self) -> tuple[Node, ...]:
        """The nodes with their devices, regions with their placed bodies."""
        out = []
        for node in self.nodes:
            if node.op.name in REGIONS:
                bodies = {
                    attr: FuncRef(
                        self._placed_body(node, attr, lists=True)[0], body_ref(node, attr).attrs
                    )
                    for attr in body_keys(node)
                }
                attrs = MappingProxyType(with_bodies(node.attrs, bodies))
                out.append(node.changed(attrs=attrs, device=self._region_home(node)))
                continue
            if node.op.name == "_Arg" and not self._held(Endpoint(node.name)):
                device: DeviceSpec | None = None
            else:
                device = self.where(node.name)
            out.append(self.placer.whole(node, device or ANY))
        return tuple(out)


def _with_order_of_constants(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes, where those that use a constant come after what the constant comes after.

    Constants are made wherever they are used, so they cannot keep that order themselves.
    """
    late: dict[str, tuple[str, ...]] = {
        n.name: n.after for n in nodes if n.op.traits & Trait.PLACELESS and n.outputs and n.after
    }
    if not late:
        return nodes
    return [
        n.changed(after=[*n.after, *(a for e in n.inputs for a in late.get(e.node, ()))])
        if any(e.node in late for e in n.inputs) else n
        for n in nodes
    ]  # fmt: skip
