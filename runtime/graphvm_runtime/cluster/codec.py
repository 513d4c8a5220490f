"""Tensors, errors and graphs <-> messages. Big values go ahead of their message in chunks."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphvm_runtime import dtypes, errors, varint
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
_CHUNK_FIELDS = (0x08, 0x10, 0x18)  # its number, the size of the value and the offset
_BLOBS = 1 << 16  # values that came in chunks ahead of one message
_DIMS = 64  # as many as NumPy takes
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
        try:
            found = dtypes.from_enum(number).numpy
        except GraphvmError as error:
            raise DataLossError(f"a value of an unknown type: {error.what}") from error
        if found.hasobject:
            raise DataLossError(f"a value of type {number}, which no value that crosses can have")
        _TYPES[number] = found
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
        if isinstance(value, bytes):  # a string of rank 0, as it is handed out
            text = np.empty((), object)
            text[()] = value
            value = text
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
    head = b"\x08" + varint.encode(number) + b"\x10" + varint.encode(len(data)) + b"\x18"
    for at in range(0, len(data), CHUNK):
        part = data[at : at + CHUNK]
        front = head + varint.encode(at) + b"\x22" + varint.encode(len(part))
        yield b"".join((b"\x1a", varint.encode(len(front) + len(part)), front, part))


class Decoder:
    """Reads packets and the values in them.

    What a sender says of sizes is compared with the limit and with the bytes that came before
    anything is made of it.

    Args:
        limit: most bytes of a value, and of all that are under way.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        # the bytes (None for what is too big and therefore skipped), and how many have come
        self._blobs: dict[int, tuple[Array | None, int]] = {}
        self._sizes: dict[int, int] = {}

    def packet(self, data: bytes) -> Packet | None:
        """The packet; None for a part of a value that is not yet needed.

        Raises:
            DataLossError: it is malformed.
        """
        if data and data[0] == _CHUNK_TAG:
            try:
                self._chunk(data)
            except (IndexError, ValueError) as error:
                raise DataLossError("a chunk of a value is cut off") from error
            return None
        try:
            return Packet.FromString(data)
        except (ValueError, DecodeError) as error:
            raise DataLossError(f"a message cannot be read: {error}") from error

    def forget(self) -> None:
        """Drops what came ahead of a message that nobody takes, or that never comes."""
        if self._sizes:
            self._blobs.clear()
            self._sizes.clear()
            self._held = 0

    def _chunk(self, data: bytes) -> None:
        whole, at = varint.decode(data, 1)
        if len(data) - at != whole:
            raise DataLossError("a chunk of a value has the wrong length")
        fields: dict[int, int] = {}
        while data[at] != _DATA_TAG:
            field = data[at]
            if field not in _CHUNK_FIELDS:
                raise DataLossError(f"a chunk of a value has a field of tag {field}")
            fields[field], at = varint.decode(data, at + 1)
        length, at = varint.decode(data, at + 1)
        number, size, offset = (fields.get(tag, 0) for tag in _CHUNK_FIELDS)
        if len(data) - at != length or offset + length > size or not number or not length:
            raise DataLossError("a chunk of a value has the wrong length")
        found = self._blobs.get(number)
        if found is None:
            if len(self._sizes) >= _BLOBS:
                raise DataLossError(f"chunks of more than {_BLOBS} values came ahead of a message")
            found = self._room(size), 0
            self._sizes[number] = size
        array, have = found
        if offset != have or size != self._sizes[number]:
            raise DataLossError("a chunk of a value is missing")
        if array is not None:
            array[offset : offset + length] = np.frombuffer(data, np.uint8, offset=at)
        self._blobs[number] = array, have + length

    def _room(self, size: int) -> Array | None:
        """Memory for a value; None where it is too big: then its chunks are skipped."""
        if self._held + size > self._limit:
            return None
        try:
            array = np.empty(size, np.uint8)
        except MemoryError:
            return None
        self._held += size
        return array

    def value(self, message: Value) -> Any:
        """The value as a register holds it; arrays are writable and the caller's own.

        Raises:
            DataLossError: its bytes do not fit its type and shape.
            ResourceExhaustedError: it is bigger than the limit.
        """
        shape = tuple(message.dim)
        if len(shape) > _DIMS or any(d < 0 for d in shape):
            raise DataLossError(f"a value has the shape {errors.clipped(list(shape))}")
        if message.dtype == _STRING:
            return self._strings(message, shape)
        dtype = _type_of(message.dtype)
        count = math.prod(shape)
        data: Any = self._blob(message, shape) if message.blob else message.content
        if len(data) != count * dtype.itemsize:
            raise DataLossError(
                f"a value has the wrong number of bytes: {len(data)} for {_shown(message, shape)}"
            )
        if not message.blob:
            self._check(len(data), message, shape)
            if not shape:
                return np.frombuffer(data, dtype, 1)[0]
            data = np.frombuffer(bytearray(data), np.uint8)
        try:
            found = data.view(dtype).reshape(shape)
        except ValueError as error:
            raise DataLossError(f"a value of {_shown(message, shape)}: {error}") from error
        return found if shape else found[()]

    def _check(self, size: int, message: Value, shape: tuple[int, ...]) -> None:
        """Raises ResourceExhaustedError for a value above the limit."""
        if size > self._limit:
            raise self._too_big(size, message, shape)

    def _too_big(self, size: int, message: Value, shape: tuple[int, ...]) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"a value of {_shown(message, shape)}, {size} bytes, is above the limit of "
            f"{self._limit} bytes for what is under way to a process",
            do="start the worker with a higher --max-bytes",
        )

    def _blob(self, message: Value, shape: tuple[int, ...]) -> Array:
        array, have = self._blobs.pop(message.blob, (None, -1))
        size = self._sizes.pop(message.blob, 0)
        if have != size:
            raise DataLossError(
                f"a value of {_shown(message, shape)} refers to chunks that did not come"
            )
        if array is None:
            raise self._too_big(size, message, shape)
        self._held -= array.size
        return array

    def _strings(self, message: Value, shape: tuple[int, ...]) -> Array:
        count = math.prod(shape)
        items: Any = message.text
        if message.blob:
            data = self._blob(message, shape)
            start = 8 * count
            if data.size < start:
                raise DataLossError("a value has the wrong number of bytes of strings")
            lengths = data[:start].view("<i8")
            ends = np.cumsum(lengths) + start
            # a sum that runs over is negative somewhere
            if count and (
                int(lengths.min()) < 0
                or int(ends.min()) < start
                or int(ends.max()) > data.size
                or int(ends[-1]) != data.size
            ):
                raise DataLossError("a value has the wrong number of bytes of strings")
            items = [data[a:b].tobytes() for a, b in pairwise([start, *ends.tolist()])]
        if len(items) != count:
            raise DataLossError(
                f"a value has the wrong number of strings: {len(items)} for "
                f"{_shown(message, shape)}"
            )
        if not message.blob:
            self._check(sum(map(len, items)), message, shape)
        out = np.empty(count, object)
        out[:] = items
        try:
            return out.reshape(shape)
        except ValueError as error:
            raise DataLossError(f"a value of {_shown(message, shape)}: {error}") from error

    def values(self, messages: Iterable[Value]) -> list[Any]:
        """The values of messages."""
        return [self.value(m) for m in messages]


def _shown(message: Value, shape: tuple[int, ...]) -> str:
    """The type and shape of a value as text, `f32[3,4]`."""
    name = "string" if message.dtype == _STRING else dtypes.from_enum(message.dtype).short
    return f"{name}[{','.join(map(str, shape))}]"


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


def copied(error: GraphvmError) -> GraphvmError:
    """The same error as an object of its own, without the frames that it went through.

    Who raises it ties it to a node of his, and whoever keeps it keeps no values alive.
    """
    return copy.copy(error)


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
