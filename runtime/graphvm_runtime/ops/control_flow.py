"""TensorFlow 1.x's dataflow primitives, and nodes that are there for their edges.

No kernels: the machine itself runs them (`vm.dataflow`), or `ir.raise_` turns them into `If` and
`While` first.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, Trait, Value, define
from graphvm_runtime.ops.shape_functions import nothing, passed, refused, unchanged
from graphvm_runtime.shapes import Shape, TensorType, shape_text, widened

# Ops that only the dataflow interpreter runs: a graph without them has a functional form.

SWITCHES = frozenset({"Switch", "RefSwitch"})
MERGES = frozenset({"Merge", "RefMerge"})
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
NEXTS = frozenset({"NextIteration", "RefNextIteration"})
# Ops that only the dataflow interpreter runs: a graph without them has a functional form.
PRIMITIVES = SWITCHES | MERGES | ENTERS | EXITS | NEXTS | {"LoopCond"}


def _same_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(0)


def _merged_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(0) if index == 0 else None


def _switch(ctx: ShapeContext) -> Sequence[Shape]:
    predicate = ctx.shapes[1]
    if predicate is not None and predicate != ():
        raise refused(f"the predicate is a scalar, got {shape_text(predicate)}")
    return (ctx.shapes[0], ctx.shapes[0])


def _merge(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    for other in ctx.shapes[1:]:
        shape = widened(shape, other)
    return (shape, ())


def _entered_value(ctx: ShapeContext) -> Value | None:
    return ctx.resolver.value(0) if ctx.attrs["is_constant"] else None


define("NoOp", shape=nothing, traits=Trait.PLACELESS)
define("ControlTrigger", shape=nothing)
define("LoopCond", shape=unchanged, forwards=True)
for _ref in ("", "ref "):
    _name = "Ref" if _ref else ""
    define(f"{_name}Switch", shape=_switch, value=passed, handle=_same_handle)
    define(f"{_name}Merge", shape=_merge, handle=_merged_handle)
    define(f"{_name}Enter", shape=unchanged, value=_entered_value, handle=_same_handle)
    for _op in ("Exit", "NextIteration"):
        define(_name + _op, shape=unchanged, handle=_same_handle)
