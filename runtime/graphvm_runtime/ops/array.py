"""Ops that make, reshape, join and cut arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphvm_runtime.dtypes import (
    INDICES,
    int32,
)
from graphvm_runtime.ops.registry import (
    ShapeContext,
    Trait,
    Value,
    ValueFn,
    as_value,
    define,
)
from graphvm_runtime.ops.shape_functions import (
    agreed,
    dims_of,
    forwarded_value,
    from_attr,
    from_value,
    normalized,
    passed,
    product,
    ranked,
    refused,
    scalar,
    unchanged,
    unknown_of_rank,
    with_one_value,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.ops.signature import types
from graphvm_runtime.ops.slicing import Entry, entries, sliced
from graphvm_runtime.shapes import (
    Dim,
    Shape,
    TensorType,
    is_compatible,
    shape_text,
    size_of,
)

INDEX = types(*INDICES, default=int32)


# ------------------------------------------------------------------------------------- sources


def _const_shape(ctx: ShapeContext) -> Sequence[Shape]:
    return (ctx.attrs["value"].shape,)


def _placeholder_with_default(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.attrs["shape"]
    if not is_compatible(ctx.shapes[0], shape):
        raise refused(f"the default has shape {shape_text(ctx.shapes[0])}, not {shape_text(shape)}")
    return (shape,)


define(
    "Const",
    shape=_const_shape,
    value=lambda ctx: as_value(ctx.attrs["value"]),
    traits=Trait.REMATERIALISABLE | Trait.PLACELESS,
)
define("Placeholder", "PlaceholderV2", shape=from_attr("shape"), traits=Trait.OUTSIDE)
define("PlaceholderWithDefault", shape=_placeholder_with_default, traits=Trait.OUTSIDE)


def _same_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(index)


define("Identity", shape=unchanged, value=passed, handle=_same_handle, forwards=True)
define("IdentityN", shape=lambda ctx: ctx.shapes, value=passed, handle=_same_handle, forwards=True)
define("StopGradient", "PreventGradient", shape=unchanged, value=passed, forwards=True)


# ----------------------------------------------------------------------------- asking for shapes


def _vector_of_rank(shape: Shape) -> Shape:
    return (None,) if shape is None else (len(shape),)


def _size_value(ctx: ShapeContext) -> Value | None:
    shape = ctx.shapes[0]
    return None if shape is None else product(shape)


define(
    "Shape",
    shape=lambda ctx: (_vector_of_rank(ctx.shapes[0]),),
    value=lambda ctx: ctx.shapes[0],
    traits=Trait.TYPE_ONLY,
)
define(
    "ShapeN",
    shape=lambda ctx: [_vector_of_rank(s) for s in ctx.shapes],
    value=lambda ctx: ctx.shapes[0],
    traits=Trait.TYPE_ONLY,
)
define("Size", shape=scalar, value=_size_value, traits=Trait.TYPE_ONLY)
define(
    "Rank",
    shape=scalar,
    value=lambda ctx: None if ctx.shapes[0] is None else len(ctx.shapes[0]),
    traits=Trait.TYPE_ONLY,
)


# ------------------------------------------------------------------------------------ reshaping


def _reshape(ctx: ShapeContext) -> Sequence[Shape]:
    given = ctx.shapes[0]
    if ctx.shapes[1] is not None and len(ctx.shapes[1]) != 1:
        raise refused(f"the new shape is a vector, got {shape_text(ctx.shapes[1])}")
    dims = ctx.vector(1)
    if dims is None:
        return (None,)
    if dims.count(-1) > 1:
        raise refused(f"only one dimension may be -1 in {shape_text(dims)}")
    if any(d is not None and d < -1 for d in dims):
        raise refused(f"a dimension is negative in {shape_text(dims)}")
    open_ = [i for i, d in enumerate(dims) if d is None or d == -1]
    size = size_of(given)
    if len(open_) > 1:
        return (tuple(None if d == -1 else d for d in dims),)
    fixed = [d for d in dims if d is not None and d != -1]
    if not open_:
        if size is not None and size != product(fixed):
            raise refused(
                f"{shape_text(given)} has {size} elements, {shape_text(dims)} has {product(fixed)}",
            )
        return (dims,)
    found: Dim = None
    if given is not None and size is not None and (dims[open_[0]] == -1 or product(fixed)):
        found = open_dimension([d for d in given if d is not None], fixed)
        if found is None:
            raise refused(
                f"the {size} elements of {shape_text(given)} cannot be laid out as "
                f"{shape_text(dims)}",
            )
    return (tuple(found if i == open_[0] else d for i, d in enumerate(dims)),)


def open_dimension(shape: Sequence[int], fixed: Sequence[int]) -> int | None:
    """What -1 stands for beside the dimensions that are fixed, None where nothing fits.

    Where there are no elements to share out, the other dimensions are, as TensorFlow does it.
    """
    if 0 in fixed:
        if 0 not in shape:
            return None
        shape, fixed = [d for d in shape if d], [d for d in fixed if d]
    have, want = math.prod(shape), math.prod(fixed)
    return None if have % want else have // want


def _fill_value(ctx: ShapeContext) -> Value | None:
    dims = ctx.integers(0)
    if dims is None or (ctx.shapes[0] != (1,) and ctx.shapes[0] != (0,)):
        return None
    value = ctx.scalar(1)
    if not dims:
        return value
    return (value,) * dims[0] if 0 <= dims[0] <= 1024 else None


def _like_value(fill: int) -> ValueFn:
    def value(ctx: ShapeContext) -> Value | None:
        shape = ctx.shapes[0]
        if shape == ():
            return fill
        if shape is None or len(shape) != 1 or shape[0] is None or shape[0] > 1024:
            return None
        return (fill,) * shape[0]

    return value


def _expand_dims(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    with_one_value(ctx, 1)
    axis = ctx.scalar(1)
    if shape is None:
        return (None,)
    if axis is None:
        return ((None,) * (len(shape) + 1),)
    at = normalized(axis, len(shape) + 1)
    return ((*shape[:at], 1, *shape[at:]),)


def _squeeze(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    axes = ctx.attrs["squeeze_dims"]
    if shape is None:
        return (None,)
    if not axes:
        return (None if None in shape else tuple(d for d in shape if d != 1),)
    dropped = {normalized(axis, len(shape)) for axis in axes}
    for axis in dropped:
        if shape[axis] not in (1, None):
            raise refused(f"axis {axis} of {shape_text(shape)} has length {shape[axis]}, not 1")
    return (tuple(d for i, d in enumerate(shape) if i not in dropped),)


def _transpose(ctx: ShapeContext) -> Sequence[Shape]:
    shape, perm = ctx.shapes[0], ctx.integers(1)
    axes = with_rank(ctx, 1, 1)
    rank = len(shape) if shape is not None else axes[0]
    if shape is not None and axes[0] not in (None, len(shape)):
        raise refused(f"the permutation has {axes[0]} entries for the rank {len(shape)}")
    if rank is None:
        return (None,)
    if perm is None:
        return (unknown_of_rank(rank),)
    axes_seen = [normalized(axis, rank) for axis in perm]
    if len(set(axes_seen)) != rank:
        raise refused(f"{list(perm)} is no permutation of {rank} axes")
    return (tuple(None if shape is None else shape[a] for a in axes_seen),)


define("Reshape", shape=_reshape, value=forwarded_value, traits=Trait.SAME_TYPE_IDENTITY)
define("Fill", shape=ranked(from_value(0), value=0), value=_fill_value)
define("ZerosLike", shape=unchanged, value=_like_value(0))
define("OnesLike", shape=unchanged, value=_like_value(1))
define("ExpandDims", shape=_expand_dims, value=forwarded_value, traits=Trait.SAME_TYPE_IDENTITY)
define("Squeeze", shape=_squeeze, value=forwarded_value, traits=Trait.SAME_TYPE_IDENTITY)
define("Transpose", shape=_transpose)


# ---------------------------------------------------------------------------- joining and cutting


def _concat(ctx: ShapeContext) -> Sequence[Shape]:
    with_one_value(ctx, len(ctx.shapes) - 1)
    return _joined(ctx.shapes[:-1], ctx.scalar(len(ctx.shapes) - 1))


def _concat_first(ctx: ShapeContext) -> Sequence[Shape]:
    """The older form, whose axis comes first."""
    with_rank(ctx, 0, 0)
    return _joined(ctx.shapes[1:], ctx.scalar(0))


def _joined(parts: Sequence[Shape], axis: int | None) -> Sequence[Shape]:
    ranks = {len(s) for s in parts if s is not None}
    if len(ranks) > 1:
        raise refused(f"ranks differ: {', '.join(map(shape_text, parts))}")
    if not ranks:
        return (None,)
    rank = ranks.pop()
    if rank == 0:
        raise refused("scalars cannot be joined", "use stack")
    if axis is None:
        return ((None,) * rank,)
    at = normalized(axis, rank)
    known = [s if s is not None else (None,) * rank for s in parts]
    rest = agreed([(*s[:at], *s[at + 1 :]) for s in known]) or ()
    along = [s[at] for s in known]
    total = None if None in along else sum(d for d in along if d is not None)
    return ((*rest[:at], total, *rest[at:]),)


def _concat_value(ctx: ShapeContext) -> Value | None:
    if ctx.scalar(len(ctx.shapes) - 1) not in (0, -1):
        return None
    out: tuple[Dim, ...] = ()
    for i in range(len(ctx.shapes) - 1):
        part = ctx.vector(i)
        if part is None:
            return None
        out += part
    return out


def _pack(ctx: ShapeContext) -> Sequence[Shape]:
    shape = agreed(ctx.shapes)
    if shape is None:
        return (None,)
    at = normalized(ctx.attrs["axis"], len(shape) + 1)
    return ((*shape[:at], len(ctx.shapes), *shape[at:]),)


def _pack_value(ctx: ShapeContext) -> Value | None:
    out: list[Dim] = []
    for i, shape in enumerate(ctx.shapes):
        value = ctx.resolver.value(i)
        if shape != () or isinstance(value, tuple):
            return None
        out.append(value)
    return tuple(out)


def _unpack(ctx: ShapeContext) -> Sequence[Shape]:
    shape, num = ctx.shapes[0], int(ctx.attrs["num"])
    if shape is None:
        return (None,) * num
    at = normalized(ctx.attrs["axis"], len(shape))
    if shape[at] not in (None, num):
        raise refused(f"axis {at} of {shape_text(shape)} does not have length num = {num}")
    return ((*shape[:at], *shape[at + 1 :]),) * num


def strided_slice(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape of a slice of the first input by the next three."""
    count: Dim = None
    for i in (1, 2, 3):
        (length,) = with_rank(ctx, i, 1)
        count = length if length is not None else count
    shape = ctx.shapes[0]
    if count is None:
        return (None,)
    open_ = unknown_of_rank(count)
    if shape is None:
        entries(ctx.attrs, count)
        return (None,)
    vectors = (ctx.vector(i) for i in (1, 2, 3))
    begin, end, strides = (open_ if v is None else v for v in vectors)
    if not len(begin) == len(end) == len(strides):
        raise refused("begin, end and strides must not differ in length")
    return (sliced(ctx.attrs, shape, begin, end, strides),)


def _strided_slice_value(ctx: ShapeContext) -> Value | None:
    value = ctx.resolver.value(0)
    begin, end, strides = ctx.integers(1), ctx.vector(2), ctx.integers(3)
    if not isinstance(value, tuple) or not begin or not end or not strides or len(begin) != 1:
        return None
    (kind,) = entries(ctx.attrs, 1)
    if kind is Entry.INDEX:
        return value[begin[0]] if -len(value) <= begin[0] < len(value) else None
    if kind is Entry.RANGE and strides[0]:
        if end[0] is None and not ctx.attrs["end_mask"]:
            return None
        return value[
            None if ctx.attrs["begin_mask"] else begin[0]
            : None if ctx.attrs["end_mask"] else end[0]
            : strides[0]
        ]  # fmt: skip
    return value if kind is Entry.ELLIPSIS else None


def _slice(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    begin, size = ctx.vector(1), ctx.vector(2)
    for i in (1, 2):
        with_rank(ctx, i, 1)
    known = [len(x) for x in (shape, begin, size) if x is not None]
    if not known:
        return (None,)
    rank = known[0]
    if any(k != rank for k in known):
        raise refused("begin and size have one entry for each axis")
    out: list[Dim] = []
    for i in range(rank):
        dim = shape[i] if shape is not None else None
        first = begin[i] if begin is not None else None
        length = size[i] if size is not None else None
        if first is not None and (first < 0 or (dim is not None and first > dim)):
            raise refused(f"begin[{i}] = {first} is outside axis {i} of size {dim}")
        if length == -1:
            out.append(dim - first if dim is not None and first is not None else None)
            continue
        if length is not None and (
            length < -1 or (dim is not None and first is not None and first + length > dim)
        ):
            raise refused(f"size[{i}] = {length} from {first} exceeds axis {i} of size {dim}")
        out.append(length)
    return (tuple(out),)


def _slice_value(ctx: ShapeContext) -> Value | None:
    value, begin, size = ctx.resolver.value(0), ctx.integers(1), ctx.integers(2)
    if not isinstance(value, tuple) or begin is None or size is None or len(begin) != 1:
        return None
    return value[begin[0] :] if size[0] == -1 else value[begin[0] : begin[0] + size[0]]


def _pad(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    rows, columns = with_rank(ctx, 1, 2)
    if columns not in (None, 2) or (shape is not None and rows not in (None, len(shape))):
        raise refused(f"paddings are [rank, 2], got {shape_text(ctx.shapes[1])}")
    rank = len(shape) if shape is not None else rows
    if rank is None:
        return (None,)
    paddings = ctx.constant(1)
    if shape is None or paddings is None:
        return (unknown_of_rank(rank),)
    if (paddings < 0).any():
        raise refused(f"paddings are not negative, got {paddings.tolist()}")
    wider = paddings.sum(1).tolist()
    return (tuple(None if d is None else d + w for d, w in zip(shape, wider, strict=True)),)


def _gather(ctx: ShapeContext) -> Sequence[Shape]:
    params, indices = ctx.shapes[:2]
    batch = ctx.attrs["batch_dims"]
    if indices is not None and not -len(indices) <= batch <= len(indices):
        raise refused(f"batch_dims {batch} is outside the rank of the indices")
    axis = ctx.scalar(2)
    if params is None or indices is None:
        return (None,)
    batch = batch + len(indices) if batch < 0 else batch
    if axis is None:
        return ((None,) * (len(params) - 1 + len(indices) - batch),)
    if not params:
        raise refused("params has rank 1 or more, got a scalar")
    at = normalized(axis, len(params))
    if batch > at:
        raise refused(f"batch_dims {batch} is greater than axis {at}")
    agreed([params[:batch], indices[:batch]])
    return ((*params[:at], *indices[batch:], *params[at + 1 :]),)


def _gather_value(ctx: ShapeContext) -> Value | None:
    value, indices = ctx.resolver.value(0), ctx.resolver.value(1)
    if not isinstance(value, tuple) or indices is None or ctx.attrs["batch_dims"]:
        return None
    if isinstance(indices, int):
        return value[indices] if 0 <= indices < len(value) else None
    return tuple(value[i] if i is not None and 0 <= i < len(value) else None for i in indices)


def _tile(ctx: ShapeContext) -> Sequence[Shape]:
    shape, times = ctx.shapes[0], dims_of(ctx, 1)
    if shape is None:
        return (None if times is None else (None,) * len(times),)
    if times is None:
        return ((None,) * len(shape),)
    if len(times) != len(shape):
        raise refused(f"{len(times)} multiples for the rank {len(shape)}")
    return (tuple(product((d, m)) for d, m in zip(shape, times, strict=True)),)


def _broadcast_to(ctx: ShapeContext) -> Sequence[Shape]:
    shape, to = ctx.shapes[0], dims_of(ctx, 1)
    if shape is None or to is None:
        return (to,)
    if len(shape) > len(to):
        raise refused(f"{shape_text(shape)} has more axes than {shape_text(to)}")
    for have, want in zip(reversed(shape), reversed(to), strict=False):
        if have not in (None, 1) and want not in (None, have):
            raise refused(f"{shape_text(shape)} does not broadcast to {shape_text(to)}")
    lead = len(to) - len(shape)
    grown = (h if w is None and h != 1 else w for h, w in zip(shape, to[lead:], strict=True))
    return ((*to[:lead], *grown),)


def _concat_offset(ctx: ShapeContext) -> Sequence[Shape]:
    return (agreed(ctx.shapes[1:]),) * (len(ctx.shapes) - 1)


def _strided_slice_grad(ctx: ShapeContext) -> Sequence[Shape]:
    dims = dims_of(ctx, 0)
    vectors = [ctx.integers(i) for i in (1, 2, 3)]
    lengths = [with_rank(ctx, i, 1)[0] for i in (1, 2, 3)]
    if len(set(lengths) - {None}) > 1:
        raise refused("begin, end and strides must not differ in length")
    begin, end, strides = vectors
    if dims is not None and begin is not None and end is not None and strides is not None:
        sliced(ctx.attrs, dims, begin, end, strides)
    return (dims,)


def _broadcast_args(ctx: ShapeContext) -> Sequence[Shape]:
    lengths = [with_rank(ctx, i, 1)[0] for i in (0, 1)]
    return ((None if None in lengths else max(d for d in lengths if d is not None),),)


def _gather_rows(ctx: ShapeContext) -> Sequence[Shape]:
    params, indices = with_rank_at_least(ctx, 0, 1), ctx.shapes[1]
    return (None if params is None or indices is None else (*indices, *params[1:]),)


def _reverse_flags(ctx: ShapeContext) -> Sequence[Shape]:
    (count,) = with_rank(ctx, 1, 1)
    if count is not None and count > 8:
        raise refused(f"dims must have at most 8 elements, got {count}")
    return (ctx.shapes[0] if count is None else agreed([ctx.shapes[0], (None,) * count]),)


def _vector(ctx: ShapeContext) -> Sequence[Shape]:
    return (with_rank(ctx, 0, 1),)


define("ConcatV2", shape=_concat, value=_concat_value)
define("Concat", shape=_concat_first)
define("BroadcastArgs", shape=_broadcast_args)
define("ConjugateTranspose", shape=_transpose)
define("Gather", shape=_gather_rows)
define("Reverse", shape=_reverse_flags)
define("ConcatOffset", shape=ranked(_concat_offset, concat_dim=0))
define("Pack", shape=_pack, value=_pack_value)
define("Unpack", shape=_unpack)
define("StridedSlice", shape=strided_slice, value=_strided_slice_value)
define("StridedSliceGrad", shape=_strided_slice_grad)
define("Slice", shape=_slice, value=_slice_value)
define("Pad", shape=_pad, traits=Trait.SAME_TYPE_IDENTITY)
define("GatherV2", shape=ranked(_gather, axis=0), value=_gather_value)
define("Tile", shape=_tile, traits=Trait.SAME_TYPE_IDENTITY)
define("BroadcastTo", shape=_broadcast_to, traits=Trait.SAME_TYPE_IDENTITY)
define("BroadcastGradientArgs", shape=ranked(lambda ctx: ((None,), (None,)), s0=1, s1=1))
define("InvertPermutation", shape=_vector)


# ------------------------------------------------------------------------------------ turning round


def _reverse(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    with_rank(ctx, 1, 1)
    axes = ctx.integers(1)
    if shape is not None and axes is not None:
        seen = [normalized(axis, len(shape)) for axis in axes]
        if len(set(seen)) != len(seen):
            raise refused(f"an axis is named twice in {list(axes)}")
    return (shape,)


def _reverse_value(ctx: ShapeContext) -> Value | None:
    value, axes = ctx.resolver.value(0), ctx.integers(1)
    if not isinstance(value, tuple) or axes is None:
        return None
    return value[::-1] if axes else value


define("ReverseV2", shape=_reverse, value=_reverse_value)


def _where(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    return ((None, None if shape is None else len(shape)),)


define("Where", shape=_where, doc="the indices of elements that are not zero, row by row")
