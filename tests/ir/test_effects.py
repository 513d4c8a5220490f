"""Which nodes leave a trace, and which reach the host: what their ops declare of them says it."""

from __future__ import annotations

import ast
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.ir import effects
from graphvm_runtime.ir.effects import SideEffects
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.ops.registry import Effects, lookup, names
from graphvm_runtime.shapes import TensorType

NUMBER = TensorType(tf.float32, ())


def node(op: str, **attrs: Any) -> Node:
    """A node of an op; nothing that is asked here looks at its inputs or types."""
    declared = lookup(op)
    full = {k: a.default for k, a in declared.attrs.items()} | attrs
    return Node(
        "n", declared, (), (), MappingProxyType(full), (NUMBER,) * len(declared.outputs)
    )  # fmt: skip


TRACES = {
    "Print": True, "PrintV2": True, "Assert": True,
    "CountUpTo": True, "ResourceCountUpTo": True,
    "Assign": True, "AssignAdd": True, "AssignVariableOp": True, "RestoreV2": True,
    "ApplyGradientDescent": True, "ResourceApplyGradientDescent": True,
    "QueueEnqueueV2": True, "QueueDequeueV2": True, "QueueCloseV2": True,
    "SaveV2": True, "MergeV2Checkpoints": True,
    "TensorArrayCloseV3": False, "TensorArrayV3": False, "TensorArrayWriteV3": False,
    "ControlTrigger": False, "NoOp": False, "Const": False, "Add": False,
    "ReadVariableOp": False, "VarHandleOp": False, "VariableV2": False,
    "VarIsInitializedOp": False, "IsVariableInitialized": False,
    "RandomUniform": False, "TruncatedNormal": False, "FIFOQueueV2": False, "_Arg": False,
}  # fmt: skip


@pytest.mark.parametrize("op", TRACES)
def test_an_op_leaves_a_trace_or_none(op: str) -> None:
    assert SideEffects({}).left_by(node(op)) is TRACES[op]


def test_traces_know_no_names_of_ops() -> None:
    tree = ast.parse(Path(effects.__file__).read_text())
    strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert not strings & set(names())


def test_effects_that_attributes_decide_add_to_those_of_the_op() -> None:
    for stream, reaches in ((b"stderr", False), (b"log(info)", False), (b"file://x", True)):
        found = node("PrintV2", output_stream=stream).effects
        assert bool(found & Effects.HOST) is reaches
        assert found & Effects.STATEFUL


@pytest.mark.parametrize("op", names())
def test_kinds_of_effects_belong_to_ops_with_state(op: str) -> None:
    declared = lookup(op)
    assert declared.is_stateful or declared.effects == Effects.PURE
    if declared.effects & Effects.QUIET:
        assert not declared.outputs
        assert not declared.effects & Effects.TRACE
    if declared.effects & Effects.TRACE:
        assert declared.outputs
    if declared.effects_by is None:
        assert node(op).effects == declared.effects


def test_an_attribute_of_another_op_that_is_called_the_same_reaches_nothing() -> None:
    assert node("NoOp", output_stream=b"file://x").effects == Effects.PURE
