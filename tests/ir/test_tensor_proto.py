"""TensorProto: every encoding decodes, what is encoded decodes to the same array."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphvm_runtime import dtypes
from graphvm_runtime.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError
from graphvm_runtime.ir.graphdef import tensor_proto
from graphvm_runtime.protos.tensor_pb2 import TensorProto

Array = Any
NUMERIC = [
    d
    for d in (dtypes.from_enum(e) for e in range(1, 31) if e not in (7, 20, 21, 26, 27, 28))
    if d.is_numpy_compatible
]


def parsed(text: str, *dims: int) -> TensorProto:
    proto = text_format.Parse(text, TensorProto())
    proto.tensor_shape.SetInParent()
    for d in dims:
        proto.tensor_shape.dim.add(size=d)
    return proto


def same(got: Array, want: Array) -> None:
    want = np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype == object:
        assert got.tolist() == want.tolist()
    else:
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("text", "values", "numpy"),
    [
        ("dtype: DT_FLOAT float_val: [1.5, 2]", [1.5, 2, 2], np.float32),
        ("dtype: DT_DOUBLE double_val: [1.5, -0.0]", [1.5, -0.0, -0.0], np.float64),
        ("dtype: DT_INT32 int_val: [-1, 7]", [-1, 7, 7], np.int32),
        ("dtype: DT_INT16 int_val: [-1, 40000]", [-1, -25536, -25536], np.int16),
        ("dtype: DT_UINT8 int_val: [255, 300]", [255, 44, 44], np.uint8),
        ("dtype: DT_UINT16 int_val: [65535]", [65535] * 3, np.uint16),
        ("dtype: DT_QINT8 int_val: [-3]", [-3] * 3, np.int8),
        ("dtype: DT_QUINT16 int_val: [65535]", [65535] * 3, np.uint16),
        ("dtype: DT_INT64 int64_val: [-9223372036854775808]", [-(2**63)] * 3, np.int64),
        ("dtype: DT_UINT32 uint32_val: [4294967295]", [2**32 - 1] * 3, np.uint32),
        ("dtype: DT_UINT64 uint64_val: [18446744073709551615]", [2**64 - 1] * 3, np.uint64),
        ("dtype: DT_BOOL bool_val: [true, false]", [True, False, False], np.bool_),
        ("dtype: DT_HALF half_val: [15360, 49152]", [1, -2, -2], np.float16),
        ("dtype: DT_BFLOAT16 half_val: [16256, 49152]", [1, -2, -2], ml_dtypes.bfloat16),
        ("dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3, 4]", [1 + 2j, 3 + 4j, 3 + 4j], np.complex64),
        ("dtype: DT_COMPLEX128 dcomplex_val: [1, 2, 9]", [1 + 2j] * 3, np.complex128),
        ("dtype: DT_FLOAT8_E5M2 float8_val: '<\\300'", [1, -2, -2], ml_dtypes.float8_e5m2),
        ("dtype: DT_INT4 int_val: [-8, 7]", [-8, 7, 7], ml_dtypes.int4),
        ("dtype: DT_INT4 tensor_content: '\\010\\007\\001'", [-8, 7, 1], ml_dtypes.int4),
        ("dtype: DT_FLOAT", [0, 0, 0], np.float32),
        ("dtype: DT_COMPLEX64", [0, 0, 0], np.complex64),
    ],
)
def test_typed_lists_repeat_their_last_value(text: str, values: list[Any], numpy: Any) -> None:
    same(tensor_proto.decode(parsed(text, 3)), np.array(values, numpy))


def test_values_beyond_the_shape_are_dropped() -> None:
    same(
        tensor_proto.decode(parsed("dtype: DT_INT32 int_val: [1, 2, 3, 4]", 2)),
        np.array([1, 2], np.int32),
    )
    text = "dtype: DT_STRING string_val: ['a', 'b', 'c']"
    assert tensor_proto.decode(parsed(text, 2)).tolist() == [b"a", b"b"]


def test_strings_in_all_their_forms() -> None:
    two = parsed("dtype: DT_STRING string_val: ['a', '\\377\\000']", 2, 2)
    assert tensor_proto.decode(two).tolist() == [[b"a", b"\xff\0"], [b"\xff\0", b"\xff\0"]]
    assert tensor_proto.decode(parsed("dtype: DT_STRING", 2)).tolist() == [b"", b""]
    assert tensor_proto.decode(parsed("dtype: DT_STRING string_val: 'x'")).item() == b"x"
    packed = parsed("dtype: DT_STRING tensor_content: '\\002\\000\\001abc'", 3)
    assert tensor_proto.decode(packed).tolist() == [b"ab", b"", b"c"]


def test_content_wins_over_a_list() -> None:
    proto = parsed("dtype: DT_INT16 int_val: 9 tensor_content: '\\001\\000\\002\\000'", 2)
    same(tensor_proto.decode(proto), np.array([1, 2], np.int16))


def test_decoded_arrays_are_read_only() -> None:
    for text in ("dtype: DT_INT32 int_val: 1", "dtype: DT_INT32", "dtype: DT_STRING"):
        with pytest.raises(ValueError, match="read-only"):
            tensor_proto.decode(parsed(text, 2))[0] = 5


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (parsed("dtype: DT_FLOAT tensor_content: 'abc'", 1), "has 3 bytes, not 4"),
        (parsed("dtype: DT_FLOAT tensor_content: 'abcd'", 0), "has 4 bytes, not 0"),
        (parsed("dtype: DT_FLOAT", 2, -1), "known whole"),
        (parsed("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), "known whole"),
        (parsed("dtype: DT_FLOAT", *[2**31] * 3), "more than 2..63 - 1 elements"),
        (parsed("dtype: DT_FLOAT", *[1] * 65), "rank 65"),
        (parsed("dtype: DT_FLOAT", *[1] * 255), "rank 255"),
        (parsed("dtype: DT_FLOAT", -2), "below -1"),
        (parsed("dtype: DT_FLOAT", 2**40, 2**40, 0), "elements"),
        (parsed("dtype: DT_FLOAT_REF", 1), "float32_ref"),
        (parsed("dtype: DT_STRING tensor_content: '\\002ab'", 2), "is not 2 strings"),
        (parsed("dtype: DT_STRING tensor_content: '\\200\\200\\200'", 1), "is not 1 strings"),
        # a length that never ends, which must not take time that grows with its square
        (parsed("dtype: DT_STRING tensor_content: '" + "\\377" * 500_000 + "'", 1), "1 strings"),
        (parsed("dtype: DT_RESOURCE resource_handle_val: {name: 'v'}"), "only in the process"),
        (parsed("dtype: DT_VARIANT variant_val: {type_name: 'v'}"), "only in the process"),
    ],
)
def test_malformed_tensors_are_invalid_arguments(proto: TensorProto, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        tensor_proto.decode(proto)


def test_an_unknown_element_type_is_named() -> None:
    with pytest.raises(DTypeError, match="77"):
        tensor_proto.decode(TensorProto(dtype=77))  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="0"):
        tensor_proto.decode(TensorProto())


def test_a_tensor_beyond_memory_is_reported() -> None:
    with pytest.raises(ResourceExhaustedError, match="no memory for a tensor f64"):
        tensor_proto.decode(parsed("dtype: DT_DOUBLE double_val: 1", 2**59))


@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 0), (2, 3), (1, 1)])
def test_encoded_arrays_decode_to_themselves(dtype: dtypes.DType, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    array = (np.arange(size) % 2).astype(dtype.numpy).reshape(shape)
    proto = tensor_proto.encode(array, dtype)
    assert proto.dtype == dtype.enum
    again = TensorProto.FromString(proto.SerializeToString())
    same(tensor_proto.decode(again), array)


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float16, np.int64, np.uint8, np.bool_, np.complex128]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
    )
)
def test_any_array_survives_bit_for_bit(array: Array) -> None:
    same(tensor_proto.decode(tensor_proto.encode(array)), array)


def test_strings_survive() -> None:
    for array in (
        np.array([[b"a", "é"], [b"\0", ""]], object),
        np.array(b"one", object),
        np.array(["x", "yz"]),
        np.empty((0, 2), object),
    ):
        got = tensor_proto.decode(tensor_proto.encode(array))
        assert got.shape == array.shape
        want = [x.encode() if isinstance(x, str) else x for x in array.ravel().tolist()]
        assert got.ravel().tolist() == want


def test_trailing_zero_bytes_survive() -> None:
    assert tensor_proto.decode(tensor_proto.encode(b"a\0")).item() == b"a\0"
    assert tensor_proto.decode(tensor_proto.encode([b"a\0", b""])).tolist() == [b"a\0", b""]


def test_one_value_uses_its_list_and_more_use_content() -> None:
    assert tensor_proto.encode(np.float32(2)).float_val == [2]
    assert tensor_proto.encode(np.zeros((1, 1), np.float16) + 1).half_val == [15360]
    assert tensor_proto.encode(np.array([1, 2], np.int16)).tensor_content == b"\1\0\2\0"
    empty = tensor_proto.encode(np.zeros((0, 3), np.float32))
    assert not empty.float_val
    assert not empty.tensor_content
    assert tensor_proto.encode(np.float32(2)).HasField("tensor_shape")


def test_views_and_foreign_byte_orders_are_written_in_order() -> None:
    array = np.arange(12, dtype=">i4").reshape(3, 4).T[::2]
    same(tensor_proto.decode(tensor_proto.encode(array)), np.ascontiguousarray(array, np.int32))


def test_an_element_that_is_no_string_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="must be a string: 3"):
        tensor_proto.encode(np.array([b"a", 3], object))


def test_a_tensor_beyond_one_message_is_refused() -> None:
    huge = np.broadcast_to(np.float32(1), (2**15, 2**14 + 1))
    with pytest.raises(InvalidArgumentError, match="2 GB"):
        tensor_proto.encode(huge)


def test_resources_cannot_be_encoded() -> None:
    with pytest.raises(InvalidArgumentError, match="resource"):
        tensor_proto.encode(np.empty((), object), dtypes.resource)


def test_partial_shapes_cross_both_ways() -> None:
    for shape in (None, (), (3, None), (0,)):
        assert tensor_proto.shape_of_proto(tensor_proto.shape_proto(shape)) == shape
