"""Reads V2 checkpoints."""

from __future__ import annotations

import math
import os
import struct
from typing import Any

import numpy as np

from graphvm_runtime import dtypes, varint
from graphvm_runtime.checkpoint import bundle
from graphvm_runtime.checkpoint.crc32c import crc32c, masked
from graphvm_runtime.checkpoint.reader import CheckpointReader, Stored
from graphvm_runtime.checkpoint.slices import TensorSlice, slice_key
from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import (
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
)
from graphvm_runtime.protos.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto


class BundleReader(CheckpointReader):
    """A V2 checkpoint. Checksums are verified with each read; no file stays open.

    Args:
        prefix: path of the checkpoint without `.index`.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: its index is cut off or damaged.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        self._path = bundle.index_path(prefix)
        header, self._entries = bundle.read_index(prefix)
        self._shards = header.num_shards
        self._order = ">" if header.endianness == BundleHeaderProto.BIG else "<"

    def names(self) -> list[str]:
        """Names of all tensors, sorted."""
        # Keys of slices begin with a zero byte, and no tensor's name does.
        return [bundle.bytes_name(k) for k in self._entries if not k.startswith(b"\0")]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bundle.name_bytes(name) in self._entries

    def _stored(self, name: str) -> Stored | None:
        entry = self._entry(bundle.name_bytes(name), name)
        if entry is None:
            return None
        try:
            dtype = dtypes.from_enum(entry.dtype)
            slices = tuple(TensorSlice.from_proto(s) for s in entry.slices)
            shape = tuple(d.size for d in entry.shape.dim)
            if entry.shape.unknown_rank or min(shape, default=0) < 0:
                raise InvalidArgumentError("the shape is not known")
            for cut in slices:
                cut.bounds(shape)
        except (DTypeError, InvalidArgumentError) as error:
            raise DataLossError(
                f"{self._path}: the entry of tensor {name!r} is damaged: {error}"
            ) from error
        return Stored(dtype, shape, slices)

    def _entry(self, key: bytes, name: str) -> BundleEntryProto | None:
        data = self._entries.get(key)
        return None if data is None else bundle.parse_entry(data, self._path, name)

    def _read(self, name: str, stored: Stored, cut: TensorSlice | None) -> Array:
        key = bundle.name_bytes(name)
        shape = stored.shape if cut is None else cut.shape(stored.shape)
        entry = self._entry(key if cut is None else slice_key(key, cut), name)
        if entry is None:
            raise DataLossError(f"{self._path} lists slice {cut} of tensor {name!r}, but no place")
        count = math.prod(shape)
        if stored.dtype is dtypes.string:
            return self._strings(entry, name, count).reshape(shape)
        if not stored.dtype.is_numpy_compatible:
            raise UnimplementedError(
                f"checkpoint {self.prefix}: tensor {name!r} is a {stored.dtype.name}, which "
                "cannot be read outside TensorFlow"
            )
        if entry.size != count * stored.dtype.size:
            raise DataLossError(
                f"{self._path}: tensor {name!r} has {entry.size} bytes, not "
                f"{count * stored.dtype.size}"
            )
        data = self._data(entry, name)
        if masked(crc32c(data)) != entry.crc32c:
            raise self._damaged(entry, name, "wrong checksum")
        numpy: np.dtype[Any] = stored.dtype.numpy
        array = data.view(numpy)
        if self._order == ">" and numpy.itemsize > 1:
            array = array.byteswap()
        return array.reshape(shape)

    def _strings(self, entry: BundleEntryProto, name: str, count: int) -> Array:
        """Lengths as varints, their masked checksum, then all bytes.

        The checksums cover each length as a 32-bit number, 64-bit where it needs that.
        """
        data = self._data(entry, name).tobytes()
        array = np.empty(count, object)
        try:
            lengths, at = [], 0
            for _ in range(count):
                length, at = varint.decode(data, at)
                lengths.append(length)
            numbers = b"".join(
                struct.pack(self._order + ("I" if n < 2**32 else "Q"), n) for n in lengths
            )
            (stored,) = struct.unpack_from(self._order + "I", data, at)
        except (IndexError, ValueError, struct.error) as error:
            raise self._damaged(entry, name, "the lengths of its strings are cut off") from error
        crc = crc32c(numbers)
        if masked(crc) != stored:
            raise self._damaged(entry, name, "wrong checksum of the lengths of its strings")
        crc = crc32c(data[at:], crc)  # the stored checksum and the bytes
        at += 4
        if at + sum(lengths) != len(data) or masked(crc) != entry.crc32c:
            raise self._damaged(entry, name, "wrong checksum")
        for i, length in enumerate(lengths):
            array[i] = data[at : at + length]
            at += length
        return array

    def _data(self, entry: BundleEntryProto, name: str) -> Array:
        """The bytes of an entry, in memory of their own."""
        path = self._data_path(entry)
        try:
            with open(path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > size:
                    raise self._damaged(
                        entry,
                        name,
                        f"it lies at {entry.offset} to {entry.offset + entry.size} of a file of "
                        f"{size} bytes, which was cut off",
                    )
                data = np.empty(entry.size, np.uint8)
                file.seek(entry.offset)
                done = 0
                while done < entry.size:
                    got = file.readinto(data[done:].data)
                    if not got:
                        raise self._damaged(entry, name, "the file ends within it")
                    done += got
        except FileNotFoundError as error:
            raise NotFoundError(f"tensor {name!r} lies in {path}, which is not there") from error
        except PermissionError as error:
            raise PermissionDeniedError(f"tensor {name!r}: {path} may not be read") from error
        return data

    def _data_path(self, entry: BundleEntryProto) -> str:
        return bundle.data_path(self.prefix, entry.shard_id, self._shards)

    def _damaged(self, entry: BundleEntryProto, name: str, what: str) -> DataLossError:
        return DataLossError(
            f"{self._data_path(entry)} is damaged at tensor {name!r}: {what}",
            do="restore from another checkpoint",
        )
