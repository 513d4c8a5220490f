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
    function_attr,
    integer,
    list_of,
    shape_attr,
    text,
    type_list,
    types,
)  # fmt: skip
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
        raise refused(f"{name} has {len(shapes)} shapes for {count} outputs", 1)
    return shapes


def _if(ctx: ShapeContext) -> Sequence[Shape]:
    count = len(ctx.attrs["Tout"])
    return _listed(ctx, "output_shapes", count) or (None,) * count


def _case(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.shapes[0]:
        raise refused(f"the index is a scalar, got shape {shape_text(ctx.shapes[0])}", 2)
    return _if(ctx)


def _while(ctx: ShapeContext) -> Sequence[Shape]:
    return _listed(ctx, "output_shapes", len(ctx.attrs["T"])) or ctx.shapes


def _call(ctx: ShapeContext) -> Sequence[Shape]:
    count = len(ctx.attrs["Tout"])
    return _listed(ctx, "_output_shapes", count) or (None,) * count


def _for(ctx: ShapeContext) -> Sequence[Shape]:
    for shape in ctx.shapes[:3]:
        if shape:
            raise refused(f"a bound is a scalar, got shape {shape_text(shape)}", 1)
    return (None,) * len(ctx.attrs["T"])


def _symbolic_gradient(ctx: ShapeContext) -> Sequence[Shape]:
    count = len(ctx.attrs["Tout"])
    if count > len(ctx.shapes):
        raise refused(f"{len(ctx.shapes)} inputs for {count} outputs", 1)
    return ctx.shapes[:count]  # a derivative has the shape of what it is by


def _loop_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(index)


_SHAPES = ["C1: output_shapes is empty or has a shape for each output"]
for _prefix, _effects in (("", STATEFUL), ("Stateless", PURE)):
    define(f"{_prefix}If", "cond: Tcond, input: *Tin -> output: *Tout",
           {"Tcond": types(), "Tin": type_list(), "Tout": type_list(),
            "then_branch": function_attr(), "else_branch": function_attr(),
            "output_shapes": list_of("shape", ())},
           shape=_if, effects=_effects, constraints=_SHAPES,
           region=Region(("then_branch", "else_branch"), first=1))  # fmt: skip
    define(f"{_prefix}Case", "branch_index: int32, input: *Tin -> output: *Tout",
           {"Tin": type_list(), "Tout": type_list(), "branches": list_of("func", minimum=1),
            "output_shapes": list_of("shape", ())},
           shape=_case, effects=_effects, region=Region(("branches",), first=1),
           constraints=[*_SHAPES, "C2: the index is a scalar"])  # fmt: skip
    define(f"{_prefix}While", "input: *T -> output: *T",
           {"T": type_list(), "cond": function_attr(), "body": function_attr(),
            "output_shapes": list_of("shape", ()), "parallel_iterations": integer(10)},
           shape=_while, handle=_loop_handle, effects=_effects, constraints=_SHAPES,
           region=Region(("cond", "body"), types="T"))  # fmt: skip
for _name, _effects in (("PartitionedCall", PURE), ("StatefulPartitionedCall", STATEFUL)):
    define(_name, "args: *Tin -> output: *Tout",
           {"Tin": type_list(), "Tout": type_list(), "f": function_attr(), "config": text(b""),
            "config_proto": text(b""), "executor_type": text(b"")},
           shape=_call, effects=_effects, constraints=_SHAPES, region=Region(("f",)))  # fmt: skip
define("For", "start: int32, limit: int32, delta: int32, input: *T -> output: *T",
       {"T": type_list(), "body": function_attr()}, shape=_for, effects=STATEFUL,
       constraints=["C1: start, limit and delta are scalars"])  # fmt: skip
define("SymbolicGradient", "input: *Tin -> output: *Tout",
       {"Tin": type_list(minimum=1), "Tout": type_list(minimum=1), "f": function_attr()},
       shape=_symbolic_gradient,
       constraints=["C1: an input for each output, and for each result of the function"],
       doc="derivatives of a function by its arguments, from those of its results")  # fmt: skip
define("FakeParam", "-> output: dtype", {"dtype": types(), "shape": shape_attr()},
       shape=from_attr("shape"), traits=Trait.REMATERIALISABLE | Trait.PLACELESS)  # fmt: skip
