"""Kernels refuse wrong inputs with a typed error that says what is wrong."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.errors import (
    DTypeError,
    GraphError,
    GraphvmError,
    InvalidArgumentError,
    ShapeError,
    UnimplementedError,
)
from graphvm_runtime.ir.graph import Endpoint, Node
from graphvm_runtime.kernels import kernel, made
from graphvm_runtime.ops import lookup
from graphvm_runtime.shapes import TensorType
from tests.ops.rows import Row, Wrong, dtype_of, given, ints, node_of, strings
from tests.ops.table import ROWS


def blind(op: str, wrong: Wrong) -> Node:
    """The node as made without any knowledge of shapes."""
    sample = wrong.sample
    shapes = [None] * len(sample.flat)
    try:
        return node_of(op, sample, shapes=shapes)
    except ShapeError:  # refused by its attributes alone
        declared = lookup(op)
        groups = [
            [dtype_of(x) for x in (item if isinstance(item, list) else [item])]
            for item in sample.inputs
        ]
        attrs = declared.completed(groups, sample.attrs)
        outputs = tuple(TensorType(t, None) for t in declared.output_dtypes(attrs))
        ends = tuple(Endpoint(f"input{i}") for i in range(len(sample.flat)))
        return Node("sample", declared, ends, (), MappingProxyType(dict(attrs)), outputs)


def running_refusals() -> list[Any]:
    return [
        pytest.param(row, wrong, id=f"{row.op}-{i}")
        for row in ROWS.values()
        for i, wrong in enumerate(row.wrong)
        if wrong.running
    ]


@pytest.mark.parametrize(("row", "wrong"), running_refusals())
def test_wrong_inputs_are_refused_when_the_kernel_runs(row: Row, wrong: Wrong) -> None:
    found = made(blind(row.op, wrong))
    # NumPy's own errors are turned into InvalidArgumentError by the machine
    with (
        np.errstate(all="ignore"),
        pytest.raises((GraphvmError, ValueError, IndexError, TypeError)) as error,
    ):
        found.call(*wrong.sample.flat)
    assert re.search(wrong.running, str(error.value))
    if isinstance(error.value, GraphvmError):
        assert error.value.code == InvalidArgumentError.error_code


def test_assert_prints_its_data() -> None:
    sample = given(np.array(False), [strings(b"hello"), ints(1, 2, 3, 4), np.array(1.5)])
    with pytest.raises(InvalidArgumentError, match=r"failed: \[hello\] \[1 2 3\.\.\.\] \[1\.5\]"):
        made(node_of("Assert", sample)).call(*sample.flat)


def test_assert_prints_as_much_as_it_is_told() -> None:
    sample = given(np.array(False), [ints(1, 2, 3, 4), np.array(True)], summarize=-1)
    with pytest.raises(InvalidArgumentError, match=r"failed: \[1 2 3 4\] \[1\]"):
        made(node_of("Assert", sample)).call(*sample.flat)


def test_assert_lets_what_is_true_pass() -> None:
    sample = given(np.array(True), [ints(1)])
    made(node_of("Assert", sample)).call(*sample.flat)


def test_a_no_op_gives_nothing() -> None:
    node = node_of("NoOp", given())
    assert node.outputs == ()
    made(node).call()


def test_a_placeholder_that_is_not_fed_says_so() -> None:
    node = node_of("Placeholder", given(dtype=dtypes.float32, shape=(2, None)))
    with pytest.raises(InvalidArgumentError, match=r"'sample' of type float32 and shape \[2,\?\]"):
        made(node).call()


def test_strings_are_not_cast() -> None:
    node = node_of("Cast", given(strings(b"1"), DstT=dtypes.float32))
    with pytest.raises(DTypeError, match="no cast from string to float32"):
        made(node)


def test_a_constant_of_another_type_fails_when_it_runs() -> None:
    node = node_of("Const", given(value=ints(1), dtype=dtypes.float32))
    with pytest.raises(InvalidArgumentError, match="of int32, the attribute says float32"):
        made(node).call()


def test_an_op_without_a_kernel_says_so() -> None:
    node = node_of("LoopCond", given(np.array(True)))
    with pytest.raises(UnimplementedError, match="no kernel for LoopCond"):
        made(node)


def test_a_second_kernel_is_refused() -> None:
    with pytest.raises(GraphError, match="'MatMul' has a kernel already"):
        kernel("MatMul")(lambda node: np.matmul)


def test_a_kernel_of_no_op_is_refused() -> None:
    with pytest.raises(GraphError, match="no op is called 'Frobnicate'"):
        kernel("Frobnicate")(lambda node: np.matmul)
