"""Slices: their text, their bounds, and keys that sort like numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphvm_runtime.checkpoint import TensorSlice, parse_shape_and_slice
from graphvm_runtime.checkpoint.slices import slice_key
from graphvm_runtime.errors import InvalidArgumentError

EXTENTS = st.lists(
    st.just((0, -1)) | st.tuples(st.integers(0, 2**62), st.integers(1, 2**62)), max_size=4
)


@given(EXTENTS)
def test_text_and_message_round_trip(extents: list[tuple[int, int]]) -> None:
    cut = TensorSlice(tuple(extents))
    assert TensorSlice.parse(str(cut)) == cut
    assert TensorSlice.from_proto(cut.to_proto()) == cut


def test_what_save_ops_are_given() -> None:
    shape, cut = parse_shape_and_slice("4 6 2,2:-")
    assert shape == (4, 6)
    assert cut.bounds(shape) == ((2, 4), (0, 6))
    assert cut.shape(shape) == (2, 6)
    assert parse_shape_and_slice("") == ((), TensorSlice(()))
    assert parse_shape_and_slice("3 -") == ((3,), TensorSlice.whole(1))


@pytest.mark.parametrize("text", ["4 6 2,3:-", "4 6 0,2", "4 x -:-", "4 1", "4 0,0", "4 -1,2", "4"])
def test_malformed_slices_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_shape_and_slice(text)


def test_a_key_as_tensorflow_writes_it() -> None:
    cut = TensorSlice(((0, 2), (0, -1)))
    assert slice_key(b"t", cut).hex() == "0074000101028082807f"
    wide = TensorSlice(((300, 63), (64, 2**40)))
    assert slice_key(b"\0\xff", wide).hex() == (
        "00" + "00ffff000001" + "0102" + "c12cbf" + "c040" + "fd0000000000"
    )


@given(st.lists(st.tuples(st.binary(max_size=3), EXTENTS), min_size=2, max_size=5))
def test_keys_sort_like_what_they_stand_for(
    items: list[tuple[bytes, list[tuple[int, int]]]],
) -> None:
    by_key = sorted(items, key=lambda i: slice_key(i[0], TensorSlice(tuple(i[1]))))
    assert by_key == sorted(items, key=lambda i: (i[0], len(i[1]), i[1]))
