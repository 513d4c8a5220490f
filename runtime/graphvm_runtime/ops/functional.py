"""Control flow and calls whose bodies are functions. The machine runs them: no kernels."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    PURE,
    STATEFUL,
    Region,
    ShapeContext,
    Trait,
    define,
)
from graphvm_runtime.ops.shape_functions import from_attr, refused
from graphvm_runtime.shapes import Shape, TensorType, shape_text

CASES = frozenset({"Case", "StatelessCase"})
BRANCHES = frozenset({"If", "StatelessIf"}) | CASES
LOOPS = frozenset({"While", "StatelessWhile"})
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
REGIONS = BRANCHES | LOOPS | CALLS


def _listed(ctx: ShapeContext, name: str, count: int) -> Sequence[Shape] | None:
    shapes: Sequence[Shape] | None = ctx.attrs.get(name)
    if not shapes:
        return None
    if len(shapes) != count:
        if name.startswith("_"):  # a hint, which counts only where it fits
            return None
        raise refused(f"{name} has {len(shapes)} shapes for {count} outputs")
    return shapes


def _if(ctx: ShapeContext) -> Sequence[Shape]:
    count = len(ctx.attrs["Tout"])
    return _listed(ctx, "output_shapes", count) or (None,) * count


def _case(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.shapes[0]:
        raise refused(f"the index is a scalar, got shape {shape_text(ctx.shapes[0])}")
    return _if(ctx)


def _while(ctx: ShapeContext) -> Sequence[Shape]:
    return _listed(ctx, "output_shapes", len(ctx.attrs["T"])) or ctx.shapes


def _call(ctx: ShapeContext) -> Sequence[Shape]:
    count = len(ctx.attrs["Tout"])
    return _listed(ctx, "_output_shapes", count) or (None,) * count


def _for(ctx: ShapeContext) -> Sequence[Shape]:
    for shape in ctx.shapes[:3]:
        if shape:
            raise refused(f"a bound is a scalar, got shape {shape_text(shape)}")
    return (None,) * len(ctx.attrs["T"])


def _symbolic_gradient(ctx: ShapeContext) -> Sequence[Shape]:
    count = len(ctx.attrs["Tout"])
    if count > len(ctx.shapes):
        raise refused(f"{len(ctx.shapes)} inputs for {count} outputs")
    return ctx.shapes[:count]  # a derivative has the shape of what it is by


def _loop_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(index)


for _prefix, _effects in (("", STATEFUL), ("Stateless", PURE)):
    define(
        f"{_prefix}If",
        shape=_if,
        effects=_effects,
        region=Region(("then_branch", "else_branch"), first=1),
    )
    define(f"{_prefix}Case", shape=_case, effects=_effects, region=Region(("branches",), first=1))
    define(
        f"{_prefix}While",
        shape=_while,
        handle=_loop_handle,
        effects=_effects,
        region=Region(("cond", "body"), types="T"),
    )
for _name, _effects in (("PartitionedCall", PURE), ("StatefulPartitionedCall", STATEFUL)):
    define(_name, shape=_call, effects=_effects, region=Region(("f",)))
define("For", shape=_for, effects=STATEFUL)
define(
    "SymbolicGradient",
    shape=_symbolic_gradient,
    doc="derivatives of a function by its arguments, from those of its results",
)
define("FakeParam", shape=from_attr("shape"), traits=Trait.REMATERIALISABLE | Trait.PLACELESS)
