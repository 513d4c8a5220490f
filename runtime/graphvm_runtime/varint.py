"""Variable-length integers: seven bits a byte, lowest first, as protocol buffers write them."""

from __future__ import annotations


def encode(value: int) -> bytes:
    """The bytes of a number that is not negative."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The number at position `at`, and the position behind it.

    Raises:
        IndexError: the data ends within the number.
        ValueError: the number has more than 64 bits.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
    return value, at
