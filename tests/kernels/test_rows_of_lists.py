"""Tensor lists made of rows and parts of tensors, and tensors made of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import float32, int32, string
from graphvm_runtime.errors import DTypeError, GraphvmError, InvalidArgumentError, ShapeError
from graphvm_runtime.values.tensor_list import TensorList
from tests.kernels.calling import Bench

ANY, SCALAR = np.int32(-1), np.zeros(0, np.int32)


def vector(*values: float) -> Any:
    return np.array(values, np.float32)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def test_some_elements_are_gathered() -> None:
    bench = Bench()
    held = TensorList(float32, (2,), [vector(1, 2), None, vector(3, 4)])
    got = bench("TensorListGather", held, ints(2, 2, 1), ANY, element_dtype=float32)
    assert got.tolist() == [[3, 4], [3, 4], [0, 0]]
    none = bench("TensorListGather", held, ints(), ANY, element_dtype=float32)
    assert none.shape == (0, 2)
    with pytest.raises(InvalidArgumentError, match="element 3 of a list that has 3"):
        bench("TensorListGather", held, ints(3), ANY, element_dtype=float32)
    with pytest.raises(InvalidArgumentError, match="the list holds float32, not int32"):
        bench("TensorListGather", held, ints(0), ANY, element_dtype=int32)


def test_rows_are_scattered() -> None:
    bench = Bench()
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    held = bench("TensorListScatterV2", rows, ints(3, 0, 3), ints(2), np.int32(-1))
    assert [None if e is None else e.tolist() for e in held.elements()] == [
        [2, 3], None, None, [4, 5],
    ]  # fmt: skip
    assert len(bench("TensorListScatterV2", rows, ints(0, 1, 2), ANY, np.int32(5))) == 5
    with pytest.raises(InvalidArgumentError, match="element 2 of a list that has 2"):
        bench("TensorListScatterV2", rows, ints(0, 1, 2), ANY, np.int32(2))
    with pytest.raises(ShapeError, match=r"3 rows for 2 indices"):
        bench("TensorListScatterV2", rows, ints(0, 1), ANY, np.int32(2))


def test_rows_are_scattered_into_a_list() -> None:
    bench = Bench()
    held = TensorList(float32, (), [np.float32(1), np.float32(2)])
    got = bench("TensorListScatterIntoExistingList", held, vector(8, 9), ints(1, 3))
    assert got.elements() == [1, 8, None, 9]
    assert held.elements() == [1, 2]
    with pytest.raises(InvalidArgumentError, match="element -1 of a list"):
        bench("TensorListScatterIntoExistingList", held, vector(8), ints(-1))


def test_split_and_concat_are_inverse() -> None:
    bench = Bench()
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    lengths = np.array([2, 0, 3], np.int64)
    held = bench("TensorListSplit", rows, ints(-1, 2), lengths)
    assert held.element_shape == (None, 2)
    assert [len(e) for e in held.elements()] == [2, 0, 3]
    back, sizes = bench("TensorListConcatV2", held, ints(-1, -1), lengths, element_dtype=float32)
    np.testing.assert_array_equal(back, rows)
    np.testing.assert_array_equal(sizes, lengths)


def test_lengths_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"\[1, 1\] do not add up to the 3 rows"):
        Bench()("TensorListSplit", vector(1, 2, 3), ANY, np.array([1, 1], np.int64))
    with pytest.raises(InvalidArgumentError, match=r"\[4, -1\] do not add up to the 3 rows"):
        Bench()("TensorListSplit", vector(1, 2, 3), ANY, np.array([4, -1], np.int64))


def test_elements_that_were_never_set_have_the_length_given() -> None:
    bench = Bench()
    held = TensorList(float32, (None, 2), [np.ones((1, 2), np.float32), None])
    lengths = np.array([1, 2], np.int64)
    got, sizes = bench("TensorListConcatV2", held, ANY, lengths, element_dtype=float32)
    assert got.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert sizes.tolist() == [1, 2]
    with pytest.raises(InvalidArgumentError, match="element 1 was never set, and only 0 lengths"):
        bench("TensorListConcatV2", held, ANY, lengths[:0], element_dtype=float32)


def test_an_empty_list_is_put_together_where_its_shape_is_known() -> None:
    bench = Bench()
    none = np.zeros(0, np.int64)
    got, sizes = bench(
        "TensorListConcatV2", TensorList(float32, None), ints(-1, 3), none, element_dtype=float32
    )
    assert (got.shape, sizes.shape) == ((0, 3), (0,))
    with pytest.raises(InvalidArgumentError, match="unknown shape"):
        bench("TensorListConcatV2", TensorList(float32, None), ANY, none, element_dtype=float32)


def test_scalars_are_not_put_together() -> None:
    held = TensorList(float32, None, [np.float32(1)])
    with pytest.raises(InvalidArgumentError, match="scalars cannot be put together"):
        Bench()("TensorListConcatV2", held, ANY, np.zeros(0, np.int64), element_dtype=float32)
    with pytest.raises(ShapeError, match=r"elements have rank 1 or more, got scalars"):
        Bench()("TensorListSplit", vector(1), SCALAR, np.array([1], np.int64))


@pytest.mark.parametrize("dtype", [string, dtypes.bool_])
def test_rows_of_any_type(dtype: dtypes.DType) -> None:
    bench = Bench()
    values = [b"a", b"bc", b""] if dtype is string else [True, False, True]
    rows = np.array(values, dtype.numpy)
    held = bench("TensorListScatterV2", rows, ints(2, 1, 0), SCALAR, np.int32(3))
    got = bench("TensorListGather", held, ints(2, 1, 0), SCALAR, element_dtype=dtype)
    assert got.tolist() == values
    parts = bench("TensorListSplit", rows, ANY, np.array([1, 2], np.int64))
    both, _ = bench("TensorListConcatV2", parts, ANY, np.zeros(0, np.int64), element_dtype=dtype)
    assert both.tolist() == values


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("TensorListScatterV2", (np.float32(1), ints(0), ANY, np.int32(1))),
        ("TensorListSplit", (np.float32(1), ANY, np.array([1], np.int64))),
    ],
)
def test_a_scalar_has_no_rows(op: str, inputs: Any) -> None:
    with pytest.raises((ShapeError, DTypeError, GraphvmError), match=r"rank 1 or more"):
        Bench()(op, *inputs)
