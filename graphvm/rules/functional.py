"""Derivatives of loops, branches and calls: of their bodies, put together again.

Backwards, a loop runs its iterations in reverse order and carries a cotangent for each variable
that matters; it reads what it needs of each iteration (see `graphvm_runtime.ir.saved`). A
branch takes the same side again, a call is a call of the derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphvm.graph import Tensor
from graphvm.indexed_slices import IndexedSlices
from graphvm.rules.cotangents import (
    Cotangent,
    Cotangents,
    aggregated,
    arrived,
    dense,
    has_rows,
    leaving,
)
from graphvm.rules.list_elements import zero_cotangent
from graphvm.rules.nodes import cast, constant, integers, node, zeros, zeros_like
from graphvm.rules.registry import (
    Body,
    Both,
    NotDifferentiable,
    Rule,
    Site,
    Tangents,
    Transform,
)
from graphvm_runtime.dtypes import int32, int64, resource, variant
from graphvm_runtime.errors import RuleError
from graphvm_runtime.ir.bodies import body_keys
from graphvm_runtime.ir.calls import call_op
from graphvm_runtime.ir.graph import Function
from graphvm_runtime.ir.saved import ORDER
from graphvm_runtime.ops.registry import FuncRef
from graphvm_runtime.shapes import TensorType, is_known


def _label(site: Site) -> str:
    return site.name.rpartition("/")[2].lstrip("_") or "region"


# -- loops -----------------------------------------------------------------------------------


def _pull_loop(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    count = len(site.node.inputs)
    dependent = transform.dependent(site, "body")
    active = {i for i, c in enumerate(cotangents) if c is not None} & dependent
    while True:
        more = active | (transform.reaching(site, "body", active) & dependent)
        if more == active:
            break
        active = more
    if not active:
        return [None] * count
    order = sorted(active)
    trips = transform.trips(site)
    region = transform.region(site)
    results: list[Tensor] = []
    start: list[Tensor] = []
    rows: dict[int, IndexedSlices] = {}
    with region.body("body", f"{_label(site)}_grad_body") as body:

        def state(i: int) -> Tensor:
            return body.add_arg(body.param_type(i), f"grad_{i}", body.param_handle(i))

        states = {i: state(i) for i in order if not body.passes(i)}
        found = dict(zip(order, body.pull(states, order), strict=True))
        for i in states:
            c = found[i]
            results.append(zero_cotangent(body.param(i)) if c is None else dense(c))
        for i in order:
            if i in states:
                continue
            c = found[i]
            if isinstance(c, IndexedSlices) and has_rows(c):
                rows[i] = c
            else:  # what every iteration adds to
                states[i] = state(i)
                results.append(dense(aggregated([states[i], c])))
        for i, slices in rows.items():
            results.extend(_pushed(body, part, f"grad_{i}") for part in leaving(slices))
    start = [_or_zeros(site, i, cotangents[i]) for i in states]
    start.extend(_no_rows(part) for slices in rows.values() for part in leaving(slices))
    backwards = -site.node.attrs.get(ORDER, 1)
    made = iter(region.loop(body, results, start, trips, backwards))
    out: list[Cotangent] = [None] * count
    for i in states:
        out[i] = next(made)
    for i, slices in rows.items():
        parts = [_all_rows(next(made), part) for part in leaving(slices)]
        out[i] = aggregated([cotangents[i], arrived(parts, site.inputs[i])])
    return out


# Of a table that all iterations share, each adds to few rows: they are listed, not added up.


def _some_rows(part: Tensor) -> TensorType:
    """The type of the rows that each iteration lists."""
    shape = part.type.shape
    return TensorType(part.type.dtype.base, None if shape is None else (None, *shape[1:]))


def _pushed(body: Body, part: Tensor, name: str) -> Tensor:
    """The list of rows after an iteration."""
    type_ = _some_rows(part)
    before = body.add_arg(TensorType(variant, ()), name, type_)
    return node("TensorListPushBack", (before, part), {"element_dtype": type_.dtype})


def _no_rows(part: Tensor) -> Tensor:
    """An empty list for rows."""
    type_ = _some_rows(part)
    inputs = (_dims(type_), integers(-1))
    return node("EmptyTensorList", inputs, {"element_dtype": type_.dtype})


def _all_rows(listed: Tensor, part: Tensor) -> Tensor:
    """The rows of all iterations, as one tensor."""
    type_ = _some_rows(part)
    inputs = (listed, _dims(type_), constant([], int64))
    return node("TensorListConcatV2", inputs, {"element_dtype": type_.dtype})


def _dims(type_: TensorType) -> Tensor:
    return integers([-1 if d is None else d for d in type_.shape or ()])


def _or_zeros(site: Site, index: int, cotangent: Cotangent) -> Tensor:
    if cotangent is not None:
        return dense(cotangent)
    type_ = site.output_type(index)
    if type_.dtype.is_numpy_compatible and is_known(type_.shape):
        return zeros(type_)
    # what a handle stands for is the same before and after the loop
    held = site.input_type(index).dtype.base is resource
    return zero_cotangent(site.inputs[index] if held else site.outputs[index])


def _push_loop(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    order = sorted(transform.dependent(site, "body"))
    if not order:
        return [None] * len(tangents)
    trips = transform.trips(site)
    region = transform.region(site)
    with region.body("body", f"{_label(site)}_tangent_body") as body:
        states = {i: body.add_arg(body.param_type(i), f"tangent_{i}", body.param_handle(i))
                  for i in order}  # fmt: skip
        found = body.push(states, order)
        results = [
            zeros_like(body.result(i)) if t is None else t
            for i, t in zip(order, found, strict=True)
        ]
    start = []
    for i in order:
        t = tangents[i]
        start.append(zeros_like(site.inputs[i]) if t is None else t)
    made = region.loop(body, results, start, trips, site.node.attrs.get(ORDER, 1))
    out: list[Tensor | None] = [None] * len(tangents)
    for i, tensor in zip(order, made, strict=True):
        out[i] = tensor
    return out


# -- branches --------------------------------------------------------------------------------


def _sides(site: Site) -> list[tuple[str, str]]:
    """The bodies of a branch, and what bodies made of them are called after."""
    keys = body_keys(site.node)
    return [(k, k.removeprefix("branches[").rstrip("]").removesuffix("_branch")) for k in keys]


def _pull_branch(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    given = {i: dense(c) for i, c in enumerate(cotangents) if c is not None}
    wanted: set[int] = set()
    for side, _ in _sides(site):
        reaching = transform.reaching(site, side, set(given))
        wanted |= reaching & transform.dependent(site, side)
    order = sorted(wanted)
    region = transform.region(site)
    sides = []
    for side, called in _sides(site):
        results = transform.dependent_results(site, side)
        with region.body(side, f"{_label(site)}_grad_{called}") as body:
            pulled = body.pull({i: c for i, c in given.items() if i in results}, order)
            sides.append((body, pulled))
    kept = [k for k in range(len(order)) if any(found[k] is not None for _, found in sides)]
    rows = {k: slices for k in kept if (slices := _rows_of([found[k] for _, found in sides]))}
    bodies = []
    for body, found in sides:
        with body:
            results_kept: list[Tensor] = []
            for k in kept:
                c = found[k]
                if k in rows:
                    results_kept.extend(_like_rows(c, rows[k]))
                else:
                    results_kept.append(
                        zero_cotangent(body.param(order[k])) if c is None else dense(c)
                    )
            bodies.append((body, results_kept))
    made = iter(region.branch(site.inputs[0], bodies))
    out: list[Cotangent] = [None] * len(site.node.inputs)
    for k in kept:
        at = order[k] + 1
        parts = [next(made) for _ in range(2 if k in rows else 1)]
        out[at] = arrived(parts, site.inputs[at])
    return out


def _rows_of(found: Sequence[Cotangent]) -> tuple[TensorType, TensorType] | None:
    """Types of values and indices, where all sides that have a cotangent have rows of one kind."""
    types = [
        (_some_rows(c.values), c.indices.type.dtype)
        for c in found if isinstance(c, IndexedSlices) and has_rows(c)
    ]  # fmt: skip
    values = {v for v, _ in types}
    if len(values) != 1 or len(types) < sum(c is not None for c in found):
        return None
    wide = any(d is int64 for _, d in types)
    return values.pop(), TensorType(int64 if wide else int32, (None,))


def _like_rows(c: Cotangent, types: tuple[TensorType, TensorType]) -> tuple[Tensor, Tensor]:
    """Values and indices of the rows of one side; none where it has no cotangent."""
    if isinstance(c, IndexedSlices):
        return c.values, cast(c.indices, types[1].dtype)
    values, indices = (zeros(TensorType(t.dtype, (0, *(t.shape or ())[1:]))) for t in types)
    return values, indices


def _push_branch(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    given = {i - 1: t for i, t in enumerate(tangents) if i and t is not None}
    order = sorted({i for side, _ in _sides(site) for i in transform.dependent_results(site, side)})
    region = transform.region(site)
    sides = []
    for side, called in _sides(site):
        with region.body(side, f"{_label(site)}_tangent_{called}") as body:
            sides.append((body, body.push(given, order)))
    kept = [k for k in range(len(order)) if any(found[k] is not None for _, found in sides)]
    bodies = []
    for body, found in sides:
        with body:
            results = []
            for k in kept:
                tensor = found[k]
                results.append(zeros_like(body.result(order[k])) if tensor is None else tensor)
            bodies.append((body, results))
    made = region.branch(site.inputs[0], bodies)
    out: list[Tensor | None] = [None] * len(site.node.outputs)
    for k, tensor in zip(kept, made, strict=True):
        out[order[k]] = tensor
    return out


# -- calls -----------------------------------------------------------------------------------


def _pull_declared(site: Site, cotangents: Cotangents, gradient: Function) -> Cotangents:
    """A call of the function that is declared to be the gradient: of arguments and cotangents."""
    given = [
        zeros_like(site.outputs[i]) if c is None else dense(c) for i, c in enumerate(cotangents)
    ]
    count = len(site.node.inputs)
    if (len(gradient.params), len(gradient.results)) != (count + len(given), count):
        raise RuleError(
            f"{gradient.name!r} takes {len(gradient.params)} tensors and gives "
            f"{len(gradient.results)}: a gradient here takes {count + len(given)} and gives "
            f"{count}",
            node=site.node.signature(),
        )
    attrs = {
        "f": FuncRef(gradient.name),
        "Tout": tuple(t.dtype.base for t in gradient.result_types),
        "_output_shapes": tuple(t.shape for t in gradient.result_types),
    }
    found = node.of(call_op(gradient).name, ([*site.inputs, *given],), attrs).outputs
    return [t if want else None for t, want in zip(found, site.wanted, strict=True)]


def _pull_call(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    gradient = transform.gradient_function(site)
    if gradient is not None:
        return _pull_declared(site, cotangents, gradient)
    results = transform.dependent_results(site, "f")
    given = {i: dense(c) for i, c in enumerate(cotangents) if c is not None and i in results}
    order = sorted(transform.reaching(site, "f", set(given)) & transform.dependent(site, "f"))
    region = transform.region(site)
    with region.body("f", f"{_label(site)}_grad") as body:
        found = body.pull(given, order)
        kept = [(i, leaving(c)) for i, c in zip(order, found, strict=True) if c is not None]
    made = iter(region.call(body, [t for _, tensors in kept for t in tensors]))
    out: list[Cotangent] = [None] * len(site.node.inputs)
    for i, tensors in kept:
        out[i] = arrived([next(made) for _ in tensors], site.inputs[i])
    return out


def _push_call(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    gradient = transform.gradient_function(site)
    if gradient is not None:
        return transform.pushed_by_reverse(
            site, lambda gs: _pull_declared(site, gs, gradient), tangents
        )
    given = {i: t for i, t in enumerate(tangents) if t is not None}
    order = sorted(transform.dependent_results(site, "f"))
    region = transform.region(site)
    with region.body("f", f"{_label(site)}_tangent") as body:
        found = body.push(given, order)
    kept = [(i, t) for i, t in zip(order, found, strict=True) if t is not None]
    made = region.call(body, [t for _, t in kept])
    out: list[Tensor | None] = [None] * len(site.node.outputs)
    for (i, _), tensor in zip(kept, made, strict=True):
        out[i] = tensor
    return out


_LOOP = Both(_pull_loop, _push_loop)
_BRANCH = Both(_pull_branch, _push_branch)
_CALL = Both(_pull_call, _push_call)

TABLE: Mapping[str, Rule] = {
    "While": _LOOP,
    "StatelessWhile": _LOOP,
    "If": _BRANCH,
    "StatelessIf": _BRANCH,
    "Case": _BRANCH,
    "StatelessCase": _BRANCH,
    "PartitionedCall": _CALL,
    "StatefulPartitionedCall": _CALL,
    # a derivation sees both as calls
    "For": _CALL,
    "SymbolicGradient": _CALL,
    "FakeParam": NotDifferentiable("nobody looks at its value"),
}
