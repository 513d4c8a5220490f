"""A shape function says what the kernel gives, or says less, whatever it is told."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels import made
from graphvm_runtime.ops.registry import ShapeContext
from graphvm_runtime.shapes import Shape, is_subshape
from tests.ops.rows import Known, Row, Sample, Wrong, dtype_of, node_of, outputs_of
from tests.ops.table import ROWS, all_samples, name_of, sampled_rows

every = pytest.mark.parametrize("row", sampled_rows(), ids=name_of)


def real_shapes(node: Node, sample: Sample) -> list[tuple[int, ...]]:
    with np.errstate(all="ignore"):
        outputs = outputs_of(made(node).call(*sample.flat), node)
    return [np.shape(v) for v in outputs]


def blurred(rng: np.random.Generator, shape: tuple[int, ...]) -> Shape:
    """The shape with some of it unknown."""
    if rng.random() < 0.2:
        return None
    return tuple(None if rng.random() < 0.4 else d for d in shape)


@every
def test_all_that_is_known_gives_the_real_shape(row: Row) -> None:
    for _, sample in all_samples(row):
        node = node_of(row.op, sample, Known(sample.flat))
        want = real_shapes(node, sample)
        got = [t.shape for t in node.outputs]
        if row.op == "BroadcastGradientArgs":  # as in TensorFlow, not worked out
            assert got == [(None,), (None,)]
        elif (
            row.is_recorded  # what TensorFlow knows, `test_recorded` asks
            or row.op == "FakeParam"
            or row.op.startswith("Ragged")
            or (row.op in ("Equal", "NotEqual") and "in" in str(sample.attrs))
        ):
            assert all(is_subshape(w, g) for w, g in zip(want, got, strict=True))
        elif row.op == "Where":  # how many there are is not looked up
            assert [g[1:] for g in got if g is not None] == [w[1:] for w in want]
        elif row.op == "PlaceholderWithDefault":
            assert got == [sample.attrs["shape"]]
        else:
            assert got == want, sample


@every
def test_less_knowledge_covers_the_real_shape(row: Row) -> None:
    for number, (dtype, sample) in enumerate(all_samples(row)):
        rng = np.random.default_rng(zlib.crc32(f"{row.op} {dtype.name} {number}".encode()))
        want = real_shapes(node_of(row.op, sample), sample)
        for _ in range(6):
            shapes = [blurred(rng, x.shape) for x in sample.flat]
            known = [bool(rng.random() < 0.5) for _ in sample.flat]
            node = node_of(row.op, sample, Known(sample.flat, known), shapes)
            for real, type_ in zip(want, node.outputs, strict=True):
                fits = is_subshape(real, type_.shape)
                assert fits or row.op == "FakeParam", f"{sample} {shapes} {known}: {type_}"


@every
def test_a_static_value_is_what_the_kernel_gives(row: Row) -> None:
    for _, sample in all_samples(row):
        known = Known(sample.flat)
        node = node_of(row.op, sample, known)
        if node.op.value is None or not node.outputs[0].dtype.is_integer:
            continue
        types = [dtype_of(x) for x in sample.flat]
        shapes: list[Any] = [x.shape for x in sample.flat]
        ctx = ShapeContext(node.op, shapes, node.attrs, known, types)
        value = node.op.value(ctx)
        if value is None:
            continue
        (want,) = outputs_of(made(node).call(*sample.flat), node)[:1]
        expected = np.asarray(want).tolist()
        if isinstance(value, tuple):
            assert isinstance(expected, list)
            assert len(value) == len(expected), sample
            pairs = list(zip(value, expected, strict=True))
        else:
            pairs = [(value, expected)]
        assert all(v is None or v == e for v, e in pairs), f"{sample}: {value} not {expected}"


def static_refusals() -> list[Any]:
    return [
        pytest.param(row, wrong, id=f"{row.op}-{i}")
        for row in ROWS.values()
        for i, wrong in enumerate(row.wrong)
        if wrong.static
    ]


@pytest.mark.parametrize(("row", "wrong"), static_refusals())
def test_wrong_inputs_are_refused_where_the_node_is_made(row: Row, wrong: Wrong) -> None:
    with pytest.raises(ShapeError, match=wrong.static):
        node_of(row.op, wrong.sample, Known(wrong.sample.flat))
