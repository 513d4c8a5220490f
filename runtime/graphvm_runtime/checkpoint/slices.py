"""Boxes cut out of tensors: partitioned variables are stored as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.protos.tensor_slice_pb2 import TensorSliceProto

_WHOLE = -1  # length of an extent that spans its dimension


@dataclass(frozen=True, slots=True)
class TensorSlice:
    """A box of a tensor: start and length along each dimension, length -1 for all of it.

    Prints as TensorFlow writes it: `0,2:-` is the first two rows.
    """

    extents: tuple[tuple[int, int], ...]

    @classmethod
    def whole(cls, rank: int) -> TensorSlice:
        """The slice that is the whole tensor."""
        return cls(((0, _WHOLE),) * rank)

    @classmethod
    def parse(cls, text: str) -> TensorSlice:
        """The slice that `text` describes.

        Raises:
            InvalidArgumentError: it describes none.
        """
        extents = []
        for part in text.split(":") if text else []:
            start, comma, length = part.partition(",")
            if part == "-":
                extents.append((0, _WHOLE))
            elif comma and start.isdecimal() and length.isdecimal() and int(length):
                extents.append((int(start), int(length)))
            else:
                raise InvalidArgumentError(
                    f"{text!r} is no slice: {part!r} is neither `-` nor `start,length`"
                )
        return cls(tuple(extents))

    @classmethod
    def from_proto(cls, proto: TensorSliceProto) -> TensorSlice:
        """The slice of a message."""
        return cls(
            tuple((e.start, e.length if e.HasField("length") else _WHOLE) for e in proto.extent)
        )

    def to_proto(self) -> TensorSliceProto:
        """The message of this slice."""
        proto = TensorSliceProto()
        for start, length in self.extents:
            extent = proto.extent.add()
            if length != _WHOLE:
                extent.start = start
                extent.length = length
        return proto

    def __str__(self) -> str:
        return ":".join("-" if n == _WHOLE else f"{start},{n}" for start, n in self.extents)

    def bounds(self, shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Start and end along each dimension of a tensor of that shape.

        Raises:
            InvalidArgumentError: the slice does not lie in the tensor.
        """
        if len(shape) != len(self.extents):
            raise InvalidArgumentError(f"slice {self} of a tensor of shape {tuple(shape)}")
        found = []
        for (start, length), size in zip(self.extents, shape, strict=True):
            end = size if length == _WHOLE else start + length
            if end > size:
                raise InvalidArgumentError(f"slice {self} reaches beyond shape {tuple(shape)}")
            found.append((start, end))
        return tuple(found)

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Shape of this slice of a tensor of that shape. Raises as `bounds` does."""
        return tuple(end - start for start, end in self.bounds(shape))


def parse_shape_and_slice(text: str) -> tuple[tuple[int, ...], TensorSlice]:
    """Reads what Save and Restore ops are given: `4 6 0,2:-` is the first two rows of a 4 x 6.

    Raises:
        InvalidArgumentError: the text is malformed, or the slice does not lie in the shape.
    """
    *dims, spec = text.split(" ")
    if not all(d.isdecimal() for d in dims):
        raise InvalidArgumentError(f"{text!r} is no shape with a slice")
    shape = tuple(int(d) for d in dims)
    cut = TensorSlice.parse(spec)
    cut.bounds(shape)
    return shape, cut


def slice_key(name: bytes, cut: TensorSlice) -> bytes:
    """Key under which a slice of the tensor `name` is stored.

    Keys sort like (0, name, rank, start, length, ...), whatever bytes the name has.
    """
    out = bytearray(_ordered(0))
    for byte in name:
        out.append(byte)
        if byte == 0:
            out.append(0xFF)
        elif byte == 0xFF:
            out.append(0)
    out += b"\0\1"
    out += _ordered(len(cut.extents))
    for start, length in cut.extents:
        out += _ordered_signed(start)
        out += _ordered_signed(length)
    return bytes(out)


def _ordered(value: int) -> bytes:
    """A number that is not negative, so that bytes sort like numbers: a length, then the bytes."""
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _ordered_signed(value: int) -> bytes:
    """A signed 64-bit number, so that bytes sort like numbers.

    Of n bytes, the first n bits are ones (zeros for a negative number), then comes a zero (one)
    and the number in the remaining bits, in two's complement.
    """
    size = (value if value >= 0 else ~value).bit_length() // 7 + 1
    bits = 8 * size
    header = ((1 << size) - 1) << (bits - size)
    return ((value & ((1 << bits) - 1)) ^ header).to_bytes(size, "big")
