"""Writes V2 checkpoints, and makes one of several."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO

import numpy as np

from graphvm_runtime import dtypes, varint
from graphvm_runtime.checkpoint import bundle
from graphvm_runtime.checkpoint.crc32c import crc32c, masked
from graphvm_runtime.checkpoint.slices import TensorSlice, slice_key
from graphvm_runtime.checkpoint.table import TableWriter
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    clipped,
)
from graphvm_runtime.ir.graphdef.tensor_proto import shape_proto
from graphvm_runtime.protos.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto


class BundleWriter:
    """A V2 checkpoint in the making. It appears under its name when it is whole.

    Use it as a context manager: an error inside leaves what was there before.

    Args:
        prefix: path of the checkpoint; missing directories are made.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        self._temporary = _temporary(bundle.data_path(prefix, 0, 1))
        # Kept open over many calls and closed by finish or discard.
        self._file: BinaryIO = open(self._temporary, "xb")  # noqa: SIM115
        self._place = 0
        self._entries: dict[bytes, BundleEntryProto] = {}

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.discard()

    def add(self, name: str, array: object, dtype: object = None) -> None:
        """Write a tensor.

        Args:
            name: its name, unique in the checkpoint.
            array: its value.
            dtype: its element type, where NumPy's does not say it (quantized types).

        Raises:
            InvalidArgumentError: the name is empty or taken, or the value cannot be stored.
        """
        self._add(self._key(name), name, *_typed(array, dtype))

    def add_slice(
        self, name: str, shape: Sequence[int], cut: TensorSlice, array: object, dtype: object = None
    ) -> None:
        """Write a part of a partitioned tensor.

        Args:
            name: name of the whole tensor.
            shape: shape of the whole tensor.
            cut: which part this is.
            array: the value of the part.
            dtype: as for `add`.

        Raises:
            InvalidArgumentError: the part does not fit the tensor or what was written of it.
        """
        values, kind = _typed(array, dtype)
        if cut.shape(shape) != values.shape:
            raise InvalidArgumentError(
                f"slice {cut} of tensor {name!r} of shape {tuple(shape)} has shape "
                f"{cut.shape(shape)}, the value {values.shape}"
            )
        whole = BundleEntryProto(dtype=kind.enum, shape=shape_proto(shape))  # type: ignore[arg-type]
        key = bundle.name_bytes(name)
        known = self._entries.get(key)
        if known is None:
            key = self._key(name)
        elif known.dtype != whole.dtype or known.shape != whole.shape or not known.slices:
            raise InvalidArgumentError(
                f"slice {cut} of tensor {name!r} does not fit what was written of it before"
            )
        self._add(slice_key(key, cut), f"{name} {cut}", values, kind)
        self._entries.setdefault(key, whole).slices.append(cut.to_proto())

    def finish(self) -> None:
        """Make the checkpoint appear. Nothing can be added after this."""
        try:
            _synced(self._file)
            self._file.close()
            index = _prepared_index(self.prefix, 1, self._entries)
        except BaseException:
            self.discard()
            raise
        os.replace(self._temporary, bundle.data_path(self.prefix, 0, 1))
        os.replace(index, bundle.index_path(self.prefix))

    def discard(self) -> None:
        """Give up: nothing of this stays on disk."""
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._temporary)

    def _key(self, name: str) -> bytes:
        key = bundle.name_bytes(name)
        if not key or key.startswith(b"\0"):
            raise InvalidArgumentError(f"{name!r} cannot be the name of a tensor in a checkpoint")
        return key

    def _add(self, key: bytes, name: str, array: Array, dtype: DType) -> None:
        if self._file.closed:
            raise FailedPreconditionError(f"checkpoint {self.prefix} is finished already")
        if key in self._entries:
            raise InvalidArgumentError(f"tensor {name!r} is in the checkpoint twice")
        start = self._place
        crc = self._strings(array, name) if dtype is dtypes.string else self._numbers(array)
        self._entries[key] = BundleEntryProto(
            dtype=dtype.enum,  # type: ignore[arg-type]  # an enum's number is an int
            shape=shape_proto(array.shape),
            offset=start,
            size=self._place - start,
            crc32c=masked(crc),
        )

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._place += len(data)

    def _numbers(self, array: Array) -> int:
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        data = little.reshape(-1).view(np.uint8).data
        self._write(data)
        return crc32c(data)

    def _strings(self, array: Array, name: str) -> int:
        """Lengths as varints, their masked checksum, then all bytes; see the reader."""
        values = [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
        for value in values:
            if not isinstance(value, bytes):
                raise InvalidArgumentError(
                    f"tensor {name!r}: an element of a string tensor must be a string: "
                    f"{clipped(value)}"
                )
        lengths = [len(v) for v in values]
        crc = crc32c(b"".join(struct.pack("<I" if n < 2**32 else "<Q", n) for n in lengths))
        head = struct.pack("<I", masked(crc))
        self._write(b"".join(map(varint.encode, lengths)))
        for data in (head, *values):
            self._write(data)
            crc = crc32c(data, crc)
        return crc


def merge_bundles(
    prefixes: Sequence[str],
    destination: str,
    *,
    delete_old_dirs: bool = False,
    allow_missing: bool = False,
) -> None:
    """Make one checkpoint of several, whose data files move to the new name.

    Args:
        prefixes: the checkpoints. Slices of one tensor may be spread over them.
        destination: prefix of the new checkpoint.
        delete_old_dirs: remove the directories of the old ones where that leaves them empty.
        allow_missing: pass over checkpoints that are not there.

    Raises:
        NotFoundError: one of the checkpoints is not there, or none is.
        InvalidArgumentError: two have a tensor of the same name, or parts that do not fit.
        DataLossError: an index is damaged.
    """
    merged: dict[bytes, BundleEntryProto] = {}
    moves: list[str] = []  # data files, in the order of their new numbers
    used = []
    endianness = None
    for prefix in dict.fromkeys(prefixes):
        try:
            header, entries = bundle.read_index(prefix)
        except NotFoundError:
            if allow_missing:
                continue
            raise
        if endianness not in (None, header.endianness):
            raise InvalidArgumentError(f"checkpoint {prefix} has another byte order than the first")
        endianness = header.endianness
        base = len(moves)
        shards = header.num_shards
        moves += [bundle.data_path(prefix, i, shards) for i in range(shards)]
        used.append(prefix)
        for key, data in entries.items():
            name = bundle.bytes_name(key)
            entry = bundle.parse_entry(data, bundle.index_path(prefix), name)
            entry.shard_id += base
            known = merged.setdefault(key, entry)
            if known is entry:
                continue
            alike = entry.dtype == known.dtype and entry.shape == known.shape
            if not (entry.slices and known.slices and alike):
                raise InvalidArgumentError(f"tensor {name!r} is in two of the checkpoints")
            known.slices.extend(entry.slices)
    if endianness is None:
        raise NotFoundError(f"none of the checkpoints to be merged into {destination} is there")
    os.makedirs(os.path.dirname(destination) or ".", exist_ok=True)
    index = _prepared_index(destination, len(moves), merged, endianness)
    # Through names of their own: a shard's new name may be the old name of another.
    targets = [bundle.data_path(destination, i, len(moves)) for i in range(len(moves))]
    parked = [_temporary(target) for target in targets]
    for source, temporary in zip(moves, parked, strict=True):
        shutil.move(source, temporary)
    for temporary, target in zip(parked, targets, strict=True):
        os.replace(temporary, target)
    os.replace(index, bundle.index_path(destination))
    for prefix in used:
        if prefix != destination:
            os.remove(bundle.index_path(prefix))
        if delete_old_dirs:
            with contextlib.suppress(OSError):  # not empty
                os.rmdir(os.path.dirname(prefix) or ".")


def _prepared_index(
    prefix: str,
    shards: int,
    entries: dict[bytes, BundleEntryProto],
    endianness: BundleHeaderProto.Endianness.ValueType = BundleHeaderProto.LITTLE,
) -> str:
    """Path of a complete index that only has to be renamed."""
    header = BundleHeaderProto(num_shards=shards, endianness=endianness)
    header.version.producer = bundle.VERSION
    temporary = _temporary(bundle.index_path(prefix))
    try:
        with open(temporary, "xb") as file:
            table = TableWriter(file)
            table.add(bundle.HEADER_KEY, header.SerializeToString())
            for key in sorted(entries):
                table.add(key, entries[key].SerializeToString())
            table.finish()
            _synced(file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise
    return temporary


def _temporary(path: str) -> str:
    return f"{path}.part{os.urandom(6).hex()}"


def _synced(file: BinaryIO) -> None:
    # Without this a power cut may leave a renamed but empty file, and the old ones deleted.
    file.flush()
    os.fsync(file.fileno())


def _typed(array: object, dtype: object) -> tuple[Array, DType]:
    values = np.asarray(array)
    kind = dtypes.from_numpy(values.dtype) if dtype is None else dtypes.as_dtype(dtype).base
    if kind is dtypes.string:
        return np.asarray(array, object), kind
    if not kind.is_numpy_compatible:
        raise InvalidArgumentError(f"a {kind.name} cannot be stored in a checkpoint")
    if values.dtype != kind.numpy and values.dtype.newbyteorder("=") != kind.numpy:
        raise InvalidArgumentError(f"an array of {values.dtype} is no tensor of {kind.name}")
    return values, kind
