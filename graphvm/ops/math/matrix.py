"""Products of matrices, sums of tensors, sequences, casts and segments."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm.graph.conversion import (
    TensorLike,
    convert_n_to_tensor,
    convert_to_tensor,
    op_scope,
    output,
)
from graphvm.graph.graph import Tensor
from graphvm.ops.array.shaping import transpose
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype

__all__ = [
    "accumulate_n", "add_n", "cast", "linspace", "matmul", "range", "to_bfloat16", "to_double",
    "to_float", "to_int32", "to_int64", "unsorted_segment_sum",
]  # fmt: skip

_range = range  # Python's own
# `range` chooses the first of these that holds all its arguments
_SEQUENCE_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Product of matrices, or of batches of matrices.

    Args:
        a: numeric, shape [..., n, k].
        b: same element type, shape [..., k, m]; batch axes broadcast.
        transpose_a: swap the last two axes of `a` first.
        transpose_b: likewise.
        adjoint_a: swap the last two axes of `a` and conjugate it first.
        adjoint_b: likewise.
        name: name of the operation.

    Returns:
        Same element type; shape [..., n, m].

    Raises:
        ShapeError: inner dimensions differ, or the rank of a matrix is less than 2.
        ValueError: both transpose and adjoint are asked of one matrix.

    Source: TF ops `MatMul` and `BatchMatMulV2`, chosen as `tf.matmul` does.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("a matrix is either transposed or adjoint, not both")
    with op_scope(name or "MatMul", (a, b)) as scope:
        hint = getattr(b, "dtype", None)
        a = convert_to_tensor(a, None, "a", dtype_hint=hint)
        b = convert_to_tensor(b, None, "b", dtype_hint=a.dtype)
        is_complex = a.dtype.is_complex
        ranks = (a.shape.rank, b.shape.rank)
        if ranks == (2, 2) and not (is_complex and (adjoint_a or adjoint_b)):
            attrs = {
                "transpose_a": transpose_a or adjoint_a,
                "transpose_b": transpose_b or adjoint_b,
            }
            return output("MatMul", (a, b), attrs, scope)
        if None not in ranks and max(ranks) <= 2 and min(ranks) < 2:
            # vectors: the op itself says what is wrong
            return output("MatMul", (a, b), None, scope)
        if is_complex:
            a = _swapped(a) if transpose_a else a
            b = _swapped(b) if transpose_b else b
            transpose_a = transpose_b = False
        attrs = {"adj_x": transpose_a or adjoint_a, "adj_y": transpose_b or adjoint_b}
        return output("BatchMatMulV2", (a, b), attrs, scope)


def _swapped(x: Tensor) -> Tensor:
    """The last two axes swapped, without conjugation."""
    rank = x.shape.rank
    if rank is None:
        last = output("Rank", (x,))
        head = range(0, last - 2)
        return transpose(x, output("ConcatV2", ([head, [last - 1], [last - 2]], 0)))
    return transpose(x, [*_range(rank - 2), rank - 1, rank - 2])


def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Sum of several tensors.

    Args:
        inputs: numeric, all of one element type and shape.
        name: name of the operation.

    Returns:
        Same element type and shape; the tensor itself where there is one and no name is given.

    Raises:
        ShapeError: the shapes differ.
        ValueError: there is no tensor.

    Source: TF op `AddN`.
    """
    tensors = convert_n_to_tensor(list(inputs))
    if not tensors:
        raise ValueError("add_n takes at least one tensor")
    if len(tensors) == 1:
        return output("Identity", tensors, None, name) if name else tensors[0]
    return output("AddN", (tensors,), None, name)


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: object = None,
    tensor_dtype: object = None,
    name: str | None = None,
) -> Tensor:
    """Sum of several tensors; the same as `add_n`.

    Args:
        inputs: numeric, all of one element type and shape.
        shape: the static shape of the tensors, where it is known.
        tensor_dtype: their element type, which is checked.
        name: name of the operation.

    Returns:
        See `add_n`.

    Raises:
        DTypeError: the tensors have another type than `tensor_dtype`.
        ShapeError: the shapes differ.
        ValueError: there is no tensor.

    Source: `tf.accumulate_n`.
    """
    tensors = convert_n_to_tensor(list(inputs), tensor_dtype)
    result = add_n(tensors, name)
    result.set_shape(shape)
    return result


def cast(x: TensorLike, dtype: object, name: str | None = None) -> Tensor:
    """Elements as another type; towards zero from floating to integer.

    Args:
        x: numeric or bool, any shape.
        dtype: the type that is wanted.
        name: name of the operation.

    Returns:
        `dtype`, shape of `x`; `x` itself where it has this type already.

    Raises:
        DTypeError: elements of that kind cannot be cast.

    Source: TF op `Cast`.
    """
    wanted = as_dtype(dtype).base
    if isinstance(x, Tensor) and x.dtype.base is wanted:
        return x
    with op_scope(name or "Cast", (x,)) as scope:
        tensor = convert_to_tensor(x, None, "x")
        if tensor.dtype.base is wanted:
            return tensor
        return output("Cast", (tensor,), {"DstT": wanted}, scope)


def to_bfloat16(x: TensorLike, name: str = "ToBFloat16") -> Tensor:
    """Elements as bfloat16.

    Args:
        x: see `cast`.
        name: name of the operation.

    Returns:
        See `cast`.

    Source: `tf.compat.v1.to_bfloat16`.
    """
    return cast(x, dtypes.bfloat16, name)


def to_double(x: TensorLike, name: str = "ToDouble") -> Tensor:
    """Elements as float64.

    Args:
        x: see `cast`.
        name: name of the operation.

    Returns:
        See `cast`.

    Source: `tf.compat.v1.to_double`.
    """
    return cast(x, dtypes.float64, name)


def to_float(x: TensorLike, name: str = "ToFloat") -> Tensor:
    """Elements as float32.

    Args:
        x: see `cast`.
        name: name of the operation.

    Returns:
        See `cast`.

    Source: `tf.compat.v1.to_float`.
    """
    return cast(x, dtypes.float32, name)


def to_int32(x: TensorLike, name: str = "ToInt32") -> Tensor:
    """Elements as int32.

    Args:
        x: see `cast`.
        name: name of the operation.

    Returns:
        See `cast`.

    Source: `tf.compat.v1.to_int32`.
    """
    return cast(x, dtypes.int32, name)


def to_int64(x: TensorLike, name: str = "ToInt64") -> Tensor:
    """Elements as int64.

    Args:
        x: see `cast`.
        name: name of the operation.

    Returns:
        See `cast`.

    Source: `tf.compat.v1.to_int64`.
    """
    return cast(x, dtypes.int64, name)


def range(
    start: TensorLike,
    limit: TensorLike = None,
    delta: TensorLike = 1,
    dtype: object = None,
    name: str = "range",
) -> Tensor:
    """Evenly spaced numbers from `start` up to `limit`, which is left out.

    Args:
        start: scalar; the limit, with a start of 0, where it stands alone.
        limit: scalar.
        delta: scalar, the step; not 0.
        dtype: element type; int32, int64, float32 or float64 otherwise, whichever holds all.
        name: name of the operation.

    Returns:
        Vector of ceil((limit - start) / delta) elements.

    Raises:
        ShapeError: an argument is no scalar, or the step is 0.

    Source: TF op `Range`.
    """
    if limit is None:
        start, limit = 0, start
    with op_scope(name, (start, limit, delta)) as scope:
        wanted = None if dtype is None else as_dtype(dtype)
        given = {"start": start, "limit": limit, "delta": delta}
        if wanted is None:
            # a number takes a tensor's type only where both are integers or both floating
            found = [
                v.dtype.base if isinstance(v, Tensor) else _number_type(v) for v in given.values()
            ]
            ranked = [t for t in _SEQUENCE_TYPES if t in found]
            wanted = ranked[-1] if ranked else None
        tensors = [
            cast(v, wanted) if isinstance(v, Tensor) and wanted else convert_to_tensor(v, wanted, k)
            for k, v in given.items()
        ]
        return output("Range", tensors, None, scope)


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None
) -> Tensor:
    """Evenly spaced numbers from `start` to `stop`, both included.

    Args:
        start: floating scalar.
        stop: scalar of the same element type.
        num: scalar integer, how many; 1 gives `start` alone.
        name: name of the operation.

    Returns:
        Vector of `num` elements.

    Raises:
        DTypeError: the element type is not floating.
        ShapeError: an argument is no scalar, or `num` is less than 1.

    Source: TF op `LinSpace`.
    """
    return output("LinSpace", (start, stop, num), None, name)


def _number_type(value: TensorLike) -> dtypes.DType | None:
    """Element type that a Python value would become as a constant."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return dtypes.int32 if -(2**31) <= value < 2**31 else dtypes.int64
    if isinstance(value, float):
        return dtypes.float32
    return None if (kind := getattr(value, "dtype", None)) is None else as_dtype(kind)


def unsorted_segment_sum(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Sums of the parts of a tensor that have the same number.

    Args:
        data: numeric, shape of `segment_ids` followed by any other axes.
        segment_ids: integers, the number of each part; negative ones are left out.
        num_segments: scalar integer, one more than the greatest number.
        name: name of the operation.

    Returns:
        Element type of `data`; shape [num_segments, ...], 0 where a number does not occur.

    Raises:
        ShapeError: `segment_ids` does not lead the shape of `data`.

    Source: TF op `UnsortedSegmentSum`.
    """
    return output("UnsortedSegmentSum", (data, segment_ids, num_segments), None, name)
