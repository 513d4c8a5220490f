"""Snappy, decompression only: blocks of old checkpoints are packed with it.

Source: the format description of google/snappy.
"""

from __future__ import annotations

from graphvm_runtime import varint


def decompress(data: bytes | memoryview) -> bytes:
    """The bytes that were compressed.

    Raises:
        ValueError: `data` is not whole and well-formed.
    """
    try:
        size, at = varint.decode(data, 0)
        out = bytearray()
        while at < len(data):
            tag = data[at]
            at += 1
            if tag & 3 == 0:  # bytes as they are
                length = (tag >> 2) + 1
                if length > 60:
                    extra = length - 60
                    length = int.from_bytes(data[at : at + extra], "little") + 1
                    at += extra
                if at + length > len(data):
                    raise IndexError
                out += data[at : at + length]
                at += length
                continue
            if tag & 3 == 1:  # a copy of what came before; its length takes 3 bits
                length = (tag >> 2 & 7) + 4
                offset = (tag & 0xE0) << 3 | data[at]
                at += 1
            else:
                width = 2 if tag & 3 == 2 else 4
                length = (tag >> 2) + 1
                offset = int.from_bytes(data[at : at + width], "little")
                at += width
            start = len(out) - offset
            if offset == 0 or start < 0 or len(out) + length > size:
                raise IndexError
            if length <= offset:
                out += out[start : start + length]
            else:  # a copy that overlaps itself repeats its first `offset` bytes
                pattern = bytes(out[start:])
                out += (pattern * (length // offset + 1))[:length]
    except (IndexError, ValueError):
        raise ValueError("malformed Snappy data") from None
    if len(out) != size:
        raise ValueError(f"Snappy data of {len(out)} bytes, {size} were announced")
    return bytes(out)
