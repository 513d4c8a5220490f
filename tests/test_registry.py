"""Each op is whole: declaration, kernel, row in the table. One that lacks something says why."""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphvm import rules
from graphvm.rules.nondifferentiable import FAMILIES
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import float32, int32
from graphvm_runtime.errors import DTypeError, GraphError
from graphvm_runtime.kernels import has_kernel, load_all, made
from graphvm_runtime.ops import OpDef, lookup, names
from graphvm_runtime.ops.registry import Effects, declare, families, family_of
from graphvm_runtime.ops.shape_functions import unchanged
from graphvm_runtime.ops.signature import (
    REQUIRED,
    FuncRef,
    integer,
    list_of,
    text,
    type_list,
    types,
)
from tests.ops.rows import node_of
from tests.ops.table import ROWS

ROOT = Path(__file__).resolve().parent.parent

MACHINE = "the machine runs it: interpreter, emitted code and dataflow"
DEREFERENCE = "the pass `dereference` turns it into an op on a resource before anything runs"
BOUNDARY = "the machine fills it in where a function is called"
MATERIALISE = "`ir.materialise` removes it before anything runs"
WITHOUT_KERNEL = {
    **dict.fromkeys(
        (
            "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile",
            "PartitionedCall", "StatefulPartitionedCall", "Switch", "Merge", "Enter",
            "Exit", "NextIteration", "LoopCond", "ControlTrigger",
        ),
        MACHINE,
    ),
    **dict.fromkeys(
        (n for n in names() if any(a.is_ref for a in (*lookup(n).inputs, *lookup(n).outputs))),
        DEREFERENCE,
    ),
    "For": "the pass `counted` turns it into a call of a loop before anything runs",
    "SymbolicGradient": "a session sends a call of the derived function in its place",
    "_Arg": BOUNDARY,
    "_Saved": MATERIALISE,
}  # fmt: skip
WITHOUT_ROW = {
    "_Send": "tested with the cluster that it serves",
    "_Recv": "tested with the cluster that it serves",
}

every_op = pytest.mark.parametrize("name", names())


@every_op
def test_an_op_has_a_kernel_or_says_why_not(name: str) -> None:
    assert has_kernel(name) != (name in WITHOUT_KERNEL)


@pytest.mark.parametrize("family", sorted({lookup(name).family for name in names()}))
def test_kernels_lie_in_the_file_of_their_family(family: str) -> None:
    """Kernels are loaded by families: one that lies elsewhere would be found by chance only."""
    load_all()
    ops = [n for n in names() if lookup(n).family == family and has_kernel(n)]
    program = (
        "from graphvm_runtime import kernels, ops\n"
        f"missing = [op for op in {ops} if not kernels.has_kernel(op)]\n"
        "assert not missing, missing"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("table", [*pkgutil.walk_packages(rules.__path__, "graphvm.rules.")])
def test_rules_lie_in_the_file_of_their_family(table: pkgutil.ModuleInfo) -> None:
    ops = getattr(importlib.import_module(table.name), "TABLE", {})
    assert {family_of(op) for op in ops} <= {table.name.removeprefix("graphvm.rules.")}


def test_a_nondifferentiable_family_is_a_family() -> None:
    assert set(FAMILIES) <= set(families())


@every_op
def test_an_op_with_a_kernel_has_a_row_in_the_table(name: str) -> None:
    assert (name in ROWS) != (name in WITHOUT_KERNEL or name in WITHOUT_ROW)


@pytest.mark.parametrize("name", [op for op, row in ROWS.items() if row.tested_in])
def test_an_op_that_is_tested_elsewhere_is_named_there(name: str) -> None:
    assert name in _strings_of(ROOT / ROWS[name].tested_in)


@functools.cache
def _strings_of(module: Path) -> frozenset[str]:
    """The strings of a module's code; a comment tests nothing."""
    nodes = ast.walk(ast.parse(module.read_text()))
    values = (n.value for n in nodes if isinstance(n, ast.Constant))
    return frozenset(v for v in values if isinstance(v, str))


@every_op
def test_each_attribute_that_the_signature_names_is_declared(name: str) -> None:
    op = lookup(name)
    for arg in (*op.inputs, *op.outputs):
        for attr in (arg.type_attr, arg.list_attr, arg.number_attr):
            assert not attr or attr in op.attrs
        assert [bool(arg.dtype), bool(arg.type_attr), bool(arg.list_attr)].count(True) == 1


@every_op
def test_defaults_are_allowed(name: str) -> None:
    for attr, declared in lookup(name).attrs.items():
        if declared.allowed is not None and declared.default is not REQUIRED:
            assert declared.default in declared.allowed, attr


@every_op
def test_only_blocking_kernels_have_a_form_that_does_not_wait(name: str) -> None:
    row = ROWS.get(name)
    if row is None or row.tested_in or name in WITHOUT_KERNEL:
        return
    sample = next(iter(row.samples(row.element_types()[0])))
    kernel = made(node_of(name, sample))
    assert (kernel.start is not None) == bool(lookup(name).effects & Effects.BLOCKING)


def declared(name: str, signature: str, **attrs: object) -> OpDef:
    return declare(name, signature, attrs, shape=unchanged)  # type: ignore[arg-type]  # AttrDefs


@pytest.fixture(scope="module")
def sample_op() -> OpDef:
    return declared(
        "_SampleForTests",  # internal, so that it shows in no list of ops
        "x: T, many: N*T, any: *Tany, s: string -> y: T, z: ref T, all: *Tany",
        T=types(float32, int32), N=integer(minimum=1), Tany=type_list(minimum=1),
        mode=text(b"a", allowed=(b"a", b"b")), sizes=list_of("int", (), 0),
    )  # fmt: skip


GROUPS = [[float32], [float32, float32], [int32, float32], [dtypes.string]]


def test_attributes_follow_from_inputs_and_defaults(sample_op: OpDef) -> None:
    attrs = sample_op.completed(GROUPS, {"_class": (b"loc:@x",)})
    assert dict(attrs) == {
        "T": float32, "N": 2, "Tany": (int32, float32), "mode": b"a", "sizes": (),
        "_class": (b"loc:@x",),
    }  # fmt: skip
    assert sample_op.output_dtypes(attrs) == (float32, float32.ref, int32, float32)
    assert sample_op.output_slice("all", attrs) == slice(2, 4)
    assert sample_op.grouped(list("abcdef"), attrs) == [["a"], ["b", "c"], ["d", "e"], ["f"]]


@pytest.mark.parametrize(
    ("groups", "attrs", "error", "message"),
    [
        (
            [[float32], [int32], [int32], [dtypes.string]],
            {},
            DTypeError,
            "takes float32 for 'many'",
        ),
        ([[dtypes.bool_], *GROUPS[1:]], {}, DTypeError, "does not take T = bool; allowed: float32"),
        (GROUPS, {"mode": b"c"}, GraphError, "does not take mode = b'c'; allowed: b'a', b'b'"),
        (GROUPS, {"N": 3}, GraphError, "takes 3 tensors for 'many', got 2"),
        ([[float32], [], [int32], [dtypes.string]], {}, GraphError, "needs N >= 1, got 0"),
        ([[float32], [float32], [], [dtypes.string]], {}, GraphError, "needs Tany >= 1, got 0"),
        ([*GROUPS[:3], [int32]], {}, DTypeError, "takes string for 's', got int32"),
    ],
)
def test_what_does_not_fit_the_declaration_is_refused(
    sample_op: OpDef, groups: list[list[dtypes.DType]], attrs: dict[str, object],
    error: type[Exception], message: str,
) -> None:  # fmt: skip
    with pytest.raises(error, match=re.escape(message)):
        sample_op.completed(groups, attrs)


def test_a_required_attribute_must_be_given() -> None:
    with pytest.raises(GraphError, match="Placeholder needs the attribute 'dtype'"):
        lookup("Placeholder").completed([], {})


def test_a_reference_must_be_one() -> None:
    with pytest.raises(DTypeError, match="takes a reference for 'ref', got a value of float32"):
        lookup("Assign").completed([[float32], [float32]], {})


def test_too_many_inputs_are_refused(sample_op: OpDef) -> None:
    attrs = sample_op.completed(GROUPS, {})
    with pytest.raises(GraphError, match="takes 6 inputs, got 7"):
        sample_op.grouped(list("abcdefg"), attrs)


def test_an_unknown_output_is_refused(sample_op: OpDef) -> None:
    with pytest.raises(GraphError, match="has no output 'w'"):
        sample_op.output_slice("w", sample_op.completed(GROUPS, {}))


def test_a_name_is_declared_once() -> None:
    with pytest.raises(GraphError, match="op 'MatMul' is declared already"):
        declared("MatMul", "->")


def test_an_unknown_op_is_refused() -> None:
    with pytest.raises(GraphError, match="no op is called 'Frobnicate'"):
        lookup("Frobnicate")


def test_a_function_attribute_equals_its_like() -> None:
    assert FuncRef("f") == FuncRef("f")
    assert np.dtype(object) == dtypes.string.numpy
