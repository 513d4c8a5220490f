"""What an op promises to passes is so; and passes ask for promises, not for names."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm_runtime
from graphvm_runtime.dtypes import resource
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels import has_kernel, made
from graphvm_runtime.ops import OpDef, lookup, names
from graphvm_runtime.ops.registry import ShapeContext, Trait, known
from graphvm_runtime.shapes import TensorType
from tests.ops.rows import Sample, dtype_of, node_of
from tests.ops.table import ROWS

PASSES = Path(graphvm_runtime.__file__).parent / "compiler/passes"
# what a pass matches because of its arithmetic, not because of a promise that other ops share
ARITHMETIC = {"hoist_matmul.py"}
OPS = [lookup(name) for name in names()]


def with_trait(trait: Trait) -> list[str]:
    return [op.name for op in OPS if op.traits & trait]


def sampled(op: str) -> Iterator[tuple[Node, Sample]]:
    row = ROWS[op]
    for dtype in row.element_types():
        for sample in row.samples(dtype):
            yield node_of(op, sample), sample


def computed(node: Node, sample: Sample) -> Any:
    return made(node).call(*sample.flat)


@pytest.mark.parametrize("op", [op.name for op in OPS if op.forwards and has_kernel(op.name)])
def test_what_an_op_hands_on_is_what_it_got(op: str) -> None:
    for node, sample in sampled(op):
        found = computed(node, sample)
        for got, want in zip(found if len(node.outputs) > 1 else [found], sample.flat, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", with_trait(Trait.SAME_TYPE_IDENTITY))
def test_where_input_and_output_have_one_type_they_are_the_same(op: str) -> None:
    for node, sample in sampled(op):
        source = sample.flat[0]
        if TensorType(dtype_of(source), np.shape(source)) == node.outputs[0]:
            np.testing.assert_array_equal(computed(node, sample), source)


@pytest.mark.parametrize("op", with_trait(Trait.TYPE_ONLY))
def test_the_types_of_its_inputs_say_the_whole_value(op: str) -> None:
    for node, sample in sampled(op):
        context = ShapeContext(node.op, [np.shape(x) for x in sample.flat], node.attrs)
        assert node.op.value is not None
        first = computed(node, sample)
        first = first if len(node.outputs) == 1 else first[0]
        np.testing.assert_array_equal(node.op.value(context), first)


@pytest.mark.parametrize("op", with_trait(Trait.REMATERIALISABLE))
def test_what_is_made_anew_takes_nothing_and_changes_nothing(op: str) -> None:
    assert not lookup(op).inputs
    assert not lookup(op).is_stateful


@pytest.mark.parametrize("op", [op for op in OPS if op.region], ids=lambda op: op.name)
def test_a_region_names_attributes_and_inputs_that_the_op_has(op: OpDef) -> None:
    assert op.region is not None
    assert {op.attrs[body].kind for body in op.region.bodies} <= {"func", "list(func)"}
    assert [arg.list_attr for arg in op.inputs[op.region.first :]] == [op.region.types]


@pytest.mark.parametrize("op", [op for op in OPS if op.on_handles], ids=lambda op: op.name)
def test_the_form_on_handles_takes_a_resource_for_the_reference(op: OpDef) -> None:
    form = lookup(op.on_handles)
    assert len(form.inputs) == len(op.inputs)
    ends = [(op.inputs, form.inputs), (op.outputs, form.outputs)]
    assert next(a for b, a in ends if b and b[0].is_ref)[0].dtype is resource


def lists_of_ops(file: Path) -> Iterator[str]:
    """Literal collections with the names of several ops."""
    for node in ast.walk(ast.parse(file.read_text())):
        items: list[Any] = []
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            items = node.elts
        elif isinstance(node, ast.Dict):
            items = node.keys
        named = [i.value for i in items if isinstance(i, ast.Constant)]
        if sum(isinstance(n, str) and known(n) for n in named) > 1:
            yield f"{file.name}: {named}"


def test_no_pass_has_a_list_of_ops() -> None:
    files = [f for f in PASSES.rglob("*.py") if f.name not in ARITHMETIC]
    assert files
    assert [found for f in files for found in lists_of_ops(f)] == []
