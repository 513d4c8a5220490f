"""Sorted string tables: the container of checkpoint indices. LevelDB's format.

A file is blocks, then a block that names the blocks, then a footer of 48 bytes:

    block    entry*  restart:u32*  count:u32     then a byte of compression and a masked CRC-32C
    entry    shared:varint  unshared:varint  size:varint  key[shared:]  value
    index    a block: last key of a block (or one between it and the next) -> its place and size
    footer   place and size of an (empty) block of statistics and of the index, zeros, magic

A key shares its first bytes with the key before it, except at restarts, where searches begin.
Source: doc/table_format.md of google/leveldb.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from graphvm_runtime import varint
from graphvm_runtime.checkpoint import snappy
from graphvm_runtime.checkpoint.crc32c import crc32c, masked
from graphvm_runtime.errors import DataLossError, FailedPreconditionError

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
_PLAIN, _SNAPPY = 0, 1


class TableWriter:
    """Writes a table. Keys must come in ascending order.

    Args:
        file: receives the bytes; the caller closes it.
        block_size: a block is closed when it has grown beyond this.
    """

    def __init__(self, file: BinaryIO, block_size: int = 64 << 10) -> None:
        self._file = file
        self._block_size = block_size
        self._place = 0
        self._last: bytes | None = None
        self._block = _BlockBuilder(restart_interval=16)
        self._index = _BlockBuilder(restart_interval=1)

    def add(self, key: bytes, value: bytes) -> None:
        """Append an entry.

        Raises:
            FailedPreconditionError: the key is not above the one before.
        """
        if self._last is not None and key <= self._last:
            raise FailedPreconditionError(f"table keys out of order: {key!r} after {self._last!r}")
        self._last = key
        self._block.add(key, value)
        if self._block.size >= self._block_size:
            self._close_block()

    def finish(self) -> None:
        """Write what is left. The table is complete after this and takes no more entries."""
        if self._block.count:
            self._close_block()
        statistics = self._written(_BlockBuilder(restart_interval=1).bytes())
        index = self._written(self._index.bytes())
        self._file.write((statistics + index).ljust(_FOOTER - 8, b"\0"))
        self._file.write(struct.pack("<Q", _MAGIC))

    def _close_block(self) -> None:
        assert self._last is not None
        self._index.add(self._last, self._written(self._block.bytes()))
        self._block = _BlockBuilder(restart_interval=16)

    def _written(self, block: bytes) -> bytes:
        """The handle of a block, now in the file."""
        handle = varint.encode(self._place) + varint.encode(len(block))
        framed = block + bytes([_PLAIN])
        self._file.write(framed + struct.pack("<I", masked(crc32c(framed))))
        self._place += len(block) + _TRAILER
        return handle


class _BlockBuilder:
    def __init__(self, restart_interval: int) -> None:
        self._interval = restart_interval
        self._data = bytearray()
        self._restarts = [0]
        self._last = b""
        self.count = 0

    @property
    def size(self) -> int:
        return len(self._data) + 4 * len(self._restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.count and self.count % self._interval == 0:
            self._restarts.append(len(self._data))
        elif self.count:
            shared = _common(self._last, key)
        for number in (shared, len(key) - shared, len(value)):
            self._data += varint.encode(number)
        self._data += key[shared:]
        self._data += value
        self._last = key
        self.count += 1

    def bytes(self) -> bytes:
        count = len(self._restarts)
        return bytes(self._data) + struct.pack(f"<{count + 1}I", *self._restarts, count)


def _common(a: bytes, b: bytes) -> int:
    if b.startswith(a):
        return len(a)
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)


def read_table(data: bytes, name: str) -> Iterator[tuple[bytes, bytes]]:
    """All entries of a table in order; every block's checksum is verified.

    Args:
        data: the whole file.
        name: what to call the file in errors.

    Raises:
        DataLossError: the table is cut off or damaged.
    """
    view = memoryview(data)
    if len(data) < _FOOTER or struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise DataLossError(
            f"{name} is no checkpoint index, or its end is missing ({len(data)} bytes)",
            do="restore from another checkpoint",
        )
    try:
        at = len(data) - _FOOTER
        for _ in range(2):  # the handle of the statistics, then that of the index
            place, at = varint.decode(view, at)
            size, at = varint.decode(view, at)
        for _, handle in _entries(_block(view, place, size)):
            place, at = varint.decode(handle, 0)
            size, _ = varint.decode(handle, at)
            yield from _entries(_block(view, place, size))
    except (ValueError, IndexError, struct.error) as error:
        raise DataLossError(
            f"{name} is damaged: {error}", do="restore from another checkpoint"
        ) from error


def _block(view: memoryview, place: int, size: int) -> bytes:
    end = place + size
    if end + _TRAILER > len(view) - _FOOTER:
        raise ValueError(f"a block lies at {place} to {end} of {len(view)} bytes")
    (stored,) = struct.unpack_from("<I", view, end + 1)
    if masked(crc32c(view[place : end + 1])) != stored:
        raise ValueError(f"wrong checksum of the block at {place}")
    if view[end] == _PLAIN:
        return bytes(view[place:end])
    if view[end] == _SNAPPY:
        return snappy.decompress(view[place:end])
    raise ValueError(f"unknown compression {view[end]} of the block at {place}")


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise ValueError("a block shorter than its restarts")
    key, at = b"", 0
    while at < end:
        shared, at = varint.decode(block, at)
        unshared, at = varint.decode(block, at)
        size, at = varint.decode(block, at)
        if shared > len(key) or at + unshared + size > end:
            raise ValueError("an entry reaches beyond its block")
        key = key[:shared] + block[at : at + unshared]
        at += unshared
        yield key, block[at : at + size]
        at += size
