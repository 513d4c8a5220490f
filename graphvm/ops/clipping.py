"""Tensors kept within bounds, by element or by norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.graph.source import user_line
from graphvm.ops.array import identity, ones_like, size, stack, where
from graphvm.ops.math import cast, greater, maximum, minimum, range, reduce_sum, rsqrt, sqrt
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.shapes import is_compatible, shape_text

__all__ = [
    "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm",
]  # fmt: skip

Clipped: TypeAlias = "Tensor | IndexedSlices"


def _rows(t: TensorLike) -> Tensor:
    """The values of IndexedSlices, or the tensor."""
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")


def _like(t: TensorLike, values: Tensor) -> Clipped:
    """Values in place of those of `t`."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


def clip_by_value(
    t: TensorLike,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> Clipped:
    """Each element, or the bound that it is beyond.

    Args:
        t: real; a tensor or IndexedSlices, of which the values are clipped.
        clip_value_min: same element type; broadcasts to `t`.
        clip_value_max: same element type; broadcasts to `t`; where it is below
            `clip_value_min`, that one comes out.
        name: name of the operation.

    Returns:
        What `t` is, with its element type and shape.

    Raises:
        ShapeError: a bound does not broadcast to `t`.

    Source: `tf.clip_by_value`, TF ops `Minimum`, `Maximum`.
    """
    with op_scope(name or "clip_by_value", (clip_value_min, clip_value_max)) as scope:
        values = _rows(t)
        upper = minimum(values, clip_value_max)
        clipped = maximum(upper, clip_value_min, scope)
        for found in (upper, clipped):
            if not is_compatible(values.type.shape, found.type.shape):
                raise ShapeError(
                    f"a bound makes {shape_text(found.type.shape)} of "
                    f"{shape_text(values.type.shape)}",
                    made=user_line(),
                    do="bounds broadcast to the tensor, not the other way round",
                )
        clipped.set_shape(values.shape)
        return _like(t, clipped)


def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike = None, name: str | None = None
) -> Clipped:
    """A tensor whose norm is `clip_norm` at most, in its own direction.

    Args:
        t: floating; a tensor or IndexedSlices, of which the values are clipped.
        clip_norm: scalar, greater than 0; or what broadcasts to the norms.
        axes: axes over which a norm is taken; all by default.
        name: name of the operation.

    Returns:
        What `t` is, with its element type and shape.

    Raises:
        ShapeError: `clip_norm` does not broadcast to `t`, or an axis is outside the rank.

    Source: `tf.clip_by_norm`.
    """
    with op_scope(name or "clip_by_norm", (clip_norm,)) as scope:
        values = _rows(t)
        squares = reduce_sum(values * values, axes, keepdims=True)
        # the root of 0 has no derivative, so that of 1 is taken there and thrown away
        some = greater(squares, convert_to_tensor(0, squares.dtype))
        norm = where(some, sqrt(where(some, squares, ones_like(squares))), squares)
        scaled = values * clip_norm
        if not is_compatible(values.type.shape, scaled.type.shape):
            raise ShapeError(
                f"clip_norm makes {shape_text(scaled.type.shape)} of "
                f"{shape_text(values.type.shape)}",
                made=user_line(),
            )
        return _like(t, identity(scaled / maximum(norm, clip_norm), scope))


def global_norm(t_list: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The norm of several tensors as one vector.

    Args:
        t_list: floating tensors or IndexedSlices; None stands for nothing.
        name: name of the operation.

    Returns:
        Scalar of their element type.

    Raises:
        TypeError: it is no list.

    Source: `tf.global_norm`.
    """
    _check_list(t_list)
    with op_scope(name or "global_norm", ()) as scope:
        halves = [output("L2Loss", (_rows(t),)) for t in t_list if t is not None]
        whole = reduce_sum(stack(halves))
        return sqrt(whole * convert_to_tensor(2, whole.dtype), scope)


def clip_by_global_norm(
    t_list: Sequence[TensorLike],
    clip_norm: TensorLike,
    use_norm: TensorLike = None,
    name: str | None = None,
) -> tuple[list[Clipped | None], Tensor]:
    """Several tensors, scaled by one number so that their norm is `clip_norm` at most.

    Args:
        t_list: floating tensors or IndexedSlices; None stays None.
        clip_norm: scalar, greater than 0.
        use_norm: scalar, the norm where it is known already.
        name: name of the operation.

    Returns:
        The scaled tensors, and the norm that they had. They are NaN where that is not finite.

    Raises:
        TypeError: `t_list` is no list.

    Source: `tf.clip_by_global_norm`.
    """
    _check_list(t_list)
    norm = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    with op_scope(name or "clip_by_global_norm", (clip_norm, norm)) as scope:
        one = convert_to_tensor(1, norm.dtype)
        bound = convert_to_tensor(clip_norm, norm.dtype, "clip_norm")
        scale = bound * minimum(one / norm, one / bound)
        scale = scale + (norm - norm)  # NaN where the norm is no finite number
        out: list[Clipped | None] = []
        for i, t in enumerate(t_list):
            if t is None:
                out.append(None)
                continue
            values = _rows(t)
            scaled = values * cast(scale, values.dtype.base)
            out.append(_like(t, identity(scaled, f"{scope}_{i}")))
        return out, norm


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """A tensor whose norm, divided by its number of elements, is `clip_norm` at most.

    Args:
        t: floating, any shape.
        clip_norm: scalar, greater than 0.
        name: name of the operation.

    Returns:
        Same element type and shape as `t`.

    Source: `tf.clip_by_average_norm`.
    """
    with op_scope(name or "clip_by_average_norm", (t, clip_norm)) as scope:
        values = convert_to_tensor(t, name="t")
        count = cast(size(values), values.dtype.base)
        axes = range(output("Rank", (values,)))
        inverse = rsqrt(reduce_sum(values * values, axes))
        bound = convert_to_tensor(clip_norm, values.dtype.base, "clip_norm")
        one = convert_to_tensor(1, values.dtype.base)
        return identity(values * bound * minimum(inverse * count, one / bound), scope)


def _check_list(t_list: object) -> None:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str | bytes):
        raise TypeError(f"t_list is a list of tensors, got {type(t_list).__name__}")
