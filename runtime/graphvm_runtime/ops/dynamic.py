"""Rows dealt out by numbers that are known only when the graph runs, and put together again."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, refused
from graphvm_runtime.shapes import Dim, Shape, is_compatible, shape_text


def _partition(ctx: ShapeContext) -> Sequence[Shape]:
    data, parts = ctx.shapes
    count: int = ctx.attrs["num_partitions"]
    if parts is None or data is None:
        return (None,) * count
    if len(parts) > len(data) or not is_compatible(data[: len(parts)], parts):
        raise refused(
            f"data must start with the shape of partitions {shape_text(parts)}, got "
            f"{shape_text(data)}"
        )
    return ((None, *data[len(parts) :]),) * count


def _stitch(ctx: ShapeContext) -> Sequence[Shape]:
    count = ctx.attrs["N"]
    inner: Shape = None
    length: Dim = 0
    for i in range(count):
        places, data = ctx.shapes[i], ctx.shapes[count + i]
        known = ctx.constant(i)
        if length is not None:
            length = None if known is None else max(length, int(known.max(initial=-1)) + 1)
        if places is None or data is None:
            continue
        if len(places) > len(data) or not is_compatible(data[: len(places)], places):
            raise refused(
                f"data[{i}] must start with the shape of indices[{i}] {shape_text(places)}, got "
                f"{shape_text(data)}"
            )
        inner = agreed([inner, data[len(places) :]])
    return (None if inner is None else (length, *inner),)


define("DynamicPartition", shape=_partition)
define("DynamicStitch", "ParallelDynamicStitch", shape=_stitch)
