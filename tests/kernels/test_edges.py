"""Kernels at the edges of rank and size: what they refuse, they refuse in our words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels import Kernel, made
from graphvm_runtime.vm.error_translation import translated
from tests.ops.rows import Known, Row, Sample, node_of, outputs_of, scalars
from tests.ops.table import sampled_rows, samples_of

MOST_SAMPLES = 6  # of a row; more of them show the same edges
FAR = 7  # beyond all that samples index
# NumPy 1 converts an array of one element to a number with a warning, NumPy 2 refuses it.
pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")
every = pytest.mark.parametrize("row", sampled_rows(), ids=lambda row: row.op)


def filled(shape: tuple[int, ...], like: Array) -> Array:
    out = np.empty(shape, like.dtype)
    out[...] = like.flat[0] if like.size else b"" if like.dtype.hasobject else like.dtype.type(0)
    return out


def edges(x: Array) -> Iterator[Array]:
    """The array as a scalar, empty, short or of another rank, with numbers far off."""
    yield filled((), x)
    yield filled((0,), x)
    yield x[np.newaxis]
    for axis in range(x.ndim):
        yield x.take([], axis)
        yield x[(slice(None),) * axis + (slice(0, 1),)]
    if x.ndim and len(x):
        yield filled(x.shape[1:], x)
    if x.dtype.kind in "iu":
        for number in (-1, 0, FAR):
            if number >= np.iinfo(x.dtype).min:
                yield np.full_like(x, number)


def at_edges(row: Row) -> Iterator[Sample]:
    for sample in samples_of(row, row.element_types()[0])[:MOST_SAMPLES]:
        flat = [np.asarray(x) for x in sample.flat]
        for i, x in enumerate(flat):
            for edge in edges(x):
                rest = iter([*flat[:i], edge, *flat[i + 1 :]])
                groups = (
                    [next(rest) for _ in item] if isinstance(item, list) else next(rest)
                    for item in sample.inputs
                )
                yield Sample(tuple(groups), sample.attrs)


def unknown(sample: Sample) -> list[Any]:
    return [None] * len(sample.flat)


def raised(kernel: Kernel, node: Node, inputs: list[Any]) -> Exception | None:
    try:
        with np.errstate(all="ignore"):
            outputs_of(kernel.call(*inputs), node)
    except Exception as error:
        return error
    return None


@every
def test_no_words_of_python_or_numpy_reach_the_user(row: Row) -> None:
    """A kernel computes, refuses with an error of ours, or leaves it to the op's shape rule."""
    for sample in at_edges(row):
        try:
            node = node_of(row.op, sample, shapes=unknown(sample))
            kernel = made(node)
        except GraphvmError:
            continue  # refused before it could run
        if kernel.step:
            return
        inputs = scalars(sample.flat)
        shapes = [x.shape for x in sample.flat]
        error = raised(kernel, node, inputs)
        if error is None or isinstance(error, GraphvmError):
            continue
        told = translated(error, node, inputs)
        assert "does not take these inputs" not in told.what, (
            f"{shapes} {dict(sample.attrs)}: {error}"
        )
        assert str(error) not in str(told)


@every
def test_a_result_has_the_shape_that_the_rule_says(row: Row) -> None:
    for sample in at_edges(row):
        try:
            said = node_of(row.op, sample, Known(sample.flat))
            kernel = made(said)
            if kernel.step:
                return
            with np.errstate(all="ignore"):
                got = outputs_of(kernel.call(*scalars(sample.flat)), said)
        except GraphvmError:
            continue
        for value, type_ in zip(got, said.outputs, strict=True):
            if isinstance(value, np.ndarray | np.generic) and type_.shape is not None:
                want = [
                    n if d is None else d for n, d in zip(value.shape, type_.shape, strict=True)
                ]
                assert list(value.shape) == want, [x.shape for x in sample.flat]
