"""The kinds of derivative rule, and the table of them.

A rule says how an op is differentiated, once for both modes where mathematics allows it. Reverse
mode *pulls* cotangents of outputs back to inputs, forward mode *pushes* tangents of inputs on to
outputs. Rules only build nodes; they never walk graphs. A rule of control flow gets the
transformation that applies it, so that it can have its bodies differentiated.

    Elementwise        partial derivatives: reverse conj(partial) * g, forward partial * t
    Linear             the transpose; forward the op itself
    Bilinear           a transpose for each argument; forward the product rule
    Reverse            reverse by hand; forward is reverse, differentiated in its cotangent
    Both               both by hand
    NotDifferentiable  says why
    NoRule             differentiable, but not here: an error
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from graphvm.graph.graph import Graph, Operation, Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.broadcasting import broadcast_like, reduced_like
from graphvm.rules.cotangents import Cotangent, Cotangents, dense, shown
from graphvm.rules.nodes import add, conj, constant, mul, node, zeros_like
from graphvm.rules.site import Site as Site
from graphvm_runtime.dtypes import resource, variant
from graphvm_runtime.errors import RuleError
from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.shapes import TensorType

Tangents: TypeAlias = "Sequence[Tensor | None]"


class Body(Protocol):
    """A body being differentiated, and the derived body being built."""

    def add_arg(self, type_: TensorType, name: str, handle: TensorType | None = None) -> Tensor:
        """A new parameter of the derived body."""

    def __enter__(self) -> Self:
        """Makes the derived body the default graph."""

    def __exit__(self, *error: object) -> None:
        """Ends that."""

    def param_type(self, index: int) -> TensorType:
        """Static type of a parameter of the body; of what it holds where it is a resource."""

    def param_handle(self, index: int) -> TensorType | None:
        """Type of what a parameter holds, where it is a list."""

    def param(self, index: int) -> Tensor:
        """The value of a parameter of the body."""

    def result(self, index: int) -> Tensor:
        """The value of a result of the body."""

    def is_loop_invariant(self, index: int) -> bool:
        """Whether an iteration hands a parameter on as it is."""

    def pull(self, cotangents: Mapping[int, Tensor], params: Sequence[int]) -> list[Cotangent]:
        """Cotangents of parameters from those of results."""

    def push(self, tangents: Mapping[int, Tensor], results: Sequence[int]) -> Tangents:
        """Tangents of results from those of parameters."""


class Region(Protocol):
    """A derived control flow node being built."""

    def body(self, attr: str, name: str) -> Body:
        """Begins a derived body."""

    def loop(
        self,
        body: Any,
        results: Sequence[Tensor],
        inputs: Sequence[Tensor],
        trips: Tensor,
        order: int,
    ) -> list[Tensor]:
        """The derived loop.

        Args:
            body: its body, with a parameter for each variable.
            results: the variables after an iteration.
            inputs: the variables at the start.
            trips: how often it runs.
            order: 1 for the order of the user's loop, -1 for the opposite.
        """

    def branch(
        self, predicate: Tensor, bodies: Sequence[tuple[Any, Sequence[Tensor]]]
    ) -> list[Tensor]:
        """The derived branch, from its bodies with their results."""

    def call(self, body: Any, results: Sequence[Tensor]) -> list[Tensor]:
        """The derived call."""


class Transform(Protocol):
    """What a rule may ask of the transformation that applies it.

    Attributes:
        label: no other transformation of the graph has it.
    """

    label: str

    def region(self, site: Site) -> Region:
        """Begins a derived node for a node with bodies."""

    def dependent(self, site: Site, attr: str) -> set[int]:
        """Parameters of a body that depend on what is differentiated by."""

    def dependent_results(self, site: Site, attr: str) -> set[int]:
        """Results of a body that depend on what is differentiated by."""

    def reaching(self, site: Site, attr: str, results: set[int]) -> set[int]:
        """Parameters that some of the results need, or that a later derivative asks for."""

    def gradient_function(self, site: Site) -> Function | None:
        """The function that is declared to be the gradient of the one that a node calls."""

    def trips(self, site: Site) -> Tensor:
        """How often a loop runs."""

    def pushed_by_reverse(
        self, site: Site, pull: Callable[[Cotangents], Cotangents], tangents: Tangents
    ) -> Tangents:
        """Forward mode of a rule that only has reverse mode: it is linear in its cotangent."""


Partial: TypeAlias = "Callable[[Site], Tensor] | float | None"


class Rule(Protocol):
    """How an op is differentiated."""

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """Cotangents of the inputs from those of the outputs."""

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """Tangents of the outputs from those of the inputs."""


class Elementwise:
    """Each element of the output depends on one element of each input; inputs may broadcast.

    Args:
        partials: one for each input, a function of the site or a number; None where there is no
            derivative.
        reverse: `reverse(site, g)` gives the cotangents of all inputs before broadcasting is
            undone, where TensorFlow has an op of its own for it, or another order of operations.
        true: False where the rule is declared not to be the derivative.
    """

    def __init__(
        self,
        *partials: Partial,
        reverse: Callable[[Site, Tensor], Sequence[Tensor | None]] | None = None,
        true: bool = True,
    ) -> None:
        self.partials = partials
        self.reverse = reverse
        self.true = true

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        g = dense(cotangents[0])
        if self.reverse is not None:
            whole: Sequence[Tensor | None] = self.reverse(site, g)
        else:
            whole = [
                _scaled(site, partial, g, conj) if wanted else None
                for partial, wanted in zip(self.partials, site.wanted, strict=True)
            ]
        if len(whole) == 1:
            return whole
        return [
            None if each is None or not wanted else reduced_like(each, site, i)
            for i, (each, wanted) in enumerate(zip(whole, site.wanted, strict=True))
        ]

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        terms = [
            _scaled(site, partial, t, lambda p: p)
            for partial, t in zip(self.partials, tangents, strict=True)
            if t is not None
        ]
        found = [t for t in terms if t is not None]
        if not found:
            return [None]
        return [broadcast_like(add(found), site)]


def _scaled(
    site: Site, partial: Partial, by: Tensor, form: Callable[[Tensor], Tensor]
) -> Tensor | None:
    if partial is None:
        return None
    if callable(partial):
        return mul(by, form(partial(site)))
    if partial == 1:
        return by
    return node("Neg", (by,)) if partial == -1 else mul(by, constant(partial, by))


class Linear:
    """Linear in some inputs taken together; the others are constants of the map.

    Args:
        transpose: `transpose(site, *cotangents)` gives the cotangents of all inputs.
        inputs: which inputs it is linear in; None: all that can have a derivative.
        apply: forward mode, `apply(site, tangents)`, where it is not simply the op on the
            tangents with zeros for those that are missing.
        sparse: the transpose takes IndexedSlices as they are.
    """

    def __init__(
        self,
        transpose: Callable[..., Cotangents],
        inputs: Sequence[int] | None = None,
        apply: Callable[[Site, Tangents], Tangents] | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        self.transpose = transpose
        self.inputs = inputs
        self.apply = apply
        self.sparse = sparse

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        if not self.sparse:
            cotangents = [None if c is None else dense(c) for c in cotangents]
        return self.transpose(site, *cotangents)

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        linear: Sequence[int] = (
            self.inputs
            if self.inputs is not None
            else [i for i in range(len(tangents)) if _has_derivative(site.input_type(i))]
        )
        given = [t if i in linear else None for i, t in enumerate(tangents)]
        if all(t is None for t in given):
            return [None] * len(site.node.outputs)
        if self.apply is not None:
            return self.apply(site, given)
        filled = [
            (t if t is not None else zeros_like(site.inputs[i])) if i in linear else site.inputs[i]
            for i, t in enumerate(given)
        ]
        return again(site, filled)


def again(site: Site, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The same operation on other inputs."""
    groups = site.node.op.grouped(list(inputs), site.node.attrs)
    return list(node.of(site.type, groups, site.attrs()).outputs)


class Bilinear:
    """Linear in each of two inputs.

    Args:
        first: `first(site, g)` gives the cotangent of the first input.
        second: likewise of the second.
        apply: the op on other inputs, `apply(site, x, y)`.
        places: which inputs the two are, where there are more.
    """

    def __init__(
        self,
        first: Callable[[Site, Tensor], Tensor],
        second: Callable[[Site, Tensor], Tensor],
        apply: Callable[[Site, Tensor, Tensor], Tensor] | None = None,
        places: tuple[int, int] = (0, 1),
    ) -> None:
        self.first = first
        self.second = second
        self.apply = apply or self._again
        self.places = places

    def _again(self, site: Site, x: Tensor, y: Tensor) -> Tensor:
        inputs = list(site.inputs)
        inputs[self.places[0]], inputs[self.places[1]] = x, y
        return again(site, inputs)[0]

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        g = dense(cotangents[0])
        first, second = self.places
        out: list[Cotangent] = [None] * len(site.wanted)
        if site.wanted[first]:
            out[first] = self.first(site, g)
        if site.wanted[second]:
            out[second] = self.second(site, g)
        return out

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        first, second = self.places
        dx, dy = tangents[first], tangents[second]
        terms = []
        if dx is not None:
            terms.append(self.apply(site, dx, site.inputs[second]))
        if dy is not None:
            terms.append(self.apply(site, site.inputs[first], dy))
        return [add(terms)] if terms else [None]


class Reverse:
    """Reverse mode by hand; forward mode from it.

    Args:
        rule: `rule(site, *cotangents)` gives the cotangents of all inputs. It is linear in the
            cotangents, and takes None for those that are zero where there are several.
        true: False where the rule is declared not to be the derivative.
    """

    def __init__(self, rule: Callable[..., Cotangents], *, true: bool = True) -> None:
        self.rule = rule
        self.true = true

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        return self.rule(site, *[None if c is None else dense(c) for c in cotangents])

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        return transform.pushed_by_reverse(site, lambda gs: self.rule(site, *gs), tangents)


@dataclass(frozen=True, slots=True)
class Both:
    """Both modes by hand.

    Attributes:
        reverse: `reverse(site, cotangents, transform)` gives the cotangents of all inputs.
        forward: `forward(site, tangents, transform)` gives the tangents of all outputs.
    """

    reverse: Callable[[Site, Cotangents, Transform], Cotangents]
    forward: Callable[[Site, Tangents, Transform], Tangents]

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        return self.reverse(site, cotangents, transform)

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        return self.forward(site, tangents, transform)


@dataclass(frozen=True, slots=True)
class NotDifferentiable:
    """No derivative passes: the op is constant almost everywhere, or declared to be."""

    why: str

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        return [None] * len(site.node.inputs)

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        return [None] * len(site.node.outputs)


@dataclass(frozen=True, slots=True)
class NoRule:
    """There is a derivative, and no formula for it here: an error where one is asked for."""

    why: str

    def _error(self, site: Site) -> RuleError:
        return RuleError(
            f"no derivative rule for {site.type}: {self.why}",
            node=site.node.signature(),
            do="register one with RegisterGradient, or stop_gradient before it",
        )

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """Raises RuleError."""
        raise self._error(site)

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """Raises RuleError."""
        raise self._error(site)


class Registered:
    """A user's own gradient function, which need not be the derivative.

    Args:
        function: `function(op, *cotangents)`, as TensorFlow calls it.
    """

    true = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        given = [
            zeros_like(site.outputs[i]) if c is None and _is_number(t) else shown(c)
            for i, (c, t) in enumerate(zip(cotangents, site.node.outputs, strict=True))
        ]
        found = self.function(site, *given)
        single = found is None or isinstance(found, (Tensor, IndexedSlices))
        out = [found] if single else list(found)
        if len(out) != len(site.node.inputs):
            raise RuleError(
                f"the gradient function of {site.type} gave {len(out)} gradients for "
                f"{len(site.node.inputs)} inputs",
                node=site.node.signature(),
            )
        return out

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        return transform.pushed_by_reverse(
            site, lambda gs: self.pull(site, gs, transform), tangents
        )


def _is_number(type_: TensorType) -> bool:
    return type_.dtype.base.is_floating or type_.dtype.base.is_complex


def _has_derivative(type_: TensorType) -> bool:
    return _is_number(type_) or type_.dtype.base in (resource, variant)


class Rules(Mapping[str, Rule]):
    """Rules by name of op: TensorFlow's, then those that a user registers."""

    def __init__(self, *tables: Mapping[str, Rule]) -> None:
        self._rules: dict[str, Rule] = {}
        for table in tables:
            for op, rule in table.items():
                self.register(op, rule)

    def __getitem__(self, op: str) -> Rule:
        return self._rules[op]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def register(self, op: str, rule: Rule) -> None:
        """Adds a rule. Raises RuleError where there is one."""
        if op in self._rules:
            raise RuleError(f"there is a derivative rule for {op!r} already")
        self._rules[op] = rule

    def asked_for(self, node: Node, graph: Graph) -> Rule | None:
        """The rule that a node's `_gradient_op_type` names: of its graph, or registered."""
        asked = node.attrs.get("_gradient_op_type")
        if asked is None:
            return None
        name = asked.decode("utf-8", "replace")
        own: Rule | None = graph.functions.gradients.get(name)
        return self._rules.get(name) if own is None else own

    def of(self, node: Node, graph: Graph) -> Rule:
        """The rule of a node of a graph: the one that it asks for by name, or its op's.

        Raises:
            RuleError: there is none.
        """
        asked = node.attrs.get("_gradient_op_type")
        if asked is not None:
            found = self.asked_for(node, graph)
            if found is not None:
                return found
            # SavedModels name gradients that only the process that wrote them had.
            if not any(True for _ in node.functions()):
                raise RuleError(
                    f"{node.name!r} asks for the gradient {asked.decode(errors='replace')!r}, "
                    "which is not registered",
                    node=node.signature(),
                    do="register it with RegisterGradient",
                )
        found = self._rules.get(node.op.name)
        if found is None:
            raise RuleError(
                f"no derivative rule for {node.op.name}",
                node=node.signature(),
                do="register one with RegisterGradient, or stop_gradient before it",
            )
        return found


__all__ = [
    "Bilinear", "Body", "Both", "Elementwise", "Linear",
    "NoRule", "NotDifferentiable", "Operation", "Region", "Registered", "Reverse", "Rule", "Rules",
    "Site", "Tangents", "Transform", "again",
]  # fmt: skip
