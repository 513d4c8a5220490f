"""Ops that take or put elements by their numbers: one-hot rows, points, the greatest ones."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import INDICES, REALS, int8, int16, int32, int64, uint8
from graphvm_runtime.ops.registry import ShapeContext, boolean, define, integer, text, types
from graphvm_runtime.ops.shape_functions import agreed, dims_of, refused, with_rank_at_least
from graphvm_runtime.shapes import Shape, shape_text

ANY = types()
POLICY = text(b"", allowed=(b"", b"DEFAULT", b"ERROR", b"IGNORE"))


def _one_hot(ctx: ShapeContext) -> Sequence[Shape]:
    for i, name in ((1, "depth"), (2, "on_value"), (3, "off_value")):
        if ctx.shapes[i] is not None and ctx.shapes[i] != ():
            raise refused(f"{name} is a scalar, got {shape_text(ctx.shapes[i])}", 1)
    depth, axis = ctx.scalar(1), int(ctx.attrs["axis"])
    if depth is not None and depth < 0:
        raise refused(f"depth is not negative, got {depth}", 2)
    if axis < -1:
        raise refused(f"axis is -1 or counted from the front, got {axis}", 3)
    shape = ctx.shapes[0]
    if shape is None:
        return (None,)
    if axis > len(shape):
        raise refused(f"axis {axis} is beyond the rank {len(shape)} of the indices", 3)
    at = len(shape) if axis == -1 else axis
    return ((*shape[:at], depth, *shape[at:]),)


define("OneHot", "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
       {"axis": integer(-1), "T": ANY, "TI": types(uint8, int8, int32, int64, default=int64)},
       shape=_one_hot,
       constraints=["C1: depth, on_value and off_value are scalars", "C2: depth is not negative",
                    "C3: axis is -1 or in [0, rank]"])  # fmt: skip


def _gather_nd(ctx: ShapeContext) -> Sequence[Shape]:
    params = with_rank_at_least(ctx, 0, 1, 1)
    indices = with_rank_at_least(ctx, 1, 1, 2)
    if params is None or indices is None or indices[-1] is None:
        return (None,)
    if indices[-1] > len(params):
        raise refused(
            f"an index of {indices[-1]} numbers for params of shape {shape_text(params)}", 3
        )
    return ((*indices[:-1], *params[indices[-1] :]),)


define("GatherNd", "params: Tparams, indices: Tindices -> output: Tparams",
       {"Tparams": ANY, "Tindices": types(int16, *INDICES), "bad_indices_policy": POLICY},
       shape=_gather_nd,
       constraints=["C1: params has rank 1 or more", "C2: indices have rank 1 or more",
                    "C3: an index has a number for each axis of params at most"])  # fmt: skip


def _scatter_nd(ctx: ShapeContext) -> Sequence[Shape]:
    indices, updates = with_rank_at_least(ctx, 0, 1, 1), ctx.shapes[1]
    shape = dims_of(ctx, 2, 2)
    if indices is not None and updates is not None:
        outer = len(indices) - 1
        if len(updates) < outer:
            raise refused(f"updates of shape {shape_text(updates)} for {shape_text(indices)}", 3)
        agreed([updates[:outer], indices[:-1]], 3)
        depth = indices[-1]
        if shape is not None and depth is not None:
            if depth > len(shape):
                raise refused(f"an index of {depth} numbers for {shape_text(shape)}", 3)
            agreed([updates[outer:], shape[depth:]], 3)
    return (shape,)


define("ScatterNd", "indices: Tindices, updates: T, shape: Tindices -> output: T",
       {"T": ANY, "Tindices": types(int16, *INDICES), "bad_indices_policy": POLICY},
       shape=_scatter_nd,
       constraints=["C1: indices have rank 1 or more", "C2: shape is a vector of sizes",
                    "C3: updates are one part of the output for each index"])  # fmt: skip


def _top_k(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1, 1)
    if ctx.shapes[1] is not None and ctx.shapes[1] != ():
        raise refused(f"k is a scalar, got {shape_text(ctx.shapes[1])}", 2)
    k = ctx.scalar(1)
    if k is not None and k < 0:
        raise refused(f"k is not negative, got {k}", 2)
    if shape is None:
        return (None, None)
    if k is not None and shape[-1] is not None and shape[-1] < k:
        raise refused(f"k = {k} of the {shape[-1]} columns of {shape_text(shape)}", 3)
    found = (*shape[:-1], k)
    return (found, found)


define("TopKV2", "input: T, k: Tk -> values: T, indices: index_type",
       {"sorted": boolean(True), "T": types(*REALS), "Tk": types(int16, *INDICES, default=int32),
        "index_type": types(int16, *INDICES, default=int32)},
       shape=_top_k,
       constraints=["C1: the input has rank 1 or more", "C2: k is a scalar, not negative",
                    "C3: the last axis has k elements at least"])  # fmt: skip
