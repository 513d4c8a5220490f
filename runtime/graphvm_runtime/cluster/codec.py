"""Tensors, errors and graphs <-> messages. Big values go ahead of their message in chunks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphvm_runtime import dtypes, errors
from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import (
    DataLossError,
    GraphvmError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
)  # fmt: skip
from graphvm_runtime.protos.worker_pb2 import Failure, Packet, Value
from graphvm_runtime.trace import Span

INLINE = 1 << 15  # bytes of a value; what is bigger goes in chunks
TOGETHER = 1 << 20  # bytes of all values of a message; what comes after them goes in chunks
CHUNK = 1 << 20
_CHUNK_TAG = 0x1A  # field 3 of Packet, with a length
_DATA_TAG = 0x22  # field 4 of Chunk, with a length
_STRING = dtypes.string.enum
_NUMBERS: dict[Any, int] = {}  # NumPy's dtype -> number of the element type
_TYPES: dict[int, Any] = {}


def _number_of(dtype: np.dtype[Any]) -> int:
    found = _NUMBERS.get(dtype)
    if found is None:
        found = _NUMBERS[dtype] = dtypes.from_numpy(dtype).enum
    return found


def _type_of(number: int) -> np.dtype[Any]:
    found = _TYPES.get(number)
    if found is None:
        found = _TYPES[number] = dtypes.from_enum(number).numpy
    return found


class Encoder:
    """Writes values into messages.

    Attributes:
        blobs: what must be sent ahead of the message, by number; the caller takes it away.
    """

    def __init__(self) -> None:
        self.blobs: list[tuple[int, memoryview]] = []
        self._next = 1
        self._inline = 0

    def begin(self) -> None:
        """Begins another message."""
        self._inline = 0

    def _fits(self, size: int) -> bool:
        self._inline += size
        return not size or (size <= INLINE and self._inline <= TOGETHER)

    def _ahead(self, data: memoryview) -> int:
        number = self._next
        self._next += 1
        self.blobs.append((number, data))
        return number

    def fill(self, out: Value, value: Any) -> None:
        """Writes one value.

        Raises:
            InvalidArgumentError: it lives only in this process: a variable, a queue, a list.
        """
        if not isinstance(value, np.ndarray | np.generic):
            value = np.asarray(value)
            if value.dtype == object:
                raise InvalidArgumentError(
                    f"{errors.clipped(value[()] if value.ndim == 0 else value)} lives only in "
                    "the process that made it",
                    do="keep what uses it on the same device",
                )
        if value.ndim:
            out.dim.extend(value.shape)
        if value.dtype == object:
            out.dtype = _STRING  # type: ignore[assignment]  # a number of the enum
            flat = np.asarray(value).reshape(-1).tolist()
            if not all(isinstance(x, bytes) for x in flat):
                raise InvalidArgumentError(
                    "a value that is no tensor cannot leave the process that made it",
                    do="keep what uses it on the same device",
                )
            if self._fits(sum(map(len, flat)) + 8 * len(flat)):
                out.text.extend(flat)
            elif flat:
                lengths = np.fromiter(map(len, flat), "<i8", len(flat))
                out.blob = self._ahead(memoryview(lengths.tobytes() + b"".join(flat)))
            return
        out.dtype = _number_of(value.dtype)  # type: ignore[assignment]  # a number of the enum
        if sys.byteorder == "big":
            value = value.astype(value.dtype.newbyteorder("<"))
        if self._fits(value.nbytes):
            out.content = value.tobytes()
            return
        flat_bytes: Any = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        out.blob = self._ahead(memoryview(flat_bytes))


def chunks(number: int, data: memoryview) -> Iterator[bytes]:
    """The packets that carry a blob; written by hand, since that copies the data only once."""
    head = b"\x08" + _varint(number) + b"\x10" + _varint(len(data)) + b"\x18"
    for at in range(0, len(data), CHUNK):
        part = data[at : at + CHUNK]
        front = head + _varint(at) + b"\x22" + _varint(len(part))
        yield b"".join((b"\x1a", _varint(len(front) + len(part)), front, part))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


class Decoder:
    """Reads packets and the values in them.

    Args:
        limit: most bytes of a value, and of all that are under way.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._blobs: dict[int, tuple[Array, int]] = {}  # the bytes, and how many have come

    def packet(self, data: bytes) -> Packet | None:
        """The packet; None for a part of a value that is not yet needed.

        Raises:
            DataLossError: it is malformed.
            ResourceExhaustedError: a value is bigger than the limit.
        """
        try:
            if data and data[0] == _CHUNK_TAG:
                self._chunk(data)
                return None
            return Packet.FromString(data)
        except (IndexError, KeyError, ValueError, DecodeError) as error:
            raise DataLossError(f"a message that cannot be read: {error}") from error

    def _chunk(self, data: bytes) -> None:
        _, at = _read_varint(data, 1)
        fields: dict[int, int] = {}
        while data[at] != _DATA_TAG:
            field = data[at]
            fields[field], at = _read_varint(data, at + 1)
        length, at = _read_varint(data, at + 1)
        number, size, offset = fields[0x08], fields[0x10], fields[0x18]
        if len(data) - at != length or offset + length > size:
            raise DataLossError("a chunk of a value has the wrong length")
        found = self._blobs.get(number)
        if found is None:
            if self._held + size > self._limit:
                raise ResourceExhaustedError(
                    f"a value of {size} bytes is above the limit of {self._limit}",
                    do="start the worker with a higher --max-bytes",
                )
            self._held += size
            found = np.empty(size, np.uint8), 0
        array, have = found
        if offset != have:
            raise DataLossError("a chunk of a value is missing")
        array[offset : offset + length] = np.frombuffer(data, np.uint8, offset=at)
        self._blobs[number] = array, have + length

    def value(self, message: Value) -> Any:
        """The value as a register holds it; arrays are writable and the caller's own.

        Raises:
            DataLossError: its bytes do not fit its type and shape.
        """
        shape = tuple(message.dim)
        if message.dtype == _STRING:
            return self._strings(message, shape)
        dtype = _type_of(message.dtype)
        try:
            if message.blob:
                found = self._blob(message.blob).view(dtype).reshape(shape)
                return found if shape else found[()]
            if not shape:
                return np.frombuffer(message.content, dtype, 1)[0]
            return np.frombuffer(bytearray(message.content), dtype).reshape(shape)
        except (ValueError, IndexError) as error:
            raise DataLossError(f"a value has the wrong number of bytes: {error}") from error

    def _blob(self, number: int) -> Array:
        array, have = self._blobs.pop(number, (None, 0))
        if array is None or have != array.size:
            raise DataLossError("a value refers to chunks that did not come")
        self._held -= array.size
        return array

    def _strings(self, message: Value, shape: tuple[int, ...]) -> Array:
        out = np.empty(math.prod(shape), object)
        items: Any = message.text
        if message.blob:
            data = self._blob(message.blob)
            ends = np.cumsum(data[: 8 * out.size].view("<i8")) + 8 * out.size
            whole = data.tobytes()
            items = [whole[a:b] for a, b in pairwise([8 * out.size, *ends.tolist()])]
            if ends.size != out.size or (ends.size and ends[-1] != len(whole)):
                raise DataLossError("a value has the wrong number of bytes of strings")
        if len(items) != out.size:
            raise DataLossError("a value has the wrong number of strings")
        out[:] = items
        return out.reshape(shape)

    def values(self, messages: Iterable[Value]) -> list[Any]:
        """The values of messages."""
        return [self.value(m) for m in messages]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def fill_failure(out: Failure, error: BaseException, task: str = "") -> None:
    """Writes an error; class, node, line and task survive."""
    known = as_known(error)
    out.type = type(known).__name__
    out.code = known.code
    out.what = known.what
    out.node = known.node
    out.made = known.made
    out.advice = known.do
    out.task = known.task or task


def as_known(error: BaseException) -> GraphvmError:
    """The error as one of ours."""
    if isinstance(error, GraphvmError):
        return error
    return InternalError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def failure(error: BaseException, task: str = "") -> Failure:
    """The message of an error."""
    out = Failure()
    fill_failure(out, error, task)
    return out


def error_of(message: Failure) -> GraphvmError:
    """The error that a message stands for."""
    cls = errors.class_named(message.type) or errors.class_of_code(message.code)
    return cls(
        message.what, node=message.node, made=message.made, do=message.advice, task=message.task
    )


def fill_spans(out: Any, spans: Iterable[Span], task: str) -> None:
    """Writes the spans of a traced step."""
    for span in spans:
        out.add(node=span.node, op=span.op, start=span.start, end=span.end, thread=span.thread,
                task=span.task or task)  # fmt: skip


def spans_of(messages: Iterable[Any]) -> list[Span]:
    """The spans that messages stand for."""
    return [Span(m.node, m.op, m.start, m.end, m.thread, m.task) for m in messages]
