"""Random numbers, and the seeds that they come from.

A seed is a pair: the graph's and the operation's. With a seed of the graph alone, the k-th
operation that has none of its own gets k; with neither, each session draws fresh numbers.
"""

from __future__ import annotations

import zlib
from typing import Any, Literal

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Graph, Tensor, get_default_graph
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import GraphError

__all__ = [
    "DEFAULT_GRAPH_SEED", "categorical", "get_seed", "multinomial", "normal", "random_normal",
    "random_shuffle", "random_uniform", "set_random_seed", "shuffle", "truncated_normal",
    "uniform",
]  # fmt: skip

DEFAULT_GRAPH_SEED = 87654321
_LIMIT = 2**31 - 1
# collection that is not empty where seeds go by name; not text, so that files leave it out
_BY_NAME = ("graphvm/seeds_by_name",)


def set_random_seed(seed: int | None, by: Literal["count", "name"] = "count") -> None:
    """Sets the seed of the default graph.

    Args:
        seed: any integer; None takes it back.
        by: what tells the operations apart that have no seed of their own: `count`, the number
            of such operations made before (TensorFlow's way), or `name`, so that a node more or
            less changes no other's numbers.

    Raises:
        GraphError: `by` is neither.

    Source: `tf.compat.v1.set_random_seed`, as of TensorFlow 2.21.
    """
    if by not in ("count", "name"):
        raise GraphError(f"seeds go by count or by name, not by {by!r}")
    graph = get_default_graph()
    graph.seed = seed
    graph.outermost.clear_collection(_BY_NAME)
    if by == "name":
        graph.outermost.add_to_collection(_BY_NAME, True)


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The pair of seeds of a new random operation of the default graph.

    Args:
        op_seed: the seed that the user gave it.

    Returns:
        Seed of the graph and of the operation; (None, None) where neither has one.

    Source: `tf.compat.v1.get_seed`, as of TensorFlow 2.21.
    """
    graph = get_default_graph()
    if graph.seed is not None:
        if op_seed is None:
            op_seed = _own_seed(graph)
        pair = graph.seed % _LIMIT, op_seed % _LIMIT
    elif op_seed is not None:
        pair = DEFAULT_GRAPH_SEED, op_seed % _LIMIT
    else:
        return None, None
    # 0, 0 would mean no seed at all
    return (0, _LIMIT) if pair == (0, 0) else pair


def _own_seed(graph: Graph) -> int:
    if not graph.outermost.get_collection(_BY_NAME):
        return graph.functions.next_seed()
    path, around = [graph.unique_name("seed", mark_as_used=False)], graph
    while around.outer is not None:
        path.append(getattr(around, "name", ""))
        around = around.outer
        path.append(around.get_name_scope())
    return zlib.crc32("//".join(path).encode())


def _drawn(op: str, shape: TensorLike, dtype: DType, seed: int | None, name: str | None) -> Tensor:
    first, second = get_seed(seed)
    attrs = {"dtype": dtype, "seed": first or 0, "seed2": second or 0}
    return output(op, (shape,), attrs, name)


def _shape(shape: TensorLike) -> Tensor:
    return convert_to_tensor(shape, None, "shape", dtype_hint=dtypes.int32)


def random_uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike = None,
    dtype: object = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random numbers, each as likely as any other in [minval, maxval).

    Args:
        shape: vector of integers.
        minval: scalar, or of a shape that broadcasts.
        maxval: likewise; 1 by default.
        dtype: a floating type.
        seed: the seed of the operation; see `set_random_seed`.
        name: name of the last operation.

    Returns:
        `dtype`, `shape`; new numbers each time it runs.

    Raises:
        DTypeError: `dtype` is not floating.

    Source: TF op `RandomUniform`.
    """
    kind = as_dtype(dtype)
    maxval = 1 if maxval is None else maxval
    with op_scope(name or "random_uniform", (shape, minval, maxval)) as scope:
        dims = _shape(shape)
        plain = type(minval) in (int, float) and type(maxval) in (int, float)
        if plain and minval == 0 and maxval == 1:
            return _drawn("RandomUniform", dims, kind, seed, None)
        low = convert_to_tensor(minval, kind, "min")
        high = convert_to_tensor(maxval, kind, "max")
        drawn = _drawn("RandomUniform", dims, kind, seed, None)
        width = output("Sub", (high, low), None, "sub")
        return output("AddV2", (output("Mul", (drawn, width), None, "mul"), low), None, scope)


def random_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: object = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random numbers of a normal distribution.

    Args:
        shape: vector of integers.
        mean: scalar, or of a shape that broadcasts.
        stddev: likewise; the standard deviation.
        dtype: a floating type.
        seed: the seed of the operation; see `set_random_seed`.
        name: name of the last operation.

    Returns:
        `dtype`, `shape`; new numbers each time it runs.

    Raises:
        DTypeError: `dtype` is not floating.

    Source: TF op `RandomStandardNormal`.
    """
    return _scaled(
        "RandomStandardNormal", shape, mean, stddev, dtype, seed, name or "random_normal"
    )


def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: object = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random numbers of a normal distribution, none further than two deviations from its mean.

    Args:
        shape: vector of integers.
        mean: scalar, or of a shape that broadcasts.
        stddev: likewise; the standard deviation before the tails are cut off.
        dtype: a floating type.
        seed: the seed of the operation; see `set_random_seed`.
        name: name of the last operation.

    Returns:
        `dtype`, `shape`; new numbers each time it runs.

    Raises:
        DTypeError: `dtype` is not floating.

    Source: TF op `TruncatedNormal`.
    """
    return _scaled("TruncatedNormal", shape, mean, stddev, dtype, seed, name or "truncated_normal")


def _scaled(
    op: str,
    shape: TensorLike,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: object,
    seed: int | None,
    name: str,
) -> Tensor:
    kind = as_dtype(dtype)
    with op_scope(name, (shape, mean, stddev)) as scope:
        dims = _shape(shape)
        centre = convert_to_tensor(mean, kind, "mean")
        width = convert_to_tensor(stddev, kind, "stddev")
        drawn: Any = _drawn(op, dims, kind, seed, None)
        return output("AddV2", (output("Mul", (drawn, width), None, "mul"), centre), None, scope)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: object = None,
) -> Tensor:
    """Classes drawn by their probabilities.

    Args:
        logits: shape [batch, classes]: logarithms of probabilities, up to a constant of each row;
            infinite ones are never drawn.
        num_samples: scalar integer: how many are drawn from each row.
        seed: the seed of the operation; see `set_random_seed`.
        name: name of the operation.
        output_dtype: int32 or int64, which is the default.

    Returns:
        Integers in [0, classes), shape [batch, num_samples]; new ones each time it runs.

    Raises:
        DTypeError: `logits` are not real.
        ShapeError: they are no matrix.

    Source: TF op `Multinomial`.
    """
    return categorical(logits, num_samples, output_dtype, seed, name or "multinomial")


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: object = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """New name of `multinomial`.

    Args:
        logits: see there.
        num_samples: likewise.
        dtype: int32 or int64, which is the default.
        seed: see there.
        name: name of the scope of the operation.

    Returns:
        See there.

    Raises:
        DTypeError: see there.
        ShapeError: likewise.

    Source: `tf.random.categorical`.
    """
    with op_scope(name or "categorical", (logits, num_samples)):
        first, second = get_seed(seed)
        attrs = {
            "seed": first or 0,
            "seed2": second or 0,
            "output_dtype": as_dtype(dtype or dtypes.int64),
        }
        return output("Multinomial", (convert_to_tensor(logits, name="logits"), num_samples), attrs)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of a tensor in a random order.

    Args:
        value: any type and shape; shuffled along its first axis.
        seed: the seed of the operation; see `set_random_seed`.
        name: name of the operation.

    Returns:
        Same element type and shape; another order each time it runs.

    Source: TF op `RandomShuffle`.
    """
    first, second = get_seed(seed)
    attrs = {"seed": first or 0, "seed2": second or 0}
    return output("RandomShuffle", (value,), attrs, name)


normal = random_normal
uniform = random_uniform
shuffle = random_shuffle
