"""Ops that make, reshape, join and cut arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphvm_runtime.dtypes import (
    COMPLEX,
    FLOATS,
    INDICES,
    INTEGERS,
    NUMBERS,
    QUANTIZED,
    bool_,
    int16,
    int32,
    string,
)  # fmt: skip
from graphvm_runtime.ops.registry import (
    ShapeContext,
    Trait,
    Value,
    ValueFn,
    as_value,
    define,
    integer,
    list_of,
    shape_attr,
    tensor_attr,
    type_list,
    types,
)  # fmt: skip
from graphvm_runtime.ops.shape_functions import (
    agreed,
    dims_of,
    forwarded_value,
    from_attr,
    from_value,
    normalized,
    passed,
    product,
    refused,
    scalar,
    unchanged,
    unknown_of_rank,
    with_rank,
)  # fmt: skip
from graphvm_runtime.ops.slicing import Entry, entries, sliced
from graphvm_runtime.shapes import (
    Dim,
    Shape,
    TensorType,
    is_compatible,
    shape_text,
    size_of,
)  # fmt: skip

T = types()
INDEX = types(*INDICES, default=int32)
ANY_INDEX = types(int16, *INDICES)


# ------------------------------------------------------------------------------------- sources


def _const_shape(ctx: ShapeContext) -> Sequence[Shape]:
    return (ctx.attrs["value"].shape,)


def _placeholder_with_default(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.attrs["shape"]
    if not is_compatible(ctx.shapes[0], shape):
        raise refused(
            f"the default has shape {shape_text(ctx.shapes[0])}, not {shape_text(shape)}", 1
        )
    return (shape,)


define("Const", "-> output: dtype", {"value": tensor_attr(), "dtype": T},
       shape=_const_shape, value=lambda ctx: as_value(ctx.attrs["value"]),
       traits=Trait.REMATERIALISABLE | Trait.PLACELESS)  # fmt: skip
define("Placeholder", "-> output: dtype", {"dtype": T, "shape": shape_attr(None)},
       shape=from_attr("shape"), traits=Trait.OUTSIDE)  # fmt: skip
define("PlaceholderWithDefault", "input: dtype -> output: dtype",
       {"dtype": T, "shape": shape_attr()}, shape=_placeholder_with_default,
       traits=Trait.OUTSIDE,
       constraints=["C1: the default's shape fits the attribute"])  # fmt: skip


def _same_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(index)


define("Identity", "input: T -> output: T", {"T": T}, shape=unchanged, value=passed,
       handle=_same_handle, forwards=True)  # fmt: skip
define("IdentityN", "input: *T -> output: *T", {"T": type_list(minimum=1)},
       shape=lambda ctx: ctx.shapes, value=passed, handle=_same_handle,
       forwards=True)  # fmt: skip
define("StopGradient", "input: T -> output: T", {"T": T}, shape=unchanged, value=passed,
       forwards=True)  # fmt: skip


# ----------------------------------------------------------------------------- asking for shapes


def _vector_of_rank(shape: Shape) -> Shape:
    return (None,) if shape is None else (len(shape),)


def _size_value(ctx: ShapeContext) -> Value | None:
    shape = ctx.shapes[0]
    return None if shape is None else product(shape)


define("Shape", "input: T -> output: out_type", {"T": T, "out_type": INDEX},
       shape=lambda ctx: (_vector_of_rank(ctx.shapes[0]),),
       value=lambda ctx: ctx.shapes[0], traits=Trait.TYPE_ONLY)  # fmt: skip
define("ShapeN", "input: N*T -> output: N*out_type",
       {"N": integer(minimum=1), "T": T, "out_type": INDEX},
       shape=lambda ctx: [_vector_of_rank(s) for s in ctx.shapes],
       value=lambda ctx: ctx.shapes[0], traits=Trait.TYPE_ONLY)  # fmt: skip
define("Size", "input: T -> output: out_type", {"T": T, "out_type": INDEX},
       shape=scalar, value=_size_value, traits=Trait.TYPE_ONLY)  # fmt: skip
define("Rank", "input: T -> output: int32", {"T": T}, shape=scalar,
       value=lambda ctx: None if ctx.shapes[0] is None else len(ctx.shapes[0]),
       traits=Trait.TYPE_ONLY)  # fmt: skip


# ------------------------------------------------------------------------------------ reshaping


def _reshape(ctx: ShapeContext) -> Sequence[Shape]:
    given = ctx.shapes[0]
    if ctx.shapes[1] is not None and len(ctx.shapes[1]) != 1:
        raise refused(f"the new shape is a vector, got {shape_text(ctx.shapes[1])}", 1)
    dims = ctx.vector(1)
    if dims is None:
        return (None,)
    if dims.count(-1) > 1:
        raise refused(f"only one dimension may be -1 in {shape_text(dims)}", 2)
    if any(d is not None and d < -1 for d in dims):
        raise refused(f"a dimension is negative in {shape_text(dims)}", 2)
    open_ = [i for i, d in enumerate(dims) if d is None or d == -1]
    size = size_of(given)
    if len(open_) > 1:
        return (tuple(None if d == -1 else d for d in dims),)
    fixed = [d for d in dims if d is not None and d != -1]
    if not open_:
        if size is not None and size != product(fixed):
            raise refused(
                f"{shape_text(given)} has {size} elements, {shape_text(dims)} has "
                f"{product(fixed)}", 3,
            )  # fmt: skip
        return (dims,)
    found: Dim = None
    if given is not None and size is not None and (dims[open_[0]] == -1 or product(fixed)):
        found = open_dimension([d for d in given if d is not None], fixed)
        if found is None:
            raise refused(
                f"the {size} elements of {shape_text(given)} cannot be laid out as "
                f"{shape_text(dims)}", 3,
            )  # fmt: skip
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
    axis = ctx.scalar(1)
    if shape is None:
        return (None,)
    if axis is None:
        return ((None,) * (len(shape) + 1),)
    at = normalized(axis, len(shape) + 1, 1)
    return ((*shape[:at], 1, *shape[at:]),)


def _squeeze(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    axes = ctx.attrs["squeeze_dims"]
    if shape is None:
        return (None,)
    if not axes:
        return (None if None in shape else tuple(d for d in shape if d != 1),)
    dropped = {normalized(axis, len(shape), 1) for axis in axes}
    for axis in dropped:
        if shape[axis] not in (1, None):
            raise refused(f"axis {axis} of {shape_text(shape)} has length {shape[axis]}, not 1", 2)
    return (tuple(d for i, d in enumerate(shape) if i not in dropped),)


def _transpose(ctx: ShapeContext) -> Sequence[Shape]:
    shape, perm = ctx.shapes[0], ctx.integers(1)
    axes = with_rank(ctx, 1, 1, 1)
    rank = len(shape) if shape is not None else axes[0]
    if shape is not None and axes[0] not in (None, len(shape)):
        raise refused(f"the permutation has {axes[0]} entries for the rank {len(shape)}", 1)
    if rank is None:
        return (None,)
    if perm is None:
        return (unknown_of_rank(rank, 1),)
    axes_seen = [normalized(axis, rank, 1) for axis in perm]
    if len(set(axes_seen)) != rank:
        raise refused(f"{list(perm)} is no permutation of {rank} axes", 1)
    return (tuple(None if shape is None else shape[a] for a in axes_seen),)


define("Reshape", "tensor: T, shape: Tshape -> output: T", {"T": T, "Tshape": INDEX},
       shape=_reshape, value=forwarded_value, traits=Trait.SAME_TYPE_IDENTITY,
       constraints=["C1: shape is a vector", "C2: no dimension below -1, one -1 at most",
                    "C3: the number of elements stays"])  # fmt: skip
define("Fill", "dims: index_type, value: T -> output: T", {"T": T, "index_type": INDEX},
       shape=from_value(0), value=_fill_value,
       constraints=["C1: dims is a vector without negative numbers"])  # fmt: skip
define("ZerosLike", "x: T -> y: T", {"T": T}, shape=unchanged,
       value=_like_value(0))  # fmt: skip
define("OnesLike", "x: T -> y: T", {"T": types(*FLOATS, *INTEGERS, *COMPLEX, bool_)},
       shape=unchanged, value=_like_value(1))  # fmt: skip
define("ExpandDims", "input: T, dim: Tdim -> output: T", {"T": T, "Tdim": INDEX},
       shape=_expand_dims, value=forwarded_value, traits=Trait.SAME_TYPE_IDENTITY,
       constraints=["C1: dim is in [-rank - 1, rank]"])  # fmt: skip
define("Squeeze", "input: T -> output: T", {"T": T, "squeeze_dims": list_of("int", ())},
       shape=_squeeze, value=forwarded_value, traits=Trait.SAME_TYPE_IDENTITY,
       constraints=["C1: each axis is within the rank",
                    "C2: a dropped axis has length 1"])  # fmt: skip
define("Transpose", "x: T, perm: Tperm -> y: T", {"T": T, "Tperm": INDEX}, shape=_transpose,
       constraints=["C1: perm is a permutation of the axes"])  # fmt: skip


# ---------------------------------------------------------------------------- joining and cutting


def _concat(ctx: ShapeContext) -> Sequence[Shape]:
    parts, axis = ctx.shapes[:-1], ctx.scalar(len(ctx.shapes) - 1)
    ranks = {len(s) for s in parts if s is not None}
    if len(ranks) > 1:
        raise refused(f"ranks differ: {', '.join(map(shape_text, parts))}", 2)
    if not ranks:
        return (None,)
    rank = ranks.pop()
    if rank == 0:
        raise refused("scalars cannot be joined", 1, "use stack")
    if axis is None:
        return ((None,) * rank,)
    at = normalized(axis, rank, 1)
    known = [s if s is not None else (None,) * rank for s in parts]
    rest = agreed([(*s[:at], *s[at + 1 :]) for s in known], 2) or ()
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
    shape = agreed(ctx.shapes, 1)
    if shape is None:
        return (None,)
    at = normalized(ctx.attrs["axis"], len(shape) + 1, 2)
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
    at = normalized(ctx.attrs["axis"], len(shape), 1)
    if shape[at] not in (None, num):
        raise refused(f"axis {at} of {shape_text(shape)} does not have length num = {num}", 2)
    return ((*shape[:at], *shape[at + 1 :]),) * num


def _strided_slice(ctx: ShapeContext) -> Sequence[Shape]:
    count: Dim = None
    for i in (1, 2, 3):
        (length,) = with_rank(ctx, i, 1, 1)
        count = length if length is not None else count
    shape = ctx.shapes[0]
    if count is None:
        return (None,)
    open_ = unknown_of_rank(count, 1)
    if shape is None:
        entries(ctx.attrs, count)
        return (None,)
    begin, end, strides = (ctx.vector(i) or open_ for i in (1, 2, 3))
    if not len(begin) == len(end) == len(strides):
        raise refused("begin, end and strides differ in length", 1)
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
        with_rank(ctx, i, 1, 1)
    known = [len(x) for x in (shape, begin, size) if x is not None]
    if not known:
        return (None,)
    rank = known[0]
    if any(k != rank for k in known):
        raise refused("begin and size have one entry for each axis", 1)
    out: list[Dim] = []
    for i in range(rank):
        dim = shape[i] if shape is not None else None
        first = begin[i] if begin is not None else None
        length = size[i] if size is not None else None
        if first is not None and (first < 0 or (dim is not None and first > dim)):
            raise refused(f"begin[{i}] = {first} is outside axis {i} of size {dim}", 2)
        if length == -1:
            out.append(dim - first if dim is not None and first is not None else None)
            continue
        if length is not None and (
            length < -1 or (dim is not None and first is not None and first + length > dim)
        ):
            raise refused(f"size[{i}] = {length} from {first} exceeds axis {i} of size {dim}", 2)
        out.append(length)
    return (tuple(out),)


def _slice_value(ctx: ShapeContext) -> Value | None:
    value, begin, size = ctx.resolver.value(0), ctx.integers(1), ctx.integers(2)
    if not isinstance(value, tuple) or begin is None or size is None or len(begin) != 1:
        return None
    return value[begin[0] :] if size[0] == -1 else value[begin[0] : begin[0] + size[0]]


def _pad(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    rows, columns = with_rank(ctx, 1, 2, 1)
    if columns not in (None, 2) or (shape is not None and rows not in (None, len(shape))):
        raise refused(f"paddings are [rank, 2], got {shape_text(ctx.shapes[1])}", 1)
    rank = len(shape) if shape is not None else rows
    if rank is None:
        return (None,)
    paddings = ctx.constant(1)
    if shape is None or paddings is None:
        return (unknown_of_rank(rank, 1),)
    if (paddings < 0).any():
        raise refused(f"paddings are not negative, got {paddings.tolist()}", 1)
    wider = paddings.sum(1).tolist()
    return (tuple(None if d is None else d + w for d, w in zip(shape, wider, strict=True)),)


def _gather(ctx: ShapeContext) -> Sequence[Shape]:
    params, indices = ctx.shapes[:2]
    batch = ctx.attrs["batch_dims"]
    if indices is not None and not -len(indices) <= batch <= len(indices):
        raise refused(f"batch_dims {batch} is outside the rank of the indices", 2)
    axis = ctx.scalar(2)
    if params is None or indices is None:
        return (None,)
    batch = batch + len(indices) if batch < 0 else batch
    if axis is None:
        return ((None,) * (len(params) - 1 + len(indices) - batch),)
    if not params:
        raise refused("params has rank 1 or more, got a scalar", 1)
    at = normalized(axis, len(params), 1)
    if batch > at:
        raise refused(f"batch_dims {batch} is greater than axis {at}", 2)
    agreed([params[:batch], indices[:batch]], 2)
    return ((*params[:at], *indices[batch:], *params[at + 1 :]),)


def _gather_value(ctx: ShapeContext) -> Value | None:
    value, indices = ctx.resolver.value(0), ctx.resolver.value(1)
    if not isinstance(value, tuple) or indices is None or ctx.attrs["batch_dims"]:
        return None
    if isinstance(indices, int):
        return value[indices] if 0 <= indices < len(value) else None
    return tuple(value[i] if i is not None and 0 <= i < len(value) else None for i in indices)


def _tile(ctx: ShapeContext) -> Sequence[Shape]:
    shape, times = ctx.shapes[0], dims_of(ctx, 1, 1)
    if shape is None:
        return (None if times is None else (None,) * len(times),)
    if times is None:
        return ((None,) * len(shape),)
    if len(times) != len(shape):
        raise refused(f"{len(times)} multiples for the rank {len(shape)}", 1)
    return (tuple(product((d, m)) for d, m in zip(shape, times, strict=True)),)


def _broadcast_to(ctx: ShapeContext) -> Sequence[Shape]:
    shape, to = ctx.shapes[0], dims_of(ctx, 1, 1)
    if shape is None or to is None:
        return (to,)
    if len(shape) > len(to):
        raise refused(f"{shape_text(shape)} has more axes than {shape_text(to)}", 1)
    for have, want in zip(reversed(shape), reversed(to), strict=False):
        if have not in (None, 1) and want not in (None, have):
            raise refused(f"{shape_text(shape)} does not broadcast to {shape_text(to)}", 1)
    lead = len(to) - len(shape)
    grown = (h if w is None and h != 1 else w for h, w in zip(shape, to[lead:], strict=True))
    return ((*to[:lead], *grown),)


def _concat_offset(ctx: ShapeContext) -> Sequence[Shape]:
    return (agreed(ctx.shapes[1:], 1),) * (len(ctx.shapes) - 1)


def _strided_slice_grad(ctx: ShapeContext) -> Sequence[Shape]:
    return (dims_of(ctx, 0, 1),)


def _vector(ctx: ShapeContext) -> Sequence[Shape]:
    return (with_rank(ctx, 0, 1, 1),)


_MASKS = {name: integer(0) for name in (
    "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"
)}  # fmt: skip
_SLICE_RULES = [
    "C1: begin, end and strides are vectors of one length, with an entry an axis at most",
    "C2: one ellipsis at most", "C3: no stride is zero, none negative where an axis is dropped",
    "C4: the index of a dropped axis is inside it",
]  # fmt: skip

define("ConcatV2", "values: N*T, axis: Tidx -> output: T",
       {"N": integer(minimum=2), "T": T, "Tidx": INDEX}, shape=_concat, value=_concat_value,
       constraints=["C1: axis is within the rank",
                    "C2: the other axes have the same lengths"])  # fmt: skip
define("ConcatOffset", "concat_dim: int32, shape: N*shape_type -> offset: N*shape_type",
       {"N": integer(minimum=2), "shape_type": INDEX}, shape=_concat_offset,
       constraints=["C1: all shapes have the same rank"])  # fmt: skip
define("Pack", "values: N*T -> output: T",
       {"N": integer(minimum=1), "T": T, "axis": integer(0)}, shape=_pack, value=_pack_value,
       constraints=["C1: all values have the same shape",
                    "C2: axis is in [-rank - 1, rank]"])  # fmt: skip
define("Unpack", "value: T -> output: num*T",
       {"num": integer(minimum=0), "T": T, "axis": integer(0)}, shape=_unpack,
       constraints=["C1: axis is within the rank", "C2: that axis has length num"])  # fmt: skip
define("StridedSlice", "input: T, begin: Index, end: Index, strides: Index -> output: T",
       {"T": T, "Index": ANY_INDEX, **_MASKS}, shape=_strided_slice, value=_strided_slice_value,
       constraints=_SLICE_RULES)  # fmt: skip
define("StridedSliceGrad",
       "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
       {"T": T, "Index": types(*INDICES), **_MASKS}, shape=_strided_slice_grad,
       constraints=_SLICE_RULES)  # fmt: skip
define("Slice", "input: T, begin: Index, size: Index -> output: T",
       {"T": T, "Index": types(*INDICES)}, shape=_slice, value=_slice_value,
       constraints=["C1: begin and size have an entry for each axis",
                    "C2: the slice lies inside the input"])  # fmt: skip
define("Pad", "input: T, paddings: Tpaddings -> output: T", {"T": T, "Tpaddings": INDEX},
       shape=_pad, constraints=["C1: paddings are [rank, 2], none negative"],
       traits=Trait.SAME_TYPE_IDENTITY)  # fmt: skip
define("GatherV2", "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
       {"batch_dims": integer(0), "Tparams": T, "Tindices": ANY_INDEX, "Taxis": types(*INDICES)},
       shape=_gather, value=_gather_value,
       constraints=["C1: axis is within the rank of params",
                    "C2: the first batch_dims axes agree, none beyond axis"])  # fmt: skip
define("Tile", "input: T, multiples: Tmultiples -> output: T", {"T": T, "Tmultiples": INDEX},
       shape=_tile, constraints=["C1: a multiple for each axis, none negative"],
       traits=Trait.SAME_TYPE_IDENTITY)  # fmt: skip
define("BroadcastTo", "input: T, shape: Tidx -> output: T", {"T": T, "Tidx": INDEX},
       shape=_broadcast_to, constraints=["C1: the input broadcasts to the shape"],
       traits=Trait.SAME_TYPE_IDENTITY)  # fmt: skip
define("BroadcastGradientArgs", "s0: T, s1: T -> r0: T, r1: T", {"T": INDEX},
       shape=lambda ctx: ((None,), (None,)))  # fmt: skip
define("InvertPermutation", "x: T -> y: T", {"T": INDEX}, shape=_vector,
       constraints=["C1: x is a vector"])  # fmt: skip


# ------------------------------------------------------------------------------------ turning round


def _reverse(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    with_rank(ctx, 1, 1, 1)
    axes = ctx.integers(1)
    if shape is not None and axes is not None:
        seen = [normalized(axis, len(shape), 1) for axis in axes]
        if len(set(seen)) != len(seen):
            raise refused(f"an axis is named twice in {list(axes)}", 2)
    return (shape,)


def _reverse_value(ctx: ShapeContext) -> Value | None:
    value, axes = ctx.resolver.value(0), ctx.integers(1)
    if not isinstance(value, tuple) or axes is None:
        return None
    return value[::-1] if axes else value


define("ReverseV2", "tensor: T, axis: Tidx -> output: T",
       {"Tidx": INDEX, "T": types(*NUMBERS, bool_, string)}, shape=_reverse,
       value=_reverse_value,
       constraints=["C1: axis is a vector of axes within the rank",
                    "C2: no axis is named twice"])  # fmt: skip


def _where(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    return ((None, None if shape is None else len(shape)),)


define("Where", "input: T -> index: int64",
       {"T": types(*NUMBERS, *QUANTIZED, bool_, default=bool_)}, shape=_where,
       doc="the indices of elements that are not zero, row by row")  # fmt: skip
