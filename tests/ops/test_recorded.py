"""Ops do what TensorFlow did with the same samples: values, static shapes, refusals, programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import DTypeError, GraphError, GraphvmError, ShapeError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels import made
from graphvm_runtime.shapes import Shape, is_subshape
from tests.ops.recorded import Recorded, key_of, read
from tests.ops.rows import TOLERANCE, Known, Row, Sample, node_of, outputs_of
from tests.ops.table import ROWS, TABLE_OF, TABLES, name_of

CASES = [(row, dtype) for row in ROWS.values() if row.is_recorded for dtype in row.element_types()]
every = pytest.mark.parametrize(("row", "dtype"), CASES, ids=name_of)
REFUSED = (GraphvmError, ValueError, TypeError)


def outcomes(row: Row, dtype: DType) -> list[tuple[Sample, Recorded]]:
    """The samples with what TensorFlow made of them; those that it has a kernel for."""
    known = read(TABLE_OF[row.op])[0]
    found = [
        (sample, known[key_of(row, dtype.name, i)]) for i, sample in enumerate(row.samples(dtype))
    ]
    assert found, f"{row.op} has no samples for {dtype.name}"
    return [(sample, outcome) for sample, outcome in found if not outcome.is_unsupported]


def is_kind(error: BaseException, name: str) -> bool:
    """Whether an error is of TensorFlow's class of that name, or says the same where we build."""
    if name in ("ValueError", "TypeError"):
        return isinstance(error, REFUSED)
    if name == "InvalidArgumentError" and isinstance(error, ShapeError | DTypeError | GraphError):
        return True
    return name in {k.__name__ for k in type(error).__mro__}


def same(got: Any, want: Any, limit: float) -> bool:
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if got.dtype.kind in "OSUbiu" or not limit:
        return bool(np.array_equal(got, want, equal_nan=got.dtype.kind in "fcV"))
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):  # NumPy 1 warns of infinities
        return bool(np.allclose(got.astype(wide), want.astype(wide), limit, limit, equal_nan=True))


def attempt(make: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call gives, or its error."""
    try:
        with np.errstate(all="ignore"):
            return make(), None
    except REFUSED as error:
        return None, error


def run(op: str, sample: Sample) -> list[Any]:
    node = node_of(op, sample, Known(sample.flat))
    return outputs_of(made(node).call(*sample.flat), node)


def is_refused_blindly(op: str, sample: Sample) -> bool:
    """Whether an op fails too where no shapes were known before it runs."""
    try:
        node = node_of(op, sample, shapes=[None] * len(sample.flat))
        with np.errstate(all="ignore"):
            outputs_of(made(node).call(*sample.flat), node)
    except Exception:  # whatever it is, the shape rule finds the words
        return True
    return False


@every
def test_values_and_refusals_are_those_of_tensorflow(row: Row, dtype: DType) -> None:
    for sample, outcome in outcomes(row, dtype):
        shown = f"{sample.inputs} {dict(sample.attrs)}"
        got, error = attempt(partial(run, row.op, sample))
        if outcome.outputs is None:
            assert error is not None, f"{shown}: {got}, not {outcome.error}"
            assert is_kind(error, outcome.error), f"{shown}: {error!r}, not {outcome.error}"
            assert is_refused_blindly(row.op, sample), f"{shown}: the kernel alone takes it"
            continue
        assert error is None, f"{shown}: {error!r}, not {outcome.outputs}"
        unset = row.unset(sample.attrs)
        for i, (value, want) in enumerate(zip(got, outcome.outputs, strict=True)):
            if i in unset:
                continue
            name = want.dtype.name
            limit = row.tolerance.get(name, TOLERANCE.get(name, 0.0))
            assert same(value, want, limit), f"{shown}: {value!r}, not {want!r}"


@every
def test_static_shapes_are_those_of_tensorflow(row: Row, dtype: DType) -> None:
    for sample, outcome in outcomes(row, dtype):
        ranks: list[Shape] = [(None,) * x.ndim for x in sample.flat]
        known = partial(node_of, row.op, sample, Known(sample.flat))
        refused = row.sharper or outcome.outputs is None  # then it does not matter when
        agrees(row, sample, outcome.known, known, refused)
        unknown = partial(node_of, row.op, sample, shapes=ranks)
        agrees(row, sample, outcome.ranks, unknown, refused)


def agrees(row: Row, sample: Sample, want: Any, make: Callable[[], Node], early: bool) -> None:
    node, error = attempt(make)
    shown = f"{[x.shape for x in sample.flat]} {dict(sample.attrs)}"
    if error is not None:
        assert early or isinstance(want, str), f"{shown}: {error!r}, not {want}"
        return
    got: Sequence[Shape] = [t.shape for t in node.outputs]
    if isinstance(want, str):
        assert early, f"{shown}: {got}, not {want}"
        return
    theirs = [None if s is None else tuple(s) for s in want]
    if row.sharper:
        assert all(is_subshape(g, w) for g, w in zip(got, theirs, strict=True)), shown
    else:
        assert list(got) == theirs, f"{shown}: {got}, not {theirs}"


PROGRAMS = [
    (name, function)
    for name in TABLES
    if (Path(__file__).parent / f"programs_{name}.py").exists()
    for function in import_module(f"tests.ops.programs_{name}").PROGRAMS
]


@pytest.mark.parametrize(("table", "program"), PROGRAMS, ids=lambda p: getattr(p, "__name__", p))
def test_programs_end_as_in_tensorflow(table: str, program: Callable[[Any], Any]) -> None:
    want = read(table)[1][program.__name__]
    got = program(tf)
    assert len(got) == len(want)
    for value, expected in zip(got, want, strict=True):
        limit = TOLERANCE.get(expected.dtype.name, 0.0)
        assert same(as_recorded(value), expected, limit), f"{value!r}, not {expected!r}"


def as_recorded(value: Any) -> Any:
    """A value in the form of the record: strings are bytes."""
    array = np.asarray(value)
    if array.dtype.kind not in "SUO":
        return array
    flat = [v.encode() if isinstance(v, str) else v for v in array.ravel()]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(array.shape)
