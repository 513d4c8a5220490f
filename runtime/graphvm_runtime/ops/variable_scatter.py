"""Updates of parts of variables: rows, parts that indices name, slices; and reading rows."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import resource
from graphvm_runtime.ops.array import strided_slice
from graphvm_runtime.ops.registry import STATEFUL, ShapeContext, define
from graphvm_runtime.ops.scatter import scattered
from graphvm_runtime.ops.shape_functions import agreed
from graphvm_runtime.shapes import Shape


def _held(ctx: ShapeContext) -> Shape:
    if ctx.op.inputs[0].dtype is not resource:
        return ctx.shapes[0]
    held = ctx.handle(0)
    return None if held is None else held.shape


def _given(ctx: ShapeContext, held: Shape) -> Sequence[Shape]:
    return (held,) if ctx.op.outputs else ()


def _rows(ctx: ShapeContext) -> Sequence[Shape]:
    held, indices, updates = _held(ctx), ctx.shapes[1], ctx.shapes[2]
    if held is not None and indices is not None and updates is not None and updates != ():
        agreed(((*indices, *held[1:]), updates))
    return _given(ctx, held)


def _parts(ctx: ShapeContext) -> Sequence[Shape]:
    held = _held(ctx)
    return _given(ctx, scattered(ctx, held, 1, 2))


def _slice(ctx: ShapeContext) -> Sequence[Shape]:
    held = _held(ctx)
    shapes = [held, *ctx.shapes[1:]]
    strided_slice(ShapeContext(ctx.op, shapes, ctx.attrs, ctx.resolver, ctx.dtypes))
    return _given(ctx, held)


def _gathered(ctx: ShapeContext) -> Sequence[Shape]:
    held, indices, batch = _held(ctx), ctx.shapes[1], ctx.attrs["batch_dims"]
    if held is None or indices is None or batch:
        return (None,)
    return ((*indices, *held[1:]),)


def _gathered_parts(ctx: ShapeContext) -> Sequence[Shape]:
    held, indices = _held(ctx), ctx.shapes[1]
    if held is None or indices is None or not indices or indices[-1] is None:
        return (None,)
    return ((*indices[:-1], *held[indices[-1] :]),)


for _name in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update"):
    define(f"Scatter{_name}", f"ResourceScatter{_name}", shape=_rows, effects=STATEFUL)
for _name in ("Add", "Sub", "Update"):
    define(f"ScatterNd{_name}", f"ResourceScatterNd{_name}", shape=_parts, effects=STATEFUL)
define("StridedSliceAssign", "ResourceStridedSliceAssign", shape=_slice, effects=STATEFUL)
define("ResourceGather", shape=_gathered)
define("ResourceGatherNd", shape=_gathered_parts)
