"""Checkpoints on disk, in TensorFlow's formats: V2 read and written, V1 read."""

from __future__ import annotations

import os

from graphvm_runtime.checkpoint.bundle import index_path
from graphvm_runtime.checkpoint.bundle_reader import BundleReader
from graphvm_runtime.checkpoint.bundle_writer import BundleWriter, merge_bundles
from graphvm_runtime.checkpoint.reader import CheckpointReader, Stored
from graphvm_runtime.checkpoint.slices import TensorSlice, parse_shape_and_slice
from graphvm_runtime.checkpoint.state import (
    STATE_FILE,
    checkpoint_exists,
    latest_checkpoint,
    read_state,
    remove_checkpoint,
    write_state,
)
from graphvm_runtime.checkpoint.v1 import V1Reader, v1_files

__all__ = [
    "STATE_FILE",
    "BundleReader",
    "BundleWriter",
    "CheckpointReader",
    "Stored",
    "TensorSlice",
    "V1Reader",
    "checkpoint_exists",
    "latest_checkpoint",
    "merge_bundles",
    "open_checkpoint",
    "parse_shape_and_slice",
    "read_state",
    "remove_checkpoint",
    "write_state",
]


def open_checkpoint(prefix: str) -> CheckpointReader:
    """The checkpoint of that prefix, in whichever format it is.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is cut off or damaged.
    """
    if os.path.isfile(index_path(prefix)) or not v1_files(prefix):
        return BundleReader(prefix)
    return V1Reader(prefix)
