"""V2 checkpoints: what reader, writer and merger share.

`PREFIX.index` is a sorted table of `BundleEntryProto`, `PREFIX.data-00000-of-00002` and so on hold
the elements. The key "" of the table has the header; a partitioned tensor has an entry without
bytes, and one a slice under `slice_key`.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError

from graphvm_runtime.checkpoint.table import read_table
from graphvm_runtime.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
)
from graphvm_runtime.protos.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto

VERSION = 1
HEADER_KEY = b""


def index_path(prefix: str) -> str:
    """Path of a checkpoint's index."""
    return f"{prefix}.index"


def data_path(prefix: str, shard: int, shards: int) -> str:
    """Path of one of a checkpoint's data files."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def name_bytes(name: str) -> bytes:
    """The key of a tensor's entry. Names that are no UTF-8 keep their bytes."""
    return name.encode("utf-8", "surrogateescape")


def bytes_name(key: bytes) -> str:
    """The name of a tensor whose entry has that key."""
    return key.decode("utf-8", "surrogateescape")


def read_file(path: str, what: str) -> bytes:
    """A whole file.

    Raises:
        NotFoundError, PermissionDeniedError: it is not there, or not to be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFoundError(f"{what}: no file {path}") from error
    except PermissionError as error:
        raise PermissionDeniedError(f"{what}: {path} may not be read") from error


def read_index(prefix: str) -> tuple[BundleHeaderProto, dict[bytes, bytes]]:
    """Header and serialised entries of a checkpoint's index.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: the index is cut off or damaged.
        FailedPreconditionError: it was written for newer readers only.
    """
    path = index_path(prefix)
    entries = dict(read_table(read_file(path, f"checkpoint {prefix}"), path))
    try:
        header = BundleHeaderProto.FromString(entries.pop(HEADER_KEY))
    except (KeyError, DecodeError) as error:
        raise DataLossError(f"{path} has no header") from error
    if header.version.min_consumer > VERSION:
        raise FailedPreconditionError(
            f"{path} wants a reader of version {header.version.min_consumer}, this is {VERSION}"
        )
    return header, entries


def parse_entry(data: bytes, path: str, name: str) -> BundleEntryProto:
    """An entry of the index `path`. Raises DataLossError where it is none."""
    try:
        return BundleEntryProto.FromString(data)
    except DecodeError as error:
        raise DataLossError(f"{path}: the entry of tensor {name!r} is damaged") from error
