"""Shape functions and value functions that many ops share.

Their errors say the rule that is broken; where a graph does not know a shape, they are asked again
when the node runs, with real ones, so kernels need not repeat them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, ShapeFn, Value, ValueFn
from graphvm_runtime.shapes import (
    MAX_RANK,
    Dim,
    Shape,
    broadcast,
    is_compatible,
    merged,
    normalized_axis,
    shape_text,
)

_SCALARS: tuple[Shape, ...] = ((),)
_UNKNOWN: tuple[Shape, ...] = (None,)
_LIMITS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def refused(what: str, do: str = "") -> ShapeError:
    """The error of a shape function: `what` says which rule is broken, and by what."""
    return ShapeError(what, do=do)


# ------------------------------------------------------------------------------ shape functions


def nothing(ctx: ShapeContext) -> Sequence[Shape]:
    """No outputs."""
    return ()


def scalar(ctx: ShapeContext) -> Sequence[Shape]:
    """One scalar."""
    return _SCALARS


def unknown(ctx: ShapeContext) -> Sequence[Shape]:
    """One output of unknown rank."""
    return _UNKNOWN


def unchanged(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape of the first input."""
    return (ctx.shapes[0],)


def pointwise(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape of two inputs that broadcast."""
    a, b = ctx.shapes
    if a == b and a is not None and None not in a:
        return (a,)
    try:
        return (broadcast(a, b),)
    except ShapeError as error:
        raise refused(error.what, error.do) from None


def agreeing(ctx: ShapeContext) -> Sequence[Shape]:
    """The one shape that all inputs have."""
    return (agreed(ctx.shapes),)


def from_attr(name: str) -> ShapeFn:
    """The shape that an attribute gives."""
    return lambda ctx: (ctx.attrs[name],)


def from_value(index: int) -> ShapeFn:
    """The shape that a vector input gives."""

    def shape(ctx: ShapeContext) -> Sequence[Shape]:
        return (dims_of(ctx, index),)

    return shape


def reduction(ctx: ShapeContext) -> Sequence[Shape]:
    """The input's shape without the axes that the second input lists."""
    shape = ctx.shapes[0]
    if ctx.shapes[1] is not None and len(ctx.shapes[1]) > 1:
        raise refused(f"axes are a scalar or a vector, not {shape_text(ctx.shapes[1])}")
    if shape is None:
        return _UNKNOWN
    keep = ctx.attrs["keep_dims"]
    axes = ctx.integers(1)
    if axes is None:
        return ((None,) * len(shape),) if keep else _UNKNOWN
    reduced = {normalized(axis, len(shape)) for axis in axes}
    if len(reduced) != len(axes):
        raise refused(f"axes must be different, got {list(axes)}")
    if keep:
        return (tuple(1 if i in reduced else d for i, d in enumerate(shape)),)
    return (tuple(d for i, d in enumerate(shape) if i not in reduced),)


def unsorted_segments(ctx: ShapeContext) -> Sequence[Shape]:
    """The data's shape with the number of segments in place of its first axes, those of the ids."""
    data, ids = ctx.shapes[:2]
    count = ctx.scalar(2)
    if count is not None and count < 0:
        raise refused(f"num_segments is not negative, got {count}")
    if data is None or ids is None:
        return (None,)
    if len(ids) > len(data) or not is_compatible(data[: len(ids)], ids):
        raise refused(f"the ids {shape_text(ids)} are no first axes of the data {shape_text(data)}")
    return ((count, *data[len(ids) :]),)


# ---------------------------------------------------------------------------------------- parts


def normalized(axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front."""
    try:
        return normalized_axis(axis, rank, what)
    except ShapeError as error:
        raise refused(error.what) from None


def agreed(shapes: Sequence[Shape]) -> Shape:
    """What all these shapes, which must agree, say of one."""
    out: Shape = None
    try:
        for shape in shapes:
            out = merged(out, shape)
    except ShapeError as error:
        raise refused(error.what) from None
    return out


def unknown_of_rank(rank: int) -> tuple[Dim, ...]:
    """A shape of that rank with unknown dimensions."""
    if rank > MAX_RANK:
        raise refused(f"a tensor must have at most {MAX_RANK} axes, got {rank}")
    return (None,) * rank


def with_rank(ctx: ShapeContext, index: int, rank: int) -> tuple[Dim, ...]:
    """Shape of an input of that very rank."""
    shape = ctx.shapes[index]
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise refused(f"{input_name(ctx, index)} has rank {rank}, got {shape_text(shape)}")
    return shape


def ranked(shape: ShapeFn, **ranks: int) -> ShapeFn:
    """The shape function, after a check that the named inputs have these ranks."""

    def call(ctx: ShapeContext) -> Sequence[Shape]:
        for index, arg in enumerate(ctx.op.inputs):
            if arg.is_list:  # inputs after a list are not where they are declared
                break
            if arg.name in ranks:
                with_rank(ctx, index, ranks[arg.name])
        return shape(ctx)

    return call


def with_one_value(ctx: ShapeContext, index: int) -> None:
    """Checks that an input has one element, whatever its rank."""
    shape = ctx.shapes[index]
    if shape is not None and any(d not in (None, 1) for d in shape):
        raise refused(f"{input_name(ctx, index)} must have one element, got {shape_text(shape)}")


def with_rank_at_least(ctx: ShapeContext, index: int, rank: int) -> Shape:
    """Shape of an input of that rank or more."""
    shape = ctx.shapes[index]
    if shape is not None and len(shape) < rank:
        raise refused(f"{input_name(ctx, index)} has rank {rank} or more, got {shape_text(shape)}")
    return shape


def input_name(ctx: ShapeContext, index: int) -> str:
    """Declared name of a flat input."""
    at = 0
    for arg in ctx.op.inputs:
        count = len(arg.dtypes(ctx.attrs)) if arg.is_list else 1
        if index < at + count:
            return arg.name + (f"[{index - at}]" if arg.is_list else "")
        at += count
    return f"input {index}"


def dims_of(ctx: ShapeContext, index: int) -> Shape:
    """The shape that a vector input of sizes gives; none may be negative."""
    shape = ctx.shapes[index]
    if shape is not None and len(shape) != 1:
        raise refused(f"{input_name(ctx, index)} is a vector, got {shape_text(shape)}")
    dims = ctx.vector(index)
    if dims is not None:
        for d in dims:
            if d is not None and d < 0:
                raise refused(f"a dimension is negative in {shape_text(dims)}")
    return dims


# ------------------------------------------------------------------------------ value functions


def computed(function: Callable[..., int]) -> ValueFn:
    """Value of an element-wise integer op, scalars broadcasting to vectors."""

    def value(ctx: ShapeContext) -> Value | None:
        if any(s is None or len(s) > 1 for s in ctx.shapes):
            return None
        given = [ctx.resolver.value(i) for i in range(len(ctx.shapes))]
        vectors = [v for v in given if isinstance(v, tuple)]
        if not vectors:
            return _one(ctx, function, given)  # type: ignore[arg-type]  # no vectors among them
        for v, shape in zip(given, ctx.shapes, strict=True):
            if v is None and shape != ():
                return None
        size = max(map(len, vectors))
        if 0 in map(len, vectors):
            return ()
        columns = [v if isinstance(v, tuple) else (v,) for v in given]
        wide = [c * size if len(c) == 1 else c for c in columns]
        return tuple(_one(ctx, function, row) for row in zip(*wide, strict=True))

    return value


def _one(ctx: ShapeContext, function: Callable[..., int], row: Sequence[int | None]) -> int | None:
    if None in row:
        return None
    try:
        result = function(*row)
    except ZeroDivisionError:
        return None
    return fitting(result, ctx.dtypes[0] if ctx.dtypes else None)


def fitting(value: int, dtype: DType | None) -> int | None:
    """A value where its type holds it; None where it would wrap round."""
    least, most = _LIMITS.get("int32" if dtype is None else dtype.name, (0, 127))
    return value if least <= value <= most else None


def passed(ctx: ShapeContext) -> Value | None:
    """Value of an op that hands its first input on."""
    return ctx.resolver.value(0)


def forwarded_value(ctx: ShapeContext) -> Value | None:
    """Value of an op that lays out its first input anew, as a scalar or a vector."""
    value = ctx.resolver.value(0)
    if value is None and ctx.shapes[0] != ():
        return None
    shape = ctx.op.shape(ctx)[0]
    if shape == ():
        return value[0] if isinstance(value, tuple) and len(value) == 1 else value
    if shape is not None and len(shape) == 1:
        return value if isinstance(value, tuple) else (value,)
    return None


def product(values: Sequence[Dim]) -> Dim:
    """Product of dimensions; zero wins over unknown."""
    if 0 in values:
        return 0
    if None in values:
        return None
    return math.prod(values)  # type: ignore[arg-type]  # no None among them, checked above
