"""Rows of ops whose state, side effects or randomness no sample can show, and of strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import each
from tests.ops.rows import Row, Sample, Wrong, given, int_, strings

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


STRINGS = (
    Row(
        "StringJoin", _texts, _join, types=(dtypes.string,),
        wrong=(
            Wrong(given([strings(b"a"), strings(b"b", b"c")]), r"differ \(C1\)", "shapes differ"),
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
        "ResourceApplyGradientDescent", "ResourceApplyAdam",
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
    *(Row(op, tested_in=RANDOM) for op in (
        "RandomUniform", "RandomStandardNormal", "TruncatedNormal",
    )),
    *(Row(op, tested_in=FILES) for op in ("SaveV2", "RestoreV2", "MergeV2Checkpoints")),
    Row("Assert", tested_in="tests/kernels/test_errors.py"),
    Row("NoOp", tested_in="tests/kernels/test_errors.py"),
)  # fmt: skip
ROWS = (*STRINGS, *NOTED)
