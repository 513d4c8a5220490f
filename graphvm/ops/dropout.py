"""Dropout: elements of a tensor set to zero at random."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape
from graphvm.ops.array import constant, shape, where_v2
from graphvm.ops.math import greater_equal
from graphvm.ops.random import get_seed, random_uniform
from graphvm_runtime.errors import GraphError

__all__ = ["dropout"]


def dropout(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Elements set to zero at random, the others made larger, so that the mean stays.

    Args:
        x: floating, any shape.
        keep_prob: probability with which an element is kept: 1 - `rate`.
        noise_shape: shape of what is drawn, which broadcasts: where it has 1, elements of that
            axis are kept or dropped together. None in it is the length of `x`.
        seed: the seed of the operation; see `set_random_seed`.
        name: name of the operation.
        rate: probability with which an element is dropped, in [0, 1); a scalar tensor may be fed.

    Returns:
        Same element type and shape; other elements each time it runs. The derivative sees the
        same ones.

    Raises:
        ValueError: `x` is not floating, there is no rate, or both forms of it, or it is outside
            [0, 1).

    Source: `tf.compat.v1.nn.dropout`; Srivastava et al. (2014).
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("give the rate of dropout: either rate or keep_prob")
    if rate is None:
        rate = 1.0 - keep_prob
    with op_scope(name or "dropout", (x,)):
        tensor = convert_to_tensor(x, name="x")
        kind = tensor.dtype.base
        if not kind.is_floating:
            raise GraphError(
                f"dropout scales what it keeps, so it takes no {kind.name}", made=user_line()
            )
        if isinstance(rate, int | float):
            if not 0 <= rate < 1:
                raise ValueError(f"the rate of dropout is in [0, 1), not {rate}")
            if rate == 0:
                get_seed(seed)  # counted, so that another rate changes no other op's numbers
                return tensor
            scaled = tensor * (1.0 / (1.0 - rate))
        else:
            rate = convert_to_tensor(rate, None if isinstance(rate, Tensor) else kind, "rate")
            rate.shape.assert_has_rank(0)
            if rate.dtype.base is not kind:
                rate = output("Cast", (rate,), {"DstT": kind})
            scaled = tensor / (1.0 - rate)
        drawn = random_uniform(_noise_shape(tensor, noise_shape), dtype=kind, seed=seed)
        zero = constant(0, kind)
        kept = where_v2(greater_equal(drawn, rate), scaled, zero)
        kept.set_shape(tensor.shape)
        return kept


def _noise_shape(x: Tensor, given: Any) -> Any:
    if given is None:
        return x.shape.as_list() if x.shape.is_fully_defined() else shape(x)
    if isinstance(given, Tensor):
        return given
    asked, known = TensorShape(given), x.shape
    if asked.rank is not None and asked.rank == known.rank:
        pairs = zip(asked.as_list(), known.as_list(), strict=True)
        asked = TensorShape([k if a is None else a for a, k in pairs])
    if asked.is_fully_defined():
        return asked.as_list()
    lengths = shape(x)
    return [lengths[i] if d is None else d for i, d in enumerate(asked.as_list())]
