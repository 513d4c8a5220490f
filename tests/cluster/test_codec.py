"""Values, errors and graphs cross processes whole."""

import pickle
import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphvm as tf
from graphvm_runtime import errors
from graphvm_runtime.cluster.codec import (
    CHUNK,
    INLINE,
    Decoder,
    Encoder,
    chunks,
    error_of,
    failure,
)
from graphvm_runtime.cluster.graphs import Packed, received, unpacked
from graphvm_runtime.errors import (
    DataLossError,
    GraphvmError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
)
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.protos.types_pb2 import DT_FLOAT, DT_RESOURCE, DT_STRING
from graphvm_runtime.protos.worker_pb2 import Packet, RegisterGraph, Value


def crossed(value: Any, limit: int = 1 << 30) -> Any:
    """The value as the other side gets it."""
    encoder, decoder, message = Encoder(), Decoder(limit), Value()
    encoder.fill(message, value)
    for number, data in encoder.blobs:
        for chunk in chunks(number, data):
            assert len(chunk) < CHUNK + 100
            assert decoder.packet(chunk) is None
    return decoder.value(Value.FromString(message.SerializeToString()))


@given(
    hnp.arrays(
        st.sampled_from(["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "?", "c8", "c16"]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    )
)
def test_arrays(array: Any) -> None:
    got = crossed(array)
    assert got.dtype == array.dtype
    assert got.shape == array.shape
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("shape", [(), (3,), (INLINE,)])
def test_sixteen_bit_floats(shape: tuple[int, ...]) -> None:
    got = crossed(np.full(shape, 1.5, ml_dtypes.bfloat16))
    assert got.dtype == ml_dtypes.bfloat16
    assert np.all(got == 1.5)


@pytest.mark.parametrize("size", [INLINE // 4, INLINE // 4 + 1, CHUNK // 4, CHUNK, 3 * CHUNK + 7])
def test_sizes_around_a_chunk(size: int) -> None:
    array = np.arange(size, dtype=np.float32)
    got = crossed(array)
    np.testing.assert_array_equal(got, array)
    got[0] = 5.0  # the receiver's own


def test_arrays_that_do_not_lie_in_a_row() -> None:
    array = np.arange(200_000, dtype=np.int64).reshape(400, 500).T[::2]
    np.testing.assert_array_equal(crossed(array), array)


@given(st.lists(st.binary()))
def test_strings(items: list[bytes]) -> None:
    array = np.empty(len(items), object)
    array[:] = items
    np.testing.assert_array_equal(crossed(array), array)


def test_many_strings_travel_in_chunks() -> None:
    array = np.array([b"x" * (k % 1000) for k in range(20_000)], object).reshape(100, 200)
    np.testing.assert_array_equal(crossed(array), array)


def test_a_resource_stays_where_it_is() -> None:
    with pytest.raises(InvalidArgumentError, match="lives only in the process that made it"):
        crossed(threading_lock())


def threading_lock() -> object:
    import threading

    return threading.Lock()


def test_a_value_above_the_limit_is_refused() -> None:
    with pytest.raises(ResourceExhaustedError, match="above the limit of 1000"):
        crossed(np.zeros(INLINE), limit=1000)


def test_a_missing_chunk_is_noticed() -> None:
    encoder, decoder, message = Encoder(), Decoder(1 << 30), Value()
    encoder.fill(message, np.zeros(3 * CHUNK, np.uint8))
    ((number, data),) = encoder.blobs
    parts = list(chunks(number, data))
    decoder.packet(parts[0])
    with pytest.raises(DataLossError, match="chunk of a value is missing"):
        decoder.packet(parts[2])
    with pytest.raises(DataLossError, match="did not come"):
        decoder.value(message)


@given(st.binary(max_size=60))
def test_garbage_is_a_typed_error(data: bytes) -> None:
    decoder = Decoder(1 << 20)
    for given_data in (data, b"\x1a" + data):
        try:
            packet = decoder.packet(given_data)
        except (DataLossError, ResourceExhaustedError):
            continue
        assert packet is None or isinstance(packet, Packet)


def test_content_of_the_wrong_size_is_a_typed_error() -> None:
    message = Value(dtype=DT_FLOAT, dim=[3], content=b"1234")
    with pytest.raises(DataLossError, match="wrong number of bytes"):
        Decoder(100).value(message)


@pytest.mark.parametrize(
    "message",
    [
        Value(dtype=DT_STRING, dim=[1 << 60]),
        Value(dtype=DT_STRING, dim=[-3]),
        Value(dtype=DT_STRING, dim=[2, 2], text=[b"a"]),
        Value(dtype=DT_FLOAT, dim=[-1, -1], content=b"1234"),
        Value(dtype=DT_FLOAT, dim=[-1], content=b"1234"),
        Value(dtype=DT_FLOAT, dim=[1 << 62, 1 << 62], content=b"1234"),
        Value(dtype=DT_FLOAT, dim=[0, 1 << 62, 1 << 62]),
        Value(dtype=DT_FLOAT, dim=[1] * 10_000, content=b"1234"),
        Value(dtype=DT_FLOAT, content=b"12345678"),
        Value(dtype=DT_FLOAT),
        Value(dtype=DT_RESOURCE, dim=[1], content=b"12345678"),
        Value(dtype=99, dim=[1], content=b"1234"),  # type: ignore[arg-type]
        Value(content=b"1"),
        Value(dtype=DT_STRING, dim=[1], blob=7),
        Value(dtype=DT_FLOAT, dim=[1], blob=7),
    ],
    ids=str,
)
def test_sizes_are_checked_before_anything_is_allocated(message: Value) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DataLossError, match=r"a value "):
            Decoder(1 << 40).value(message)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_lengths_of_strings_are_checked() -> None:
    for lengths in ([-1, 3], [1 << 62, 1 << 62, 1 << 62, 1 << 62, 2], [3, 3], [1, 0]):
        data = np.array(lengths, "<i8").tobytes() + b"ab"
        decoder = Decoder(1 << 30)
        for chunk in chunks(1, memoryview(data)):
            decoder.packet(chunk)
        with pytest.raises(DataLossError, match="bytes of strings"):
            decoder.value(Value(dtype=DT_STRING, dim=[len(lengths)], blob=1))


def test_the_chunks_of_a_value_above_the_limit_are_skipped() -> None:
    encoder, decoder = Encoder(), Decoder(3 * CHUNK)
    messages = [Value(), Value()]
    encoder.fill(messages[0], np.zeros(4 * CHUNK, np.uint8))
    encoder.fill(messages[1], np.ones(2 * CHUNK, np.uint8))
    for number, data in encoder.blobs:
        for chunk in chunks(number, data):
            decoder.packet(chunk)
    with pytest.raises(ResourceExhaustedError, match=r"u8\[4194304\], 4194304 bytes, .* 3145728"):
        decoder.value(messages[0])
    assert decoder.value(messages[1]).sum() == 2 * CHUNK


@pytest.mark.parametrize("data", [b"\x1a", b"\x1a\x05\x08\x01\x10\x02\x18", b"\x1a\x02\x77\x01"])
def test_a_malformed_chunk_says_so(data: bytes) -> None:
    with pytest.raises(DataLossError, match="a chunk of a value"):
        Decoder(100).packet(data)


CLASSES = [
    c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, GraphvmError)
]  # fmt: skip


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_errors_keep_class_place_and_pickle(cls: type[GraphvmError]) -> None:
    error = cls("what", node="n = Op()", made="model.py:4", do="this", task="/job:a/task:1")
    got = pickle.loads(pickle.dumps(error_of(failure(error, "/job:other"))))
    assert type(got) is cls
    assert str(got) == str(error)
    assert got.task == "/job:a/task:1"


def test_an_exception_of_another_kind_becomes_an_internal_error() -> None:
    got = error_of(failure(KeyError("x"), "/job:a"))
    assert type(got) is InternalError
    assert got.what == "KeyError: 'x'"
    assert got.task == "/job:a"


def test_an_unknown_class_is_found_by_its_code() -> None:
    message = failure(InvalidArgumentError("no"))
    message.type = "FromTheFuture"
    assert type(error_of(message)) is InvalidArgumentError


def test_a_graph_crosses_with_big_constants_in_chunks() -> None:
    graph = tf.Graph()
    big = np.arange(100_000, dtype=np.float32).reshape(100, 1000)
    with graph.as_default():
        y = tf.constant(big) + 1.0
        tf.cond(y[0, 0] > 0, lambda: y * tf.constant(big), lambda: y)
    nodes, library = graph.nodes_since(0), graph.library
    packed = Packed(nodes, library)
    assert len(packed.constants) == 2
    encoder, decoder, message = Encoder(), Decoder(1 << 30), RegisterGraph()
    packed.fill(message, encoder)
    for number, data in encoder.blobs:
        for chunk in chunks(number, data):
            decoder.packet(chunk)

    def nothing(name: str) -> Node:
        raise AssertionError(name)

    got, functions = unpacked(*received(message, decoder), nothing)
    assert [n.signature() for n in got] == [n.signature() for n in nodes]
    assert set(functions) == set(library)
    values = [n.attrs["value"] for n in got if n.op.name == "Const"]
    assert any(np.array_equal(v, big) for v in values)


def test_a_message_of_many_small_values_stays_small() -> None:
    encoder = Encoder()
    messages = [Value() for _ in range(100)]
    for message in messages:
        encoder.fill(message, np.zeros(INLINE, np.uint8))
    assert sum(m.ByteSize() for m in messages) < 2 * CHUNK
    assert len(encoder.blobs) > 60
