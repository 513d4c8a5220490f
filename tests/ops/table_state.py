"""Rows of ops whose state, side effects or randomness no sample can show, and of strings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import each
from tests.ops.rows import Row, Sample, Wrong, given, int_, numbers, strings

VARIABLES = "tests/kernels/test_variables.py"
QUEUES = "tests/kernels/test_queues.py"
ARRAYS = "tests/kernels/test_arrays.py"
ROWS_OF_LISTS = "tests/kernels/test_rows_of_lists.py"
LISTS = "tests/kernels/test_lists.py"
RANDOM = "tests/kernels/test_random.py"
FILES = "tests/kernels/test_checkpoints.py"


def _texts(dtype: DType) -> Iterable[Sample]:
    yield given([strings(b"a", b"b"), np.array(b"-", object), strings(b"c", b"d")])
    yield given([np.array(b"x", object), np.array(b"y", object)], separator=b", ")
    yield given([strings(b"x")], separator=b", ")


def _join(inputs: list[Any], separator: bytes = b"") -> Any:
    return each(lambda *parts: separator.join(parts))(*inputs)


_FORMATS: tuple[dict[str, Any], ...] = (
    {}, {"width": 9}, {"width": 9, "fill": b"0"}, {"width": 9, "fill": b"-"},
    {"width": 9, "fill": b"+"}, {"width": 9, "fill": b" "}, {"fill": b"0"},
)  # fmt: skip
_FLOAT_FORMATS: tuple[dict[str, Any], ...] = (
    {"precision": 2}, {"scientific": True}, {"shortest": True},
    {"precision": 2, "scientific": True, "width": 15, "fill": b"0"},
    {"precision": 0, "width": 8, "fill": b"#"}, {"shortest": True, "precision": 3},
)  # fmt: skip


def _numbers(dtype: DType) -> Iterable[Sample]:
    inexact = dtype.is_floating or dtype.is_complex
    for format_ in (*_FORMATS, *(_FLOAT_FORMATS if inexact else ())):
        for shape in ((2, 3), (), (0,)):
            yield given(numbers(dtype, *shape, high=120), **format_)
        if dtype.is_floating:
            special = np.array([0.0, -0.0, 1e-4, 3e4, np.inf, -np.inf, np.nan])
            yield given(special.astype(dtype.numpy), **format_)


def _written(
    x: Any, precision: int = -1, scientific: bool = False, shortest: bool = False,
    width: int = -1, fill: bytes = b"",
) -> Any:  # fmt: skip
    def padded(text: str, plain: bool = False) -> str:
        if fill == b"-":
            return text.ljust(width)
        if fill == b"0" and not plain:
            signed = text[0] in "-+"
            return (text[0] if signed else "") + text[signed:].rjust(width - signed, "0")
        return text.rjust(width)

    def real(value: float) -> str:
        digits = 6 if precision < 0 else precision
        text = format(abs(value), f".{digits}{'e' if scientific else 'g' if shortest else 'f'}")
        sign = "-" if math.copysign(1, value) < 0 and value == value else ""
        if fill in (b"+", b" ") and not sign and width > -1:
            sign = fill.decode()
        if fill == b"#" and "." not in text and math.isfinite(value):
            text += "."
        return padded(sign + text, not math.isfinite(value))

    def one(value: Any) -> bytes:
        if isinstance(value, bytes):
            return value.ljust(width) if fill == b"-" else value.rjust(width)
        if isinstance(value, bool):
            return b"true" if value else b"false"
        if isinstance(value, int):
            signs = {b"+": "+", b" ": " "} if width > -1 and x.dtype.kind == "i" else {}
            return padded(f"{signs.get(fill, '') if value >= 0 else ''}{value}").encode()
        if isinstance(value, complex):
            return f"({real(value.real)},{real(value.imag)})".encode()
        return real(value).encode()

    return each(one)(x)


STRINGS = (
    Row(
        "StringJoin", _texts, _join, types=(dtypes.string,),
        wrong=(
            Wrong(given([strings(b"a"), strings(b"b", b"c")]), r"differ", "shapes differ"),
        ),
    ),
    Row(
        "AsString", _numbers, _written,
        types=(*dtypes.REALS, *dtypes.COMPLEX, dtypes.bool_, dtypes.string),
        wrong=(
            Wrong(given(int_(1), fill=b"x"), "", "fill b'x' is none of"),
            Wrong(given(int_(1), precision=2), "", "not for numbers of int32"),
            Wrong(given(int_(1), scientific=True), "", "not for numbers of int32"),
            Wrong(given(np.float32(1), scientific=True, shortest=True), "", "not both"),
        ),
    ),
    Row(
        "ShardedFilename", lambda dtype: [given(np.array(b"a/b", object), int_(1), int_(12))],
        lambda basename, shard, count: np.array(
            basename.item() + b"-%05d-of-%05d" % (shard, count), object
        ),
        types=(dtypes.string,),
    ),
)  # fmt: skip
NOTED = (
    *(Row(op, tested_in=VARIABLES) for op in (
        "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp",
        "AssignSubVariableOp", "VarIsInitializedOp", "VariableShape", "_Reference",
        "ResourceCountUpTo", "ResourceApplyGradientDescent", "ResourceApplyAdam",
        "DisableCopyOnRead",
    )),
    *(Row(op, tested_in=QUEUES) for op in (
        "FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueV2", "QueueCloseV2", "QueueSizeV2",
        "StackV2", "StackPushV2", "StackPopV2",
    )),
    *(Row(op, tested_in=LISTS) for op in (
        "EmptyTensorList", "TensorListReserve", "TensorListPushBack", "TensorListPopBack",
        "TensorListGetItem", "TensorListSetItem", "TensorListLength", "TensorListStack",
        "TensorListFromTensor", "TensorListElementShape", "TensorListResize",
    )),
    *(Row(op, tested_in=ROWS_OF_LISTS) for op in (
        "TensorListGather", "TensorListScatterV2", "TensorListScatterIntoExistingList",
        "TensorListSplit", "TensorListConcatV2",
    )),
    *(Row(op, tested_in=ARRAYS) for op in (
        "TensorArrayV3", "TensorArrayGradV3", "TensorArrayWriteV3", "TensorArrayReadV3",
        "TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayConcatV3",
        "TensorArraySplitV3", "TensorArraySizeV3", "TensorArrayCloseV3",
    )),
    *(Row(op, tested_in="tests/kernels/test_optionals.py") for op in (
        "OptionalNone", "OptionalFromValue", "OptionalHasValue", "OptionalGetValue",
    )),
    *(Row(op, tested_in=RANDOM) for op in (
        "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "Multinomial",
        "RandomShuffle",
    )),
    *(Row(op, tested_in=FILES) for op in ("SaveV2", "RestoreV2", "MergeV2Checkpoints")),
    Row("Assert", tested_in="tests/kernels/test_errors.py"),
    Row("Print", tested_in="tests/kernels/test_printing.py"),
    Row("PrintV2", tested_in="tests/kernels/test_printing.py"),
    Row("StringFormat", tested_in="tests/kernels/test_printing.py"),
    Row("NoOp", tested_in="tests/kernels/test_errors.py"),
)  # fmt: skip
ROWS = (*STRINGS, *NOTED)
