"""Derivatives of loops, branches and calls: of their bodies, put together again.

Backwards, a loop runs its iterations in reverse order and carries a cotangent for each variable
that matters; it reads what it needs of each iteration (`graphvm_runtime.ir.derivatives.saved`). A
branch takes the same side again, a call is a call of the derivative.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
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
from graphvm.rules.nodes import node, zeros, zeros_like
from graphvm.rules.registry import (
    Body,
    Both,
    NotDifferentiable,
    Rule,
    Site,
    Tangents,
    Transform,
)
from graphvm.rules.rows import ListedRows, are_few, common, parts_of
from graphvm_runtime.dtypes import resource
from graphvm_runtime.errors import RuleError
from graphvm_runtime.ir.bodies import body_keys
from graphvm_runtime.ir.calls import call_op
from graphvm_runtime.ir.derivatives.saved import ORDER, RECOMPUTE
from graphvm_runtime.ir.graph import Function
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.shapes import is_known


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
    # what every iteration hands on, each adds to: whole, or a few rows
    with region.body("body", f"{_label(site)}_grad_body") as body:

        def state(i: int) -> Tensor:
            return body.add_arg(body.param_type(i), f"grad_{i}", body.param_handle(i))

        states = {i: state(i) for i in order if not body.is_loop_invariant(i)}
        found = dict(zip(order, body.pull(states, order), strict=True))
        results = {i: _whole(body, i, found[i]) for i in states}
        few: dict[int, IndexedSlices] = {}
        for i in order:
            c = found[i]
            if i in states:
                continue
            # a list grows with the loop: not where memory was asked to be saved
            if has_rows(c) and are_few(c, body.param_type(i)) and RECOMPUTE not in site.node.attrs:
                few[i] = c
            else:
                states[i] = state(i)
                results[i] = dense(aggregated([states[i], c]))
        rows = {i: ListedRows(body, c, f"grad_{i}") for i, c in few.items()}
        listed = [t for each in rows.values() for t in each.results]
    start = [_or_zeros(site, i, cotangents[i]) for i in results]
    start.extend(t for each in rows.values() for t in each.start())
    backwards = -site.node.attrs.get(ORDER, 1)
    made = iter(region.loop(body, [*results.values(), *listed], start, trips, backwards))
    out: list[Cotangent] = [None] * count
    for i in results:
        out[i] = next(made)
    for i, each in rows.items():
        out[i] = aggregated([cotangents[i], each.joined(made, site.inputs[i])])
    return out


def _whole(body: Body, index: int, cotangent: Cotangent) -> Tensor:
    return zero_cotangent(body.param(index)) if cotangent is None else dense(cotangent)


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
    rows = {k: types for k in kept if (types := common([found[k] for _, found in sides]))}
    bodies = []
    for body, found in sides:
        with body:
            results_kept: list[Tensor] = []
            for k in kept:
                c = found[k]
                if k in rows:
                    results_kept.extend(parts_of(c, rows[k]))
                else:
                    results_kept.append(_whole(body, order[k], c))
            bodies.append((body, results_kept))
    made = iter(region.branch(site.inputs[0], bodies))
    out: list[Cotangent] = [None] * len(site.node.inputs)
    for k in kept:
        at = order[k] + 1
        parts = [next(made) for _ in range(2 if k in rows else 1)]
        out[at] = arrived(parts, site.inputs[at])
    return out


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
