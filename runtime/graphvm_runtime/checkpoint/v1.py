"""Reads V1 checkpoints: one sorted table a shard, elements in TensorProto lists."""

from __future__ import annotations

import glob
import math
import os

from google.protobuf.message import DecodeError

from graphvm_runtime import dtypes
from graphvm_runtime.checkpoint import bundle
from graphvm_runtime.checkpoint.reader import CheckpointReader, Stored
from graphvm_runtime.checkpoint.slices import TensorSlice, slice_key
from graphvm_runtime.checkpoint.table import read_table
from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import (
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    NotFoundError,
)
from graphvm_runtime.ir.graphdef import tensor_proto
from graphvm_runtime.protos.saved_tensor_slice_pb2 import SavedTensorSlices
from graphvm_runtime.protos.tensor_pb2 import TensorProto


def v1_files(prefix: str) -> list[str]:
    """The files of a V1 checkpoint: `prefix` itself, or what it matches as a pattern."""
    return [prefix] if os.path.isfile(prefix) else sorted(filter(os.path.isfile, glob.glob(prefix)))


class V1Reader(CheckpointReader):
    """A V1 checkpoint. The files are read whole, once.

    Args:
        prefix: path of the file, or the pattern of a sharded one (`model-?????-of-00002`).

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a file is no checkpoint, cut off or damaged.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        files = v1_files(prefix)
        if not files:
            raise NotFoundError(f"no checkpoint {prefix}")
        self._values: dict[bytes, tuple[str, bytes]] = {}
        self._tensors: dict[str, Stored] = {}
        for path in files:
            self._load(path)

    def names(self) -> list[str]:
        """Names of all tensors, sorted."""
        return sorted(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def _load(self, path: str) -> None:
        entries = dict(read_table(bundle.read_file(path, f"checkpoint {self.prefix}"), path))
        try:
            meta = SavedTensorSlices.FromString(entries.pop(bundle.HEADER_KEY)).meta
            for tensor in meta.tensor:
                shape = tuple(d.size for d in tensor.shape.dim)
                slices = tuple(TensorSlice.from_proto(s) for s in tensor.slice)
                for cut in slices:
                    cut.bounds(shape)
                before = self._tensors.get(tensor.name)
                slices = (before.slices if before else ()) + slices
                self._tensors[tensor.name] = Stored(
                    dtypes.from_enum(tensor.type), shape, tuple(dict.fromkeys(slices))
                )
        except (KeyError, DecodeError, DTypeError, InvalidArgumentError) as error:
            raise DataLossError(f"{path}: the list of tensors is damaged: {error}") from error
        self._values.update((key, (path, value)) for key, value in entries.items())

    def _stored(self, name: str) -> Stored | None:
        return self._tensors.get(name)

    def _read(self, name: str, stored: Stored, cut: TensorSlice | None) -> Array:
        part = TensorSlice.whole(len(stored.shape)) if cut is None else cut
        path, data = self._values.get(slice_key(bundle.name_bytes(name), part), (self.prefix, None))
        if data is None:
            raise DataLossError(f"{path} lists slice {part} of tensor {name!r}, but has none")
        shape = part.shape(stored.shape)
        try:
            values = SavedTensorSlices.FromString(data).data.data
        except DecodeError as error:
            raise DataLossError(f"{path} is damaged at tensor {name!r}") from error
        proto = TensorProto()
        proto.CopyFrom(values)
        proto.dtype = stored.dtype.enum  # type: ignore[assignment]  # an enum's number is an int
        proto.tensor_shape.CopyFrom(tensor_proto.shape_proto(shape))
        if not _is_full(values, math.prod(shape)):
            raise DataLossError(f"{path} has only a part of tensor {name!r}")
        return tensor_proto.decode(proto).copy()


def _is_full(values: TensorProto, count: int) -> bool:
    """Whether every element is there: files repeat no last value as graphs do."""
    if values.tensor_content:
        return True  # its size is checked when it is decoded
    lists = (value for field, value in values.ListFields() if field.name.endswith("_val"))
    return max((len(v) for v in lists), default=0) >= count
