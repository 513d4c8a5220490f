"""Writes the share of each device, body by body, as the plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from graphvm_runtime.compiler.passes.partition.plan import Cuts, Plan, Region
from graphvm_runtime.device_spec import DeviceSpec
from graphvm_runtime.dtypes import bool_, resource, variant
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.bodies import body_keys, body_ref, with_bodies
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, Source, source_text
from graphvm_runtime.ops.functional import LOOPS
from graphvm_runtime.ops.registry import Trait, lookup
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType

_BOOL = TensorType(bool_, ())


class Libraries:
    """What the writers of one graph share.

    Args:
        cuts: how its functions are cut.
        blocking: some op of the graph may wait for another op.

    Attributes:
        of: the functions of each device.
    """

    def __init__(self, cuts: Cuts, blocking: bool) -> None:
        self.cuts = cuts
        self.blocking = blocking
        self.of: dict[DeviceSpec, dict[str, Function]] = {}
        self._channels = 0
        self._names = 0

    def channel(self) -> int:
        """A number for another edge that is cut."""
        self._channels += 1
        return self._channels

    def fresh(self, name: str) -> str:
        """A name for a device's share of a function."""
        self._names += 1
        return f"{name}_cut_{self._names}"

    def keep(self, device: DeviceSpec, ref: FuncRef) -> None:
        """Gives a device a whole function and all that it calls."""
        library = self.of.setdefault(device, {})
        pending = [ref.name]
        while pending:
            name = pending.pop()
            if name not in library:
                function = library[name] = self.cuts.library[name]
                pending.extend(r.name for n in function.body.nodes for r in n.functions())


class Writer:
    """Writes the shares of one graph or body, node by node in its order.

    Attributes:
        lists: the nodes of each device.
    """

    def __init__(self, shared: Libraries, plan: Plan) -> None:
        self.shared = shared
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
            self.shared.keep(device, ref)
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
        if node.op.traits & Trait.REMATERIALISABLE or node.name in self.plan.fed:
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
                do=f"place what uses it on {home}",
            )
        number = self._edges[end, home, device] = self.shared.channel()
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
        if self.shared.blocking:
            attrs["_blocks"] = True
        return self.add(device, Node(
            name, lookup("_Recv"), (), (), MappingProxyType(attrs), (base,), device, source
        )).name  # fmt: skip

    # -- control edges that cross ----------------------------------------------------------

    def _send_signals(self, node: Node) -> None:
        for device in self.plan.awaited.get(node.name, ()):
            for home in self.plan.homes[node.name]:
                if home != device:
                    number = self._edges[node.name, home, device] = self.shared.channel()
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
        value = self.add(home, constant(f"{name}/signal", False, bool_, (), home, source))
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
        number = self.shared.channel()
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

    def __init__(self, outer: Writer, node: Node, region: Region) -> None:
        self.outer = outer
        self.shared = outer.shared
        self.node = node
        self.region = region
        self.skip = node.op.region.first if node.op.region else 0
        self.is_loop = node.op.name in LOOPS

    def write(self) -> None:
        """Adds a node to each device, and its bodies to their libraries."""
        taken = {d: [i for i, at in enumerate(self.region.inputs) if d in at]
                 for d in self.region.devices}  # fmt: skip
        given = {
            d: [i for i in range(len(self.node.outputs))
                if (i in taken[d] if self.is_loop else self.region.outputs[i] == d)]
            for d in self.region.devices
        }  # fmt: skip
        bodies = {a: self._body(a, taken, given) for a in body_keys(self.node)}
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
        attrs = with_bodies(node.attrs, refs)
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
        function = self.shared.cuts.library[body_ref(self.node, attr).name]
        present = {p.node: self.region.inputs[i + self.skip] for i, p in enumerate(function.params)}
        plan = Plan(self.shared.cuts, function.body.nodes, present)
        writer = Writer(self.shared, plan)
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
            name = names[device] = self.shared.fresh(function.name)
            self.shared.of.setdefault(device, {})[name] = Function(
                name,
                tuple(params),
                tuple(shares[device]),
                tuple(function.result_names[i] for i in wanted),
                Graph(tuple(_numbered(writer.lists[device], params))),
                (),
                function.attrs,
            )
        return names

    def _keep_pace(self, body: Writer) -> None:
        """Bounds how far the device that decides runs ahead of those that only listen."""
        cond = self.shared.cuts.library[self.node.attrs["cond"].name]
        decides = self.shared.cuts.summary(cond.name).results[0]
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
