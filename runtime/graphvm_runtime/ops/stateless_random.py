"""Random numbers that follow from a seed alone."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, dims_of, refused, scalar, with_rank
from graphvm_runtime.shapes import Shape


def _check_seed(ctx: ShapeContext, index: int) -> None:
    agreed([with_rank(ctx, index, 1), (2,)])


def _seeded(ctx: ShapeContext) -> Sequence[Shape]:
    _check_seed(ctx, 1)
    for index in range(2, len(ctx.shapes)):
        with_rank(ctx, index, 0)
    return (dims_of(ctx, 0),)


def _keyed(ctx: ShapeContext) -> Sequence[Shape]:
    agreed([with_rank(ctx, 1, 1), (1,)])
    with_rank(ctx, 2, 1)
    for index in range(3, len(ctx.shapes)):
        with_rank(ctx, index, 0)
    return (dims_of(ctx, 0),)


def _classes(ctx: ShapeContext) -> Sequence[Shape]:
    rows, _ = with_rank(ctx, 0, 2)
    with_rank(ctx, 1, 0)
    _check_seed(ctx, 2)
    count = ctx.scalar(1)
    if count is not None and count < 0:
        raise refused(f"num_samples must not be negative, got {count}")
    return ((rows, count),)


def _key_and_counter(ctx: ShapeContext) -> Sequence[Shape]:
    _check_seed(ctx, 0)
    return ((1,), (2,))


define("StatelessRandomUniform", "StatelessRandomNormal", shape=_seeded)
define("StatelessRandomUniformInt", shape=_seeded)
define("StatelessRandomUniformV2", "StatelessRandomNormalV2", shape=_keyed)
define("StatelessTruncatedNormalV2", "StatelessRandomUniformIntV2", shape=_keyed)
define("StatelessMultinomial", shape=_classes)
define("StatelessRandomGetKeyCounter", shape=_key_and_counter)
define("StatelessRandomGetAlg", shape=scalar)
