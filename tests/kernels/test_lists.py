"""Tensor lists: persistent versions, checks, and the ops on them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import float32, int32, string, variant
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.kernels import made
from graphvm_runtime.values.tensor_list import TensorList
from tests.kernels.calling import Bench

ANY, SCALAR = np.int32(-1), np.zeros(0, np.int32)


def numbers(*values: float) -> TensorList:
    return TensorList(float32, (), [np.float32(v) for v in values])


changes = st.lists(
    st.tuples(
        st.sampled_from(["push", "pop", "set", "forget"]), st.integers(0, 50), st.integers(0, 9)
    ),
    max_size=200,
)


@settings(max_examples=60, deadline=None)
@given(changes)
def test_every_version_stays_as_it_was(steps: list[tuple[str, int, int]]) -> None:
    versions: list[tuple[TensorList, list[float]]] = [(numbers(), [])]
    for count, (what, which, at) in enumerate(steps):
        held, model = versions[which % len(versions)]
        value = np.float32(count)
        if what == "push":
            versions.append((held.pushed(value), [*model, count]))
        elif what == "pop" and model:
            shorter, element = held.popped()
            assert element == model[-1]
            versions.append((shorter, model[:-1]))
        elif what == "set" and model:
            at %= len(model)
            versions.append((held.replaced(at, value), [*model[:at], count, *model[at + 1 :]]))
        elif what == "forget" and len(versions) > 1:
            versions.pop(which % len(versions))
        held, model = versions[at % len(versions)]
        if model:
            assert held.element(which % len(model)) == model[which % len(model)]
    for held, model in versions:
        assert held.elements() == model


@pytest.mark.parametrize("keep_first", [False, True])
def test_a_long_list_costs_a_constant_time_a_push(keep_first: bool) -> None:
    first = held = numbers()
    kept = first if keep_first else None
    copies = 0
    cells: Any = None
    for i in range(5000):
        held = held.pushed(np.float32(i))
        copies += cells is not None and held._cells.elements is not cells
        cells = held._cells.elements
    assert copies == 0
    assert len(held) == 5000
    assert kept is None or len(kept) == 0


def test_what_was_replaced_is_let_go() -> None:
    held = TensorList(float32, (3,), [np.zeros(3, np.float32)])
    array = np.ones(3, np.float32)
    before = sys.getrefcount(array)
    held = held.replaced(0, array)
    for _ in range(3):
        held = held.replaced(0, np.zeros(3, np.float32))
    assert sys.getrefcount(array) == before


def test_what_was_popped_is_let_go_while_older_versions_are_dead() -> None:
    array = np.ones(3, np.float32)
    held = TensorList(float32, (3,), [array, array])
    before = sys.getrefcount(array)
    held, _ = held.popped()
    held, _ = held.popped()
    held = held.pushed(np.zeros(3, np.float32))
    assert sys.getrefcount(array) < before
    assert len(held) == 1


def test_an_element_of_another_type_or_shape_is_refused() -> None:
    held = TensorList(float32, (2, None))
    with pytest.raises(InvalidArgumentError, match="an element of int32 in a list of float32"):
        held.pushed(np.zeros((2, 2), np.int32))
    with pytest.raises(InvalidArgumentError, match=r"shape \[3, 2\] in a list .* \[2,\?\]"):
        held.pushed(np.zeros((3, 2), np.float32))
    with pytest.raises(InvalidArgumentError, match="a list in a list of float32"):
        held.pushed(numbers())


def test_a_limit_is_kept() -> None:
    bench = Bench()
    held = bench("EmptyTensorList", SCALAR, np.int32(1), element_dtype=float32)
    held = bench("TensorListPushBack", held, np.float32(1))
    with pytest.raises(InvalidArgumentError, match="the list is full: it has 1 elements of 1"):
        bench("TensorListPushBack", held, np.float32(1))


def test_push_and_pop() -> None:
    bench = Bench()
    empty = bench("EmptyTensorList", SCALAR, ANY, element_dtype=float32)
    one = bench("TensorListPushBack", empty, np.float32(1))
    two = bench("TensorListPushBack", one, np.float32(2))
    assert bench("TensorListLength", two) == 2
    rest, last = bench("TensorListPopBack", two, SCALAR, element_dtype=float32)
    assert last == 2
    assert rest.elements() == [1]
    assert two.elements() == [1, 2]
    with pytest.raises(InvalidArgumentError, match="the list is empty"):
        bench("TensorListPopBack", empty, SCALAR, element_dtype=float32)


def test_reserved_elements_are_zeros_once_their_shape_is_known() -> None:
    bench = Bench()
    held = bench("TensorListReserve", ANY, np.int32(3), element_dtype=float32)
    with pytest.raises(InvalidArgumentError, match="never set has the unknown shape"):
        bench("TensorListGetItem", held, np.int32(0), ANY, element_dtype=float32)
    shape = np.array([2], np.int32)
    got = bench("TensorListGetItem", held, np.int32(0), shape, element_dtype=float32)
    assert got.tolist() == [0, 0]
    held = bench("TensorListSetItem", held, np.int32(1), np.ones(2, np.float32))
    assert bench("TensorListGetItem", held, np.int32(0), ANY, element_dtype=float32).shape == (2,)
    stacked = bench("TensorListStack", held, ANY, element_dtype=float32)
    assert stacked.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_an_index_outside_the_list_is_refused_unless_it_may_grow() -> None:
    bench = Bench()
    held = numbers(1, 2)
    with pytest.raises(InvalidArgumentError, match="element 2 of a list that has 2"):
        bench("TensorListGetItem", held, np.int32(2), SCALAR, element_dtype=float32)
    with pytest.raises(InvalidArgumentError, match="element -1 of a list that has 2"):
        bench("TensorListSetItem", held, np.int32(-1), np.float32(1))
    grown = bench(
        "TensorListSetItem", held, np.int32(3), np.float32(9), resize_if_index_out_of_bounds=True
    )
    assert grown.elements() == [1, 2, None, 9]
    assert held.elements() == [1, 2]


def test_an_element_type_that_differs_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="the list holds float32, not int32"):
        Bench()("TensorListGetItem", numbers(1), np.int32(0), SCALAR, element_dtype=int32)


def test_from_tensor_and_stack_are_inverse() -> None:
    bench = Bench()
    tensor = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    held = bench("TensorListFromTensor", tensor, np.array([2, -1], np.int32))
    assert held.element_shape == (2, None)
    back = bench("TensorListStack", held, ANY, element_dtype=float32, num_elements=3)
    np.testing.assert_array_equal(back, tensor)
    with pytest.raises(InvalidArgumentError, match="a list of 2 elements is due, it has 3"):
        bench("TensorListStack", held, ANY, element_dtype=float32, num_elements=2)


def test_strings_stay_arrays() -> None:
    bench = Bench()
    held = bench("TensorListFromTensor", np.array([b"a", b"bc"], object), SCALAR)
    item = bench("TensorListGetItem", held, np.int32(1), SCALAR, element_dtype=string)
    assert isinstance(item, np.ndarray)
    assert item.shape == ()
    assert bench("TensorListStack", held, ANY, element_dtype=string).tolist() == [b"a", b"bc"]
    reserved = bench("TensorListReserve", SCALAR, np.int32(1), element_dtype=string)
    assert bench("TensorListStack", reserved, ANY, element_dtype=string).tolist() == [b""]


@pytest.mark.parametrize("dtype", [float32, string, dtypes.bool_])
def test_an_empty_list_is_stacked_where_its_shape_is_known(dtype: dtypes.DType) -> None:
    bench = Bench()
    held = TensorList(dtype, (2, 3))
    stacked = bench("TensorListStack", held, ANY, element_dtype=dtype)
    assert (stacked.shape, stacked.dtype) == ((0, 2, 3), dtype.numpy)
    with pytest.raises(InvalidArgumentError, match="unknown shape"):
        bench("TensorListStack", TensorList(dtype, None), ANY, element_dtype=dtype)


def test_elements_of_different_shapes_are_not_stacked() -> None:
    held = TensorList(float32, None, [np.zeros(2, np.float32), np.zeros(3, np.float32)])
    with pytest.raises(InvalidArgumentError, match="elements of a list differ"):
        Bench()("TensorListStack", held, ANY, element_dtype=float32)


def test_lists_of_lists() -> None:
    bench = Bench()
    outer = bench("EmptyTensorList", SCALAR, ANY, element_dtype=variant)
    outer = bench("TensorListPushBack", outer, numbers(1, 2))
    inner = bench("TensorListGetItem", outer, np.int32(0), SCALAR, element_dtype=variant)
    assert inner.elements() == [1, 2]
    blank = bench("TensorListReserve", SCALAR, np.int32(1), element_dtype=variant)
    assert len(bench("TensorListGetItem", blank, np.int32(0), SCALAR, element_dtype=variant)) == 0


def test_sums_and_zeros_of_lists() -> None:
    bench = Bench()
    held = TensorList(float32, (2,), [np.ones(2, np.float32), None])
    total = bench("AddN", [held, held])
    first, second = total.elements()
    assert first.tolist() == [2, 2]
    assert second is None
    assert bench("ZerosLike", held).element(0).tolist() == [0, 0]
    with pytest.raises(InvalidArgumentError, match="cannot add"):
        bench("AddN", [held, numbers(1)])


def test_what_goes_in_is_kept_and_what_comes_out_is_shared() -> None:
    bench = Bench()
    held = numbers(1)
    push = made(bench.node("TensorListPushBack", held, np.float32(1)))
    get = made(bench.node("TensorListGetItem", held, np.int32(0), SCALAR, element_dtype=float32))
    assert push.keeps == (1,)
    assert push.aliases == (0,)
    assert get.aliases == (0,)


def test_an_element_shape_is_a_vector_or_minus_one() -> None:
    with pytest.raises(InvalidArgumentError, match="a vector or -1, got 3"):
        Bench()("EmptyTensorList", np.int32(3), ANY, element_dtype=float32)


def test_the_element_shape_of_a_list_is_told() -> None:
    bench = Bench()
    held = TensorList(float32, (2, None))
    shape = bench("TensorListElementShape", held, shape_type=dtypes.int64)
    assert (shape.tolist(), shape.dtype) == ([2, -1], np.int64)
    assert bench("TensorListElementShape", TensorList(float32, None), shape_type=int32) == -1


def test_a_list_is_made_longer_or_shorter() -> None:
    bench = Bench()
    held = numbers(1, 2, 3)
    assert bench("TensorListResize", held, np.int32(2)).elements() == [1, 2]
    assert bench("TensorListResize", held, np.int32(4)).elements() == [1, 2, 3, None]
    assert bench("TensorListResize", held, np.int32(3)) is held
    with pytest.raises(InvalidArgumentError, match="a list cannot have -1 elements"):
        bench("TensorListResize", held, np.int32(-1))
