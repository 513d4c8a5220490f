"""Arrays behind handles: written once, read once, with arrays of gradients beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphvm_runtime.dtypes import float32, int32, string
from graphvm_runtime.errors import InvalidArgumentError, ShapeError
from graphvm_runtime.kernels import made
from graphvm_runtime.values.tensor_array import TensorArray
from tests.kernels.calling import Bench

FLOW = np.float32(0)


def vector(*values: float) -> Any:
    return np.array(values, np.float32)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


class HandleValue:
    """An array, and the ops on it."""

    def __init__(self, size: int = 3, **attrs: Any) -> None:
        self.bench = Bench()
        self.dtype = attrs.setdefault("dtype", float32)
        self.array, self.flow = self.bench("TensorArrayV3", np.int32(size), **attrs)

    def write(self, index: int, value: Any) -> None:
        self.bench("TensorArrayWriteV3", self.array, np.int32(index), value, FLOW)

    def read(self, index: int) -> Any:
        inputs = (self.array, np.int32(index), FLOW)
        return self.bench("TensorArrayReadV3", *inputs, dtype=self.dtype)


def test_what_is_written_is_read() -> None:
    held = HandleValue()
    held.write(1, vector(1, 2))
    assert held.read(1).tolist() == [1, 2]
    assert held.bench("TensorArraySizeV3", held.array, FLOW) == 3


def test_an_element_is_written_once() -> None:
    held = HandleValue()
    held.write(0, np.float32(1))
    with pytest.raises(InvalidArgumentError, match="element 0 of 'TensorArrayV3' has been written"):
        held.write(0, np.float32(1))


def test_an_element_is_read_once_unless_it_is_kept() -> None:
    held = HandleValue()
    held.write(0, np.float32(1))
    held.read(0)
    with pytest.raises(InvalidArgumentError, match="has been read already and was let go"):
        held.read(0)
    with pytest.raises(InvalidArgumentError, match="has been read already: write it once"):
        held.write(0, np.float32(1))
    kept = HandleValue(clear_after_read=False)
    kept.write(0, np.float32(1))
    assert (kept.read(0), kept.read(0)) == (1, 1)


def test_only_a_dynamic_array_grows() -> None:
    with pytest.raises(InvalidArgumentError, match="'a' has 3 elements and cannot grow"):
        HandleValue(tensor_array_name=b"a").write(3, np.float32(1))
    with pytest.raises(InvalidArgumentError, match="none at -1"):
        HandleValue(dynamic_size=True).write(-1, np.float32(1))
    held = HandleValue(0, dynamic_size=True)
    held.write(4, np.float32(1))
    assert len(held.array) == 5
    with pytest.raises(InvalidArgumentError, match="has 5 elements: none is read at 5"):
        held.read(5)


def test_what_was_never_written_is_zero_where_its_shape_is_known() -> None:
    assert HandleValue(element_shape=(2,)).read(0).tolist() == [0, 0]
    with pytest.raises(InvalidArgumentError, match="was never written and its shape is not known"):
        HandleValue().read(0)
    same = HandleValue(identical_element_shapes=True)
    same.write(1, vector(1, 2))
    assert same.read(0).tolist() == [0, 0]


def test_elements_fit_the_array() -> None:
    held = HandleValue(element_shape=(2, None))
    with pytest.raises(InvalidArgumentError, match="an element of int32 for 'TensorArrayV3'"):
        held.write(0, np.zeros((2, 2), np.int32))
    with pytest.raises(InvalidArgumentError, match=r"shape \[3, 2\] for .* of elements \[2,\?\]"):
        held.write(0, np.zeros((3, 2), np.float32))
    with pytest.raises(InvalidArgumentError, match="holds float32, not int32"):
        held.bench("TensorArrayReadV3", held.array, np.int32(0), FLOW, dtype=int32)
    same = HandleValue(identical_element_shapes=True)
    same.write(0, vector(1, 2))
    with pytest.raises(InvalidArgumentError, match="an element of shape"):
        same.write(1, vector(1))


def test_rows_are_scattered_and_gathered() -> None:
    held = HandleValue(clear_after_read=False)
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    held.bench("TensorArrayScatterV3", held.array, ints(2, 0, 1), rows, FLOW)

    def gather(*at: int) -> Any:
        return held.bench("TensorArrayGatherV3", held.array, ints(*at), FLOW, dtype=float32)

    assert gather(2, 2).tolist() == [[0, 1], [0, 1]]
    with pytest.raises(InvalidArgumentError, match="an index is needed for each row"):
        held.bench("TensorArrayScatterV3", held.array, ints(0), rows, FLOW)
    shape = HandleValue(element_shape=(2,))
    none = shape.bench("TensorArrayGatherV3", shape.array, ints(), FLOW, dtype=float32)
    assert none.shape == (0, 2)


def test_parts_are_split_and_put_together() -> None:
    held = HandleValue(clear_after_read=False)
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    lengths = np.array([2, 0, 3], np.int64)
    held.bench("TensorArraySplitV3", held.array, rows, lengths, FLOW)
    assert held.read(1).shape == (0, 2)
    back, sizes = held.bench("TensorArrayConcatV3", held.array, FLOW, dtype=float32)
    np.testing.assert_array_equal(back, rows)
    np.testing.assert_array_equal(sizes, lengths)
    with pytest.raises(InvalidArgumentError, match="2 lengths for 'TensorArrayV3' of 3 elements"):
        held.bench("TensorArraySplitV3", held.array, rows, np.array([2, 3], np.int64), FLOW)
    with pytest.raises(InvalidArgumentError, match="do not add up to the 5 rows"):
        held.bench("TensorArraySplitV3", held.array, rows, np.array([1, 1, 1], np.int64), FLOW)
    empty = HandleValue(0)
    with pytest.raises(InvalidArgumentError, match="is empty and its elements have the unknown"):
        empty.bench("TensorArrayConcatV3", empty.array, FLOW, dtype=float32)
    scalars = HandleValue(1)
    scalars.write(0, np.float32(1))
    with pytest.raises(InvalidArgumentError, match="scalars cannot be put together"):
        scalars.bench("TensorArrayConcatV3", scalars.array, FLOW, dtype=float32)


def test_gradients_add_up_and_are_zero_where_nobody_wrote() -> None:
    held = HandleValue()
    held.write(0, vector(1, 2))
    held.write(1, vector(1, 2, 3))
    held.read(1)
    bench = held.bench
    made_twice = [
        bench("TensorArrayGradV3", held.array, FLOW, source=source)[0]
        for source in (b"a", b"a", b"b")
    ]
    grads, again, other = made_twice
    assert grads is again
    assert grads is not other
    for _ in range(2):
        bench("TensorArrayWriteV3", grads, np.int32(0), vector(1, 2), FLOW)
    assert grads.read(0).tolist() == [2, 4]
    assert grads.read(0).tolist() == [2, 4]
    assert grads.read(1).tolist() == [0, 0, 0]
    assert other.read(0).tolist() == [0, 0]
    with pytest.raises(InvalidArgumentError, match="cannot be added to element 0"):
        grads.write(0, vector(1, 2, 3))


def test_what_is_added_to_is_not_changed() -> None:
    held = HandleValue()
    grads = held.array.derived(b"g")
    first = vector(1, 2)
    grads.write(0, first)
    grads.write(0, vector(1, 1))
    assert first.tolist() == [1, 2]


def test_a_closed_array_is_gone() -> None:
    held = HandleValue()
    held.bench("TensorArrayCloseV3", held.array)
    with pytest.raises(InvalidArgumentError, match="'TensorArrayV3' is closed"):
        held.write(0, np.float32(1))


def test_an_array_of_strings() -> None:
    held = HandleValue(dtype=string, element_shape=())
    held.write(0, np.array(b"a", object))
    got = held.bench("TensorArrayGatherV3", held.array, ints(0, 1), FLOW, dtype=string)
    assert got.tolist() == [b"a", b""]


def test_what_goes_in_is_kept_and_what_comes_out_is_borrowed() -> None:
    held = HandleValue()
    inputs = (held.array, np.int32(0), FLOW)
    write = made(held.bench.node("TensorArrayWriteV3", *inputs[:2], vector(1), FLOW))
    read = made(held.bench.node("TensorArrayReadV3", *inputs, dtype=float32))
    assert write.keeps == (2,)
    assert read.borrowed


def test_scalars_and_vectors_are_asked_for() -> None:
    held = HandleValue()
    with pytest.raises(ShapeError, match=r"input 1 is a scalar, got shape \[1\]"):
        held.bench("TensorArrayReadV3", held.array, ints(0), FLOW, dtype=float32)
    with pytest.raises(ShapeError, match=r"input 1 is a vector, got rank 0"):
        held.bench("TensorArrayGatherV3", held.array, np.int32(0), FLOW, dtype=float32)
    with pytest.raises(InvalidArgumentError, match="an array cannot have -1 elements"):
        TensorArray("a", float32, -1)
