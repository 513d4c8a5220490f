"""Elements by their numbers and by masks: one-hot rows, points of a tensor, masked parts."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.ops.array.constants import zeros
from graphvm.ops.array.joining import concat, where
from graphvm.ops.array.shaping import expand_dims, reshape, shape, squeeze
from graphvm.ops.array.slicing import gather, subscript
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import DTypeError, ShapeError
from graphvm_runtime.shapes import is_compatible, normalized_axis, shape_text

__all__ = ["boolean_mask", "eye", "gather_nd", "one_hot", "scatter_nd", "sequence_mask"]


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike = None,
    off_value: TensorLike = None,
    axis: int | None = None,
    dtype: object = None,
    name: str | None = None,
) -> Tensor:
    """Rows of `off_value` with `on_value` at the place that an index names.

    Args:
        indices: integers, any shape; one outside [0, depth) gives a row of `off_value` alone.
        depth: scalar int32, the length of the new axis.
        on_value: scalar, 1 by default.
        off_value: scalar, 0 by default.
        axis: where the new axis goes; the end by default.
        dtype: element type; otherwise that of the values, or float32.
        name: name of the operation.

    Returns:
        `dtype`; shape of `indices` with an axis of `depth` put in.

    Raises:
        DTypeError: the values have different types, or another one than `dtype`.
        ShapeError: `depth` is negative, or `axis` is outside.

    Source: TF op `OneHot`.
    """
    with op_scope(name or "one_hot", (indices, depth, on_value, off_value)) as scope:
        kinds = {
            what: v.dtype.base if isinstance(v, Tensor) else convert_to_tensor(v).dtype.base
            for what, v in (("on_value", on_value), ("off_value", off_value))
            if v is not None and (dtype is None or isinstance(v, Tensor))
        }
        wanted = as_dtype(dtype) if dtype is not None else None
        for what, kind in kinds.items():
            wanted = kind if wanted is None else wanted
            if kind is not wanted:
                raise DTypeError(
                    f"{what} is of {kind.name}, not {wanted.name}",
                    made=user_line(),
                    do="cast it, or give both values and dtype one type",
                )
        wanted = dtypes.float32 if wanted is None else wanted
        on = convert_to_tensor(1 if on_value is None else on_value, wanted, "on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, wanted, "off_value")
        return output(
            "OneHot", (indices, depth, on, off), {"axis": -1 if axis is None else axis}, scope
        )


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """Parts of a tensor, each named by the numbers of its first axes.

    Args:
        params: any type, rank at least 1.
        indices: integers, shape [..., n]; an index outside is an error when it runs.
        name: name of the operation.
        batch_dims: how many leading axes `params` and `indices` share.

    Returns:
        Element type of `params`; shape [...] followed by that of `params` without n axes.

    Raises:
        ShapeError: n is greater than the rank of `params`, or batch axes differ.

    Source: TF op `GatherNd`.
    """
    if not batch_dims:
        return output("GatherNd", (params, indices), None, name)
    with op_scope(name or "BatchGatherNd", (params, indices)) as scope:
        params = convert_to_tensor(params, name="params")
        indices = convert_to_tensor(indices, name="indices")
        have, asked = params.type.shape, indices.type.shape
        if have is None or asked is None:
            raise ShapeError("batch_dims needs params and indices of known rank", made=user_line())
        if not 0 < batch_dims < min(len(have) + 1, len(asked)):
            raise ShapeError(
                f"batch_dims {batch_dims} for {shape_text(have)} and {shape_text(asked)}",
                made=user_line(),
            )
        if not is_compatible(have[:batch_dims], asked[:batch_dims]):
            raise ShapeError(
                f"the first {batch_dims} axes of {shape_text(have)} and {shape_text(asked)} differ",
                made=user_line(),
            )
        # each index is preceded by the numbers of its batch
        dims = shape(indices)
        full = concat([subscript(dims, slice(0, -1)), [1]], 0)
        places = []
        for axis in range(batch_dims):
            numbers = output("Range", (0, subscript(dims, axis), 1))
            column = [1] * len(asked)
            column[axis] = -1
            numbers = output("BroadcastTo", (reshape(numbers, column), full))
            places.append(output("Cast", (numbers,), {"DstT": indices.dtype.base}))
        return output("GatherNd", (params, concat([*places, indices], -1)), None, scope)


def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: TensorLike, name: str | None = None
) -> Tensor:
    """Zeros with parts put in; those at one place are added.

    Args:
        indices: integers, shape [..., n]; an index outside is an error when it runs.
        updates: any type, shape [...] followed by `shape` without its first n entries.
        shape: vector of the type of `indices`, shape of the result.
        name: name of the operation.

    Returns:
        Element type of `updates`; the shape `shape`.

    Raises:
        ShapeError: `updates` has another shape.

    Source: TF op `ScatterNd`.
    """
    return output("ScatterNd", (indices, updates, shape), None, name)


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """The parts of a tensor for which a mask holds, one after the other.

    Args:
        tensor: any type.
        mask: bool, of known rank, at least 1; its shape is that of `tensor` from `axis` on.
        name: name of the operation.
        axis: where the mask starts; 0 by default.

    Returns:
        Element type of `tensor`; the axes of the mask become one.

    Raises:
        ShapeError: the rank of the mask is 0 or not known, or the shapes differ.

    Source: `tf.boolean_mask`.
    """
    with op_scope(name, (tensor, mask)):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, dtypes.bool_, "mask")
        wide, narrow = tensor.type.shape, mask.type.shape
        if narrow is None:
            raise ShapeError(
                "the rank of the mask is not known", made=user_line(), do="give it with set_shape"
            )
        if not narrow:
            raise ShapeError("the mask is a scalar", made=user_line(), do="use cond or where")
        start = 0 if axis is None else int(axis)
        if wide is not None:
            start = normalized_axis(start, len(wide), "axis")
            if not is_compatible(wide[start : start + len(narrow)], narrow):
                raise ShapeError(
                    f"a mask of shape {shape_text(narrow)} for axes from {start} of "
                    f"{shape_text(wide)}",
                    made=user_line(),
                )
        dims = shape(tensor)
        end = start + len(narrow)
        size = output("Prod", (subscript(dims, slice(start, end)), [0]))
        parts = [subscript(dims, slice(0, start)), reshape(size, [1])]
        flat = reshape(tensor, concat([*parts, subscript(dims, slice(end, None))], 0))
        if wide is not None:
            flat.set_shape([*wide[:start], None, *wide[end:]])
        chosen = squeeze(where(reshape(mask, [-1])), [1])
        return gather(flat, chosen, axis=start)


def sequence_mask(
    lengths: TensorLike, maxlen: TensorLike = None, dtype: object = dtypes.bool_,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """For each length, a row that holds in its first places, as many as the length says.

    Args:
        lengths: integers, any shape.
        maxlen: scalar integer, length of the rows; the greatest length by default.
        dtype: element type of the result.
        name: name of the operation.

    Returns:
        `dtype`; shape of `lengths` followed by `maxlen`.

    Raises:
        ShapeError: `maxlen` is no scalar.

    Source: `tf.sequence_mask`.
    """
    with op_scope(name or "SequenceMask", (lengths, maxlen)):
        lengths = convert_to_tensor(lengths, name="lengths")
        if maxlen is None:
            every = output("Range", (0, output("Rank", (lengths,)), 1))
            longest = output("Max", (lengths, every))
            longest = output("Maximum", (zeros([], longest.dtype), longest))
            longest.set_shape([])
        else:
            longest = convert_to_tensor(maxlen, name="maxlen")
        if longest.type.shape not in ((), None):
            raise ShapeError(
                f"maxlen is a scalar, got {shape_text(longest.type.shape)}", made=user_line()
            )
        kind = longest.dtype.base
        places = output("Range", (convert_to_tensor(0, kind), longest, convert_to_tensor(1, kind)))
        column = expand_dims(lengths, -1)
        if column.dtype.base is not kind:
            column = output("Cast", (column,), {"DstT": kind})
        result = output("Less", (places, column))
        wanted = as_dtype(dtype)
        return result if wanted is dtypes.bool_ else output("Cast", (result,), {"DstT": wanted})


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike = None,
    batch_shape: TensorLike = None,
    dtype: object = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices: ones on the diagonal, zeros elsewhere.

    Args:
        num_rows: scalar int32.
        num_columns: scalar int32, `num_rows` by default.
        batch_shape: vector of integers, the axes before the two of the matrix; none by default.
        dtype: element type.
        name: name of the operation.

    Returns:
        `dtype`; shape [batch_shape..., num_rows, num_columns].

    Raises:
        ShapeError: a size is negative.

    Source: `tf.eye`.
    """
    with op_scope(name or "eye", (num_rows, num_columns, batch_shape)) as scope:
        wanted = as_dtype(dtype)
        columns = num_rows if num_columns is None else num_columns
        rows = output("Range", (0, num_rows, 1))
        one, none = convert_to_tensor(1, wanted), convert_to_tensor(0, wanted)
        last = scope if batch_shape is None else None
        matrix = output("OneHot", (rows, columns, one, none), None, last)
        if batch_shape is None:
            return matrix
        batch = convert_to_tensor(batch_shape, dtypes.int32, "batch_shape")
        return output("BroadcastTo", (matrix, concat([batch, shape(matrix)], 0)), None, scope)
