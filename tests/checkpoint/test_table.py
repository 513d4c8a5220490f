"""Sorted tables: what is written is read, and no damage goes unnoticed."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphvm_runtime import varint
from graphvm_runtime.checkpoint import snappy
from graphvm_runtime.checkpoint.crc32c import crc32c, masked
from graphvm_runtime.checkpoint.table import TableWriter, read_table
from graphvm_runtime.errors import DataLossError, FailedPreconditionError


def table(entries: dict[bytes, bytes], block_size: int = 64 << 10) -> bytes:
    file = io.BytesIO()
    writer = TableWriter(file, block_size)
    for key in sorted(entries):
        writer.add(key, entries[key])
    writer.finish()
    return file.getvalue()


@given(st.dictionaries(st.binary(max_size=6), st.binary(max_size=40)), st.integers(1, 200))
def test_what_is_written_is_read(entries: dict[bytes, bytes], block_size: int) -> None:
    assert list(read_table(table(entries, block_size), "t")) == sorted(entries.items())


def test_shared_beginnings_are_stored_once() -> None:
    entries = {b"x" * 1000 + bytes([i]): b"" for i in range(16)}
    assert len(table(entries)) < 2500  # the index repeats one whole key


def test_keys_out_of_order_are_refused() -> None:
    writer = TableWriter(io.BytesIO())
    writer.add(b"b", b"")
    for key in (b"a", b"b"):
        with pytest.raises(FailedPreconditionError, match="out of order"):
            writer.add(key, b"")


ENTRIES = {b"k%02d" % i: b"value" * i for i in range(12)}


def test_a_table_cut_off_anywhere_is_data_loss() -> None:
    data = table(ENTRIES, 100)
    for size in range(len(data)):
        with pytest.raises(DataLossError, match=r"model\.index"):
            dict(read_table(data[:size], "model.index"))


def test_a_flipped_bit_anywhere_is_data_loss_or_harmless() -> None:
    data = table(ENTRIES, 100)
    harmless = 0
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        try:
            assert dict(read_table(bytes(damaged), "t")) == ENTRIES
            harmless += 1
        except DataLossError:
            pass
    assert harmless < 48 + 13  # the padding of the footer, and the empty block of statistics


def framed(block: bytes, compression: int) -> bytes:
    data = block + bytes([compression])
    return data + struct.pack("<I", masked(crc32c(data)))


def compressed_table(block: bytes, compression: int) -> bytes:
    """A table of one block that is stored as `block`."""
    file = framed(block, compression)
    handle = varint.encode(0) + varint.encode(len(block))
    index = b"\0\1" + varint.encode(len(handle)) + b"z" + handle + struct.pack("<II", 0, 1)
    handles = handle + varint.encode(len(file)) + varint.encode(len(index))
    file += framed(index, 0)
    return file + handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def test_a_compressed_block_is_read() -> None:
    # Entry "ab" -> 24 times "c", no restarts but the first; packed as literal and copy.
    block = b"\0\2\x18abc" + b"c" * 23 + struct.pack("<II", 0, 1)
    packed = b"\x25" + b"\x14\0\2\x18abc" + bytes([(23 - 1) << 2 | 2, 1, 0])
    packed += b"\x1c" + struct.pack("<II", 0, 1)
    assert snappy.decompress(packed) == block
    assert dict(read_table(compressed_table(packed, 1), "t")) == {b"ab": b"c" * 24}


def test_an_unknown_compression_is_data_loss() -> None:
    with pytest.raises(DataLossError, match="compression 7"):
        dict(read_table(compressed_table(b"", 7), "t"))


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        (b"\0", b""),
        (b"\3\x08abc", b"abc"),
        (b"\x46\xf0\x45" + b"x" * 70, b"x" * 70),  # a length in one more byte
        (b"\xac\x02\xf4\x2b\x01" + b"y" * 300, b"y" * 300),  # in two more bytes
        (b"\x0a\x08abc\x0d\x03", b"abcabcabca"),  # copy with a short offset, overlapping itself
        (b"\x06\x08abc\x0a\x03\0", b"abcabc"),  # offset of two bytes
        (b"\x06\x08abc\x0b\x03\0\0\0", b"abcabc"),  # offset of four bytes
    ],
)
def test_snappy(packed: bytes, plain: bytes) -> None:
    assert snappy.decompress(packed) == plain


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x80",
        b"\5\x08abc",  # too short
        b"\2\x08abc",  # too long
        b"\3\x08ab",  # cut off
        b"\4\x01\x01",  # copy of nothing
        b"\x07\x08abc\x01\0",  # offset 0
        b"\x07\x08abc\x01\x09",  # offset before the start
        b"\x07\x08abc\x02\x03",  # cut off within an offset
        b"\xff" * 11,
    ],
)
def test_malformed_snappy_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="Snappy"):
        snappy.decompress(packed)
