"""16-bit floats: each op rounds where TensorFlow's kernel for the CPU does, bit by bit.

`tests/data/low_precision.npz` has what TensorFlow 2.21 gave for these cases. Sums whose order
depends on the processor's vectors (inner axes, products of matrices, softmax, pools, convolutions)
are not among them: here they are added up in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from graphvm_runtime.kernels import made
from tests.ops.rows import Sample, node_of

RECORDED = Path(__file__).parent.parent / "data" / "low_precision.npz"
TYPES: Mapping[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
SIZE = 160


class Case(NamedTuple):
    """An op, its inputs and its attributes."""

    name: str
    op: str
    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = {}


def spread(seed: int) -> Any:
    """Numbers of many sizes; from a linear congruence, so that they never change."""
    numbers = []
    for _ in range(SIZE):
        seed = (seed * 1103515245 + 12345) % 2**31
        numbers.append(seed / 2**30 - 1)
    return np.array(numbers) * 4.0 ** np.resize([-2, -1, 0, 1], SIZE)


def cases(dtype: Any) -> Iterator[Case]:
    x, y, z = (spread(seed).astype(dtype) for seed in (1, 2, 3))
    positive, inside = np.abs(x) + dtype(0.0625), np.tanh(x)
    rows = x.reshape(8, 20)
    ids = np.array([0, 1, 0, 1, 2, 0, 0, 1], np.int32)
    axis = np.array(1, np.int32)
    for op in (
        "Abs", "Neg", "Square", "Exp", "Expm1", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos",
        "Tanh", "Sigmoid", "Reciprocal", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign",
    ):  # fmt: skip
        yield Case(op, op, (x,))
    for op in ("Sqrt", "Rsqrt", "Log", "Log1p"):
        yield Case(op, op, (positive,))
    for op in (
        "Add", "AddV2", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod", "Maximum", "Minimum",
        "DivNoNan", "SquaredDifference", "ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad",
        "SoftplusGrad", "SoftsignGrad",
    ):  # fmt: skip
        yield Case(op, op, (x, y))
    yield Case("Pow", "Pow", (positive, y))
    for op in ("TanhGrad", "SigmoidGrad"):
        yield Case(op, op, (inside, y))
    for op in ("SqrtGrad", "RsqrtGrad", "ReciprocalGrad"):
        yield Case(op, op, (positive, y))
    yield Case("LeakyRelu", "LeakyRelu", (x,), {"alpha": 0.1})
    yield Case("LeakyReluGrad", "LeakyReluGrad", (x, y), {"alpha": 0.1})
    for op in ("Cumsum", "Cumprod"):
        yield Case(op, op, (rows, axis))
        yield Case(f"{op} back", op, (rows, axis), {"exclusive": True, "reverse": True})
    for op in ("Max", "Min"):
        yield Case(op, op, (rows, axis))
    yield Case("AddN of 2", "AddN", ([x, y],))
    yield Case("AddN of 6", "AddN", ([x, y, z] * 2,))
    yield Case("BiasAdd", "BiasAdd", (rows, y[:20]))
    yield Case("ClipByValue", "ClipByValue", (x, dtype(-0.5), dtype(0.75)))
    yield Case("UnsortedSegmentSum", "UnsortedSegmentSum", (rows, ids, np.array(3, np.int32)))
    yield Case("ScatterNd", "ScatterNd", (ids[:, None], rows, np.array([3, 20], np.int32)))


def all_cases() -> list[Any]:
    return [
        pytest.param(name, case, id=f"{case.name}-{name}")
        for name, dtype in TYPES.items()
        for case in cases(dtype)
    ]


@pytest.fixture(scope="module")
def recorded() -> Mapping[str, Any]:
    with np.load(RECORDED) as file:
        return dict(file)


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_bits_are_those_of_tensorflow(name: str, case: Case, recorded: Mapping[str, Any]) -> None:
    dtype = TYPES[name]
    arrays = [
        [np.asarray(x) for x in item] if isinstance(item, list) else np.asarray(item)
        for item in case.inputs
    ]
    node = node_of(case.op, Sample(tuple(arrays), case.attrs))
    with np.errstate(all="ignore"):
        got = np.asarray(made(node).call(*Sample(tuple(arrays), {}).flat))
    want = recorded[f"{name}/{case.name}"].view(dtype)
    assert got.dtype == dtype
    same = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), list(zip(got[~same].tolist(), want[~same].tolist(), strict=True))[:5]
