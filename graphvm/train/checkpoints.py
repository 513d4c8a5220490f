"""Checkpoints from outside of a graph: which there are, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphvm_runtime import checkpoint
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import GraphError

if TYPE_CHECKING:
    from graphvm_runtime.protos.checkpoint_state_pb2 import CheckpointState

__all__ = [
    "NewCheckpointReader", "checkpoint_exists", "get_checkpoint_mtimes", "get_checkpoint_state",
    "latest_checkpoint", "list_variables", "load_checkpoint", "load_variable",
    "remove_checkpoint", "update_checkpoint_state",
]  # fmt: skip


class NewCheckpointReader:
    """Reads tensors of a checkpoint.

    Args:
        filepattern: its prefix.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is cut off or damaged.

    Source: `tf.compat.v1.train.NewCheckpointReader`.
    """

    def __init__(self, filepattern: str) -> None:
        self._reader = checkpoint.open_checkpoint(os.fspath(filepattern))

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Shape of each tensor by name."""
        return {n: list(self._reader.shape(n)) for n in self._reader.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Element type of each tensor by name."""
        return {n: self._reader.dtype(n) for n in self._reader.names()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of that name."""
        return tensor_str in self._reader

    def get_tensor(self, tensor_str: str) -> Array:
        """A tensor by name. Raises NotFoundError."""
        return self._reader.get_tensor(tensor_str)

    def debug_string(self) -> bytes:
        """A line for each tensor: name, type, shape."""
        lines = []
        for name in self._reader.names():
            shape = ",".join(map(str, self._reader.shape(name)))
            lines.append(f"{name} (DT_{self._reader.dtype(name).name.upper()}) [{shape}]")
        return "\n".join(lines).encode()


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Prefix of the newest checkpoint of a directory.

    Args:
        checkpoint_dir: the directory.
        latest_filename: name of the file that lists them, `checkpoint` by default.

    Returns:
        The prefix, None where there is none.

    Raises:
        DataLossError: the file is damaged.

    Source: `tf.train.latest_checkpoint`.
    """
    return checkpoint.latest_checkpoint(os.fspath(checkpoint_dir), latest_filename)


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of that prefix.

    Args:
        checkpoint_prefix: what `Saver.save` gave.

    Source: `tf.compat.v1.train.checkpoint_exists`.
    """
    return checkpoint.checkpoint_exists(os.fspath(checkpoint_prefix))


def get_checkpoint_state(
    checkpoint_dir: str, latest_filename: str | None = None
) -> CheckpointState | None:
    """What the file `checkpoint` of a directory says.

    Args:
        checkpoint_dir: the directory.
        latest_filename: name of the file, `checkpoint` by default.

    Returns:
        The message, with paths that are usable from here; None where there is no file.

    Raises:
        DataLossError: the file is damaged.

    Source: `tf.train.get_checkpoint_state`.
    """
    return checkpoint.read_state(
        os.fspath(checkpoint_dir), latest_filename or checkpoint.STATE_FILE
    )


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the file `checkpoint` of a directory.

    Args:
        save_dir: the directory.
        model_checkpoint_path: prefix of the newest checkpoint.
        all_model_checkpoint_paths: prefixes of all that are kept, oldest first.
        latest_filename: name of the file, `checkpoint` by default.
        all_model_checkpoint_timestamps: when each was written, in seconds since the epoch.
        last_preserved_timestamp: when the last one that is kept for good was written.

    Raises:
        InvalidArgumentError: there is not a timestamp for each prefix.

    Source: `tf.compat.v1.train.update_checkpoint_state`.
    """
    checkpoint.write_state(
        os.fspath(save_dir),
        model_checkpoint_path,
        list(all_model_checkpoint_paths or ()),
        filename=latest_filename or checkpoint.STATE_FILE,
        timestamps=list(all_model_checkpoint_timestamps or ()),
        last_preserved=last_preserved_timestamp,
    )


def remove_checkpoint(checkpoint_prefix: str) -> None:
    """Deletes the files of a checkpoint, as far as they are there.

    Args:
        checkpoint_prefix: what `Saver.save` gave.

    Source: `tf.compat.v1.train.remove_checkpoint`.
    """
    checkpoint.remove_checkpoint(os.fspath(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When checkpoints were written, in seconds since the epoch.

    Args:
        checkpoint_prefixes: what `Saver.save` gave.

    Returns:
        A time for each that is there.

    Source: `tf.compat.v1.train.get_checkpoint_mtimes`.
    """
    paths = [f"{os.fspath(prefix)}.index" for prefix in checkpoint_prefixes]
    return [os.path.getmtime(path) for path in paths if os.path.isfile(path)]


def load_checkpoint(ckpt_dir_or_file: str) -> NewCheckpointReader:
    """A reader of a checkpoint, or of the newest one of a directory.

    Args:
        ckpt_dir_or_file: a prefix or a directory.

    Raises:
        GraphError: the directory has no checkpoint.
        NotFoundError: there is no checkpoint of that prefix.

    Source: `tf.train.load_checkpoint`.
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        newest = latest_checkpoint(path)
        if newest is None:
            raise GraphError(f"there is no checkpoint in {path}")
        path = newest
    return NewCheckpointReader(path)


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """A tensor of a checkpoint.

    Args:
        ckpt_dir_or_file: a prefix or a directory.
        name: of the tensor; a `:0` at its end is left off.

    Raises:
        NotFoundError: the checkpoint, or the tensor in it, is not there.

    Source: `tf.train.load_variable`.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Names and shapes of the tensors of a checkpoint, sorted.

    Args:
        ckpt_dir_or_file: a prefix or a directory.

    Raises:
        NotFoundError: there is no checkpoint.

    Source: `tf.train.list_variables`.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
