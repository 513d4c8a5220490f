"""Which checkpoints a directory has: the text file `checkpoint`."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Sequence

from google.protobuf import text_format

from graphvm_runtime.checkpoint import bundle
from graphvm_runtime.checkpoint.v1 import v1_files
from graphvm_runtime.errors import DataLossError, InvalidArgumentError
from graphvm_runtime.protos.checkpoint_state_pb2 import CheckpointState

STATE_FILE = "checkpoint"


def read_state(directory: str, filename: str = STATE_FILE) -> CheckpointState | None:
    """The state of a directory with all paths usable from here; None where there is no file.

    Raises:
        DataLossError: the file is damaged.
    """
    path = os.path.join(directory, filename)
    try:
        with open(path, encoding="utf-8") as file:
            state = text_format.Parse(file.read(), CheckpointState())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise DataLossError(
            f"{path} is damaged: {error}", do="delete it, or name a checkpoint"
        ) from error
    if not state.model_checkpoint_path:
        raise DataLossError(f"{path} names no checkpoint", do="delete it, or name a checkpoint")
    # An absolute path stays as it is.
    state.model_checkpoint_path = os.path.join(directory, state.model_checkpoint_path)
    kept = [os.path.join(directory, p) for p in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths[:] = kept
    return state


def write_state(
    directory: str,
    latest: str,
    kept: Sequence[str] = (),
    *,
    filename: str = STATE_FILE,
    timestamps: Sequence[float] = (),
    last_preserved: float | None = None,
    relative: bool = False,
) -> None:
    """Replace the state of a directory in one step.

    Args:
        directory: where to write it.
        latest: prefix of the newest checkpoint.
        kept: prefixes of all that are kept, oldest first; `latest` is added where it is missing.
        filename: name of the file.
        timestamps: when each of `kept` was written, in seconds since the epoch.
        last_preserved: when the last one that is kept for good was written.
        relative: write paths relative to the directory, so that it can be moved. Paths that are
            relative to the working directory are always written so.

    Raises:
        InvalidArgumentError: there are timestamps, but not one for each of `kept`.
    """
    if timestamps and len(timestamps) != len(kept):
        raise InvalidArgumentError(f"{len(timestamps)} timestamps for {len(kept)} checkpoints")
    paths = [*kept, latest] if latest not in kept else list(kept)

    def written(path: str) -> str:
        if os.path.isabs(path) and not relative:
            return path
        return os.path.relpath(path, directory or ".")

    state = CheckpointState(
        model_checkpoint_path=written(latest),
        all_model_checkpoint_paths=[written(p) for p in paths],
        all_model_checkpoint_timestamps=timestamps if len(timestamps) == len(paths) else (),
        last_preserved_timestamp=last_preserved or 0.0,
    )
    path = os.path.join(directory, filename)
    temporary = f"{path}.part{os.urandom(6).hex()}"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text_format.MessageToString(state))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def latest_checkpoint(directory: str, filename: str | None = None) -> str | None:
    """Prefix of the newest checkpoint of a directory; None where there is none.

    Raises:
        DataLossError: the state file is damaged.
    """
    state = read_state(directory, filename or STATE_FILE)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def checkpoint_exists(prefix: str) -> bool:
    """Whether there is a checkpoint of that prefix, in either format."""
    return os.path.isfile(bundle.index_path(prefix)) or bool(v1_files(prefix))


def remove_checkpoint(prefix: str) -> None:
    """Delete the files of a checkpoint, as far as they are there."""
    # The index first: without it the rest is no checkpoint.
    shards = glob.glob(f"{glob.escape(prefix)}.data-?????-of-?????")
    for path in (bundle.index_path(prefix), *shards, *v1_files(prefix)):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
