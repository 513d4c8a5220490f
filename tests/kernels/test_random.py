"""Random numbers: Philox, TensorFlow's numbers, and streams that go on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import InvalidArgumentError, ShapeError
from graphvm_runtime.kernels import made
from graphvm_runtime.kernels.random import philox
from tests.kernels.calling import Bench

OPS = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")


def drawn(bench: Bench, op: str, *shape: int, name: str = "r", **attrs: Any) -> Any:
    attrs.setdefault("dtype", dtypes.float32)
    return bench(op, np.array(shape, np.int32), name=name, **attrs)


# Known answers of the Random123 library: counter and key, each as its 32-bit words, and the words
# that ten rounds give.
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_known_answers(
    counter: list[int], key: list[int], words: list[int]
) -> None:
    whole = sum(w << 32 * i for i, w in enumerate(counter))
    (got,) = philox(key[0] | key[1] << 32, whole, np.zeros(1, np.int64))
    assert got.tolist() == words


def test_counters_carry() -> None:
    rows = philox(7, 2**64 - 1, np.arange(2))
    (second,) = philox(7, 2**64, np.zeros(1, np.int64))
    assert rows[1].tolist() == second.tolist()


# What TensorFlow 2.21 gives for these seeds.
RECORDED = {
    ("RandomUniform", "float16"): [
        [0.84375, 0.418945, 0.327148, 0.459961, 0.595703],
        [0.0292969, 0.206055, 0.619141, 0.802734, 0.510742],
    ],
    ("RandomUniform", "bfloat16"): [
        [0.75, 0.351562, 0.617188, 0.679688, 0.765625],
        [0.234375, 0.648438, 0.953125, 0.421875, 0.0859375],
    ],
    ("RandomUniform", "float32"): [
        [0.561626434, 0.234792352, 0.982217669, 0.360041499, 0.507519007],
        [0.779178381, 0.392603278, 0.753615618, 0.290503263, 0.542054534],
    ],
    ("RandomUniform", "float64"): [
        [
            0.493011799147,
            0.8577419116349,
            0.06015206936893,
            0.06458702012891,
            0.8272674248264,
        ],
        [
            0.2334278605741,
            0.02892511205841,
            0.3364371231236,
            0.9335768399093,
            0.5200582071713,
        ],
    ],
    ("RandomStandardNormal", "float16"): [
        [1.06934, 0.102478, 0.145874, -0.120789, 0.980469],
        [0.441406, -0.551758, 0.728027, -0.189331, 0.767578],
    ],
    ("RandomStandardNormal", "bfloat16"): [
        [1.07031, 0.102539, 0.145508, -0.120605, 0.980469],
        [0.441406, -0.550781, 0.726562, -0.189453, 0.769531],
    ],
    ("RandomStandardNormal", "float32"): [
        [1.06926799, 0.10248334, 0.145928755, -0.120786883, 0.980266869],
        [0.441326618, -0.551598966, 0.727935076, -0.189357474, 0.767777085],
    ],
    ("RandomStandardNormal", "float64"): [
        [
            -0.9270377852741,
            0.745013616254,
            0.9359979589776,
            2.178455115018,
            -0.3356919860553,
        ],
        [
            0.3083119764629,
            1.677709188437,
            -0.598294925287,
            1.349344725448,
            -1.140263085807,
        ],
    ],
    ("TruncatedNormal", "float16"): [
        [1.06934, 0.102478, 0.145874, -0.120789, -0.877441],
        [0.441406, -0.551758, 0.728027, -0.189331, -0.000449181],
    ],
    ("TruncatedNormal", "bfloat16"): [
        [1.07031, 0.102539, 0.145508, -0.120605, -0.878906],
        [0.441406, -0.550781, 0.726562, -0.189453, -0.000448227],
    ],
    ("TruncatedNormal", "float32"): [
        [1.06926799, 0.10248334, 0.145928755, -0.120786883, -0.877670646],
        [0.441326618, -0.551598966, 0.727935076, -0.189357474, -0.000449161802],
    ],
    ("TruncatedNormal", "float64"): [
        [
            -0.9270377852741,
            0.745013616254,
            1.592478225012,
            0.5992700711611,
            1.28606138864,
        ],
        [
            0.3083119764629,
            1.677709188437,
            0.146931836045,
            0.7957467835552,
            -0.4745467988109,
        ],
    ],
}


@pytest.mark.parametrize(("op", "dtype"), list(RECORDED))
def test_the_numbers_are_tensorflows(op: str, dtype: str) -> None:
    bench = Bench()
    got = [
        drawn(bench, op, 5, dtype=dtypes.as_dtype(dtype), seed=3, seed2=11).astype(np.float64)
        for _ in range(2)
    ]
    tolerance = {"float64": 1e-12, "float32": 1e-6}.get(dtype, 1e-3)
    np.testing.assert_allclose(got, RECORDED[op, dtype], tolerance, tolerance)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", dtypes.FLOATS)
def test_the_distribution_is_as_named(op: str, dtype: DType) -> None:
    got = drawn(Bench(), op, 20000, dtype=dtype, seed=1).astype(np.float64)
    mean, deviation = {
        "RandomUniform": (0.5, math.sqrt(1 / 12)),
        "RandomStandardNormal": (0.0, 1.0),
        "TruncatedNormal": (0.0, 0.8796),
    }[op]
    assert abs(got.mean() - mean) < 0.02
    assert abs(got.std() - deviation) < 0.02
    if op == "RandomUniform":
        assert got.min() >= 0
        assert got.max() < 1
    if op == "TruncatedNormal":
        assert abs(got).max() <= 2


@pytest.mark.parametrize("op", OPS)
def test_a_stream_goes_on_from_run_to_run(op: str) -> None:
    bench = Bench()
    first = drawn(bench, op, 3, seed=1)
    bench.step = bench.new_step()
    second = drawn(bench, op, 3, seed=1)
    assert not (first == second).any()
    again = Bench()
    assert (drawn(again, op, 3, seed=1) == first).all()
    assert (drawn(again, op, 3, seed=1) == second).all()


def test_each_node_has_a_stream_of_its_own() -> None:
    bench = Bench()
    first = drawn(bench, "RandomUniform", 3, name="a", seed=1)
    assert (drawn(bench, "RandomUniform", 3, name="b", seed=1) == first).all()
    inside = drawn(bench, "RandomUniform", 3, name="a", seed=1, _path=b"while/a")
    assert (inside == first).all()


def test_nodes_of_one_name_and_other_seeds_have_streams_of_their_own() -> None:
    first = drawn(Bench(), "RandomUniform", 3, seed=2)
    bench = Bench()
    drawn(bench, "RandomUniform", 3, seed=1)
    assert (drawn(bench, "RandomUniform", 3, seed=2) == first).all()


def test_no_seed_means_fresh_numbers_a_session() -> None:
    first, second = (drawn(Bench(), "RandomUniform", 3) for _ in range(2))
    assert not (first == second).any()


def test_negative_seeds_are_seeds() -> None:
    a = drawn(Bench(), "RandomUniform", 3, seed=-5, seed2=-7)
    assert (a == drawn(Bench(), "RandomUniform", 3, seed=-5, seed2=-7)).all()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3), (7,)])
def test_any_shape(op: str, shape: tuple[int, ...]) -> None:
    got = drawn(Bench(), op, *shape, dtype=dtypes.float64, seed=1)
    assert got.shape == shape
    assert got.dtype == np.float64


def test_a_negative_dimension_is_refused() -> None:
    bench = Bench()
    node = bench.node("RandomUniform", np.array([2], np.int32), dtype=dtypes.float32)
    with pytest.raises(InvalidArgumentError, match="a dimension is negative in"):
        made(node).call(bench.step, np.array([-2], np.int32))


def test_a_shape_that_is_no_vector_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"shape is a vector, got \[\]"):
        Bench().node("RandomUniform", np.int32(2), dtype=dtypes.float32)


LOGITS = np.array([[0.0, 1, 2, -np.inf], [-1, np.nan, 0.5, np.inf], [3, 3, 3, 3]], np.float32)


def test_classes_are_tensorflows() -> None:
    bench = Bench()
    first = bench("Multinomial", LOGITS, np.array(5, np.int32), seed=4, seed2=3)
    assert first.tolist() == [[2, 1, 0, 1, 2], [0, 2, 0, 2, 0], [0, 1, 2, 1, 2]]
    second = bench("Multinomial", LOGITS, np.array(5, np.int32), seed=4, seed2=3)
    assert second.tolist() == [[2, 2, 2, 2, 0], [0, 2, 2, 0, 2], [1, 2, 0, 0, 0]]
    assert second.dtype == np.int64


@pytest.mark.parametrize("dtype", dtypes.REALS)
def test_classes_come_as_often_as_they_are_likely(dtype: DType) -> None:
    logits = np.array([[0, 2], [3, 0]]).astype(dtype.numpy)
    drawn_ = Bench()(
        "Multinomial", logits, np.array(4000, np.int32), seed=1, output_dtype=dtypes.int32
    )
    assert drawn_.dtype == np.int32
    np.testing.assert_allclose(drawn_.mean(1), [0.8808, 0.0474], atol=0.02)


def test_no_likely_class_gives_their_number() -> None:
    nothing = np.full((1, 3), -np.inf, np.float32)
    assert Bench()("Multinomial", nothing, np.array(2, np.int32)).tolist() == [[3, 3]]


@pytest.mark.parametrize(
    ("logits", "count", "message"),
    [
        (LOGITS[0], np.array(1, np.int32), "a matrix"),
        (LOGITS, np.array([1], np.int32), "a scalar"),
        (LOGITS, np.array(-1, np.int32), "num_samples is -1"),
        (LOGITS[:, :0], np.array(1, np.int32), "no class"),
    ],
)
def test_wrong_draws_are_refused(logits: Any, count: Any, message: str) -> None:
    bench = Bench()
    kernel = made(bench.node("Multinomial", LOGITS, np.array(1, np.int32)))
    with pytest.raises(InvalidArgumentError, match=message):
        kernel.call(bench.step, logits, count)


def test_orders_are_tensorflows() -> None:
    bench = Bench()
    orders = [bench("RandomShuffle", np.arange(10), seed=4, seed2=2).tolist() for _ in range(2)]
    assert orders == [[1, 0, 2, 4, 8, 9, 7, 6, 3, 5], [9, 4, 8, 7, 6, 1, 3, 5, 0, 2]]


@pytest.mark.parametrize("shape", [(), (0, 2), (1,), (5, 2)])
def test_rows_are_only_moved(shape: tuple[int, ...]) -> None:
    rows = np.arange(int(np.prod(shape))).reshape(shape)
    got = Bench()("RandomShuffle", rows)
    assert sorted(got.ravel().tolist()) == rows.ravel().tolist()
    if len(shape) == 2:
        assert all((row == rows).all(-1).any() for row in got)
