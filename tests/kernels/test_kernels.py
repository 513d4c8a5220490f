"""Each kernel gives what a plain reference gives, whichever way it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels import Kernel, made
from tests.ops.plain import brought_to
from tests.ops.rows import TOLERANCE, Row, Sample, node_of, outputs_of, scalars
from tests.ops.table import all_samples, cases, name_of, sampled_rows, samples_of

every_type = pytest.mark.parametrize(("row", "dtype"), list(cases()), ids=name_of)
every = pytest.mark.parametrize("row", sampled_rows(), ids=name_of)


def run(kernel: Kernel, node: Node, inputs: list[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        return outputs_of(kernel.call(*inputs), node)


def same(got: Any, want: Any, tolerance: float = 0.0) -> bool:
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.hasobject or not tolerance:
        return bool(np.array_equal(got, want, equal_nan=got.dtype.kind in "fcV"))
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):  # NumPy 1 warns of infinities
        near = np.allclose(
            got.astype(wide), want.astype(wide), tolerance, tolerance, equal_nan=True
        )
    return bool(near)


def in_memory(values: list[Any]) -> list[Any]:
    """Arrays with gaps between their elements, as views of others have."""
    out = []
    for v in values:
        if getattr(v, "ndim", 0):
            wide = np.repeat(v, 2, axis=-1)
            v = wide[..., ::2]
        out.append(v)
    return out


def rounding(dtype: DType) -> float:
    """NumPy's complex products differ in the last digit between memory layouts."""
    return TOLERANCE[dtype.name] if dtype.is_complex else 0.0


def shown(sample: Sample) -> str:
    return f"{sample.inputs} {dict(sample.attrs)}"


@every_type
def test_kernel_gives_what_the_reference_gives(row: Row, dtype: DType) -> None:
    for sample in samples_of(row, dtype):
        node = node_of(row.op, sample)
        got = run(made(node), node, sample.flat)
        with np.errstate(all="ignore"):
            assert row.reference is not None
            reference = row.reference(*sample.inputs, **sample.attrs)
        want = [reference] if len(node.outputs) == 1 else list(reference)
        assert len(got) == len(want) == len(node.outputs)
        for value, expected, type_ in zip(got, want, node.outputs, strict=True):
            limit = row.tolerance.get(type_.dtype.name, TOLERANCE.get(type_.dtype.name, 0.0))
            exact = brought_to(type_.dtype, expected)
            assert same(np.asarray(value), exact, limit), f"{shown(sample)}: {value}\nnot {exact}"


@every
def test_kernel_takes_scalars_and_gaps(row: Row) -> None:
    for dtype, sample in all_samples(row):
        node = node_of(row.op, sample)
        kernel = made(node)
        limit = 2 * row.tolerance.get(dtype.name, TOLERANCE.get(dtype.name, 0.0))
        want = run(kernel, node, sample.flat)
        for inputs in (scalars(sample.flat), in_memory(sample.flat)):
            for a, b in zip(run(kernel, node, inputs), want, strict=True):
                assert same(np.asarray(a), np.asarray(b), limit), shown(sample)


@every
def test_kernel_gives_arrays_and_leaves_its_inputs_alone(row: Row) -> None:
    for _, sample in all_samples(row):
        node = node_of(row.op, sample)
        for inputs in (sample.flat, scalars(sample.flat)):
            before = [np.array(x) for x in inputs]
            got = run(made(node), node, inputs)
            for x, y in zip(inputs, before, strict=True):
                assert same(np.asarray(x), y), shown(sample)
            for value, type_ in zip(got, node.outputs, strict=True):
                is_string = type_.dtype is dtypes.string
                assert isinstance(value, np.ndarray if is_string else np.ndarray | np.generic)


@every
def test_expression_does_what_the_kernel_does(row: Row) -> None:
    for _, sample in all_samples(row):
        node = node_of(row.op, sample)
        kernel = made(node)
        if not kernel.expression or node.outputs[0].dtype is dtypes.string:
            continue
        for inputs in (sample.flat, scalars(sample.flat)):
            names = {f"x{i}": x for i, x in enumerate(inputs)}
            with np.errstate(all="ignore"):
                got = eval(kernel.expression.format(*names), {}, names)
            (want,) = run(kernel, node, inputs)
            assert isinstance(got, np.ndarray | np.generic), shown(sample)
            assert same(np.asarray(got), np.asarray(want)), shown(sample)


@every
def test_out_receives_the_result(row: Row) -> None:
    for dtype, sample in all_samples(row):
        node = node_of(row.op, sample)
        kernel = made(node)
        if not kernel.out:
            continue
        (want,) = run(kernel, node, sample.flat)
        out = np.empty(np.shape(want), np.asarray(want).dtype)
        with np.errstate(all="ignore"):
            assert kernel.call(*sample.flat, out=out) is out, shown(sample)
        assert same(out, np.asarray(want), rounding(dtype)), shown(sample)


@every
def test_inplace_may_overwrite_any_input(row: Row) -> None:
    for dtype, sample in all_samples(row):
        node = node_of(row.op, sample)
        kernel = made(node)
        if not kernel.inplace:
            continue
        assert kernel.out
        (want,) = run(kernel, node, sample.flat)
        for i, x in enumerate(sample.flat):
            if x.shape == np.shape(want) and x.dtype == np.asarray(want).dtype:
                inputs = [y.copy() for y in sample.flat]
                with np.errstate(all="ignore"):
                    kernel.call(*inputs, out=inputs[i])
                assert same(inputs[i], np.asarray(want), rounding(dtype)), shown(sample)


@every
def test_outputs_share_only_the_memory_that_is_declared(row: Row) -> None:
    for _, sample in all_samples(row):
        node = node_of(row.op, sample)
        kernel = made(node)
        if kernel.borrowed:
            continue
        inputs = [x.copy() for x in sample.flat]
        for value in run(kernel, node, inputs):
            for i, x in enumerate(inputs):
                if i not in kernel.aliases and isinstance(value, np.ndarray):
                    assert not np.may_share_memory(value, x), shown(sample)
