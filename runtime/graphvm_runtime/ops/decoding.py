"""Numbers, tensors and tables written as strings."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import ranked, refused, scalar, unchanged, unknown
from graphvm_runtime.shapes import Shape, shape_text

define("DecodeBase64", "DecodeCompressed", "EncodeBase64", shape=unchanged)
define("SerializeTensor", shape=scalar)
define("ParseTensor", shape=ranked(unknown, serialized=0))


def _raw(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    return (None if shape is None else (*shape, None),)


define("DecodeRaw", shape=_raw)


def _padded_raw(ctx: ShapeContext) -> Sequence[Shape]:
    shape, length = ctx.shapes[0], ctx.scalar(1)
    size = ctx.attrs["out_type"].size
    if length is not None and (length < 0 or length % size):
        raise refused(f"fixed_length must be a multiple of {size}, got {length}")
    if shape is None:
        return (None,)
    return ((*shape, None if length is None else length // size),)


define("DecodePaddedRaw", shape=ranked(_padded_raw, fixed_length=0))


def _csv(ctx: ShapeContext) -> Sequence[Shape]:
    records, *defaults = ctx.shapes
    for shape in defaults:
        if shape is not None and (len(shape) > 1 or shape[:1] not in ((), (0,), (1,), (None,))):
            raise refused(f"a default must have at most one element, got {shape_text(shape)}")
    return (records,) * len(defaults)


define("DecodeCSV", shape=_csv)
