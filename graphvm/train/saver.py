"""Saver: writes variables into checkpoints and reads them back, by operations of the graph."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from graphvm.graph.conversion import apply, constant_node, output
from graphvm.graph.graph import Operation, Tensor, get_default_graph
from graphvm.ops.array import placeholder_with_default, reshape
from graphvm.ops.control_flow import group
from graphvm.ops.state import assign
from graphvm.session.session import Session
from graphvm.train.checkpoints import remove_checkpoint, update_checkpoint_state
from graphvm.train.meta_graph import export_meta_graph
from graphvm.train.steps import global_step as step_number
from graphvm.variables.collections import global_variables
from graphvm.variables.variable import RefVariable, Variable
from graphvm_runtime import dtypes
from graphvm_runtime.checkpoint import checkpoint_exists
from graphvm_runtime.errors import (
    GraphError,
    GraphvmError,
    InvalidArgumentError,
    NotFoundError,
    clipped,
)  # fmt: skip

if TYPE_CHECKING:
    from graphvm_runtime.protos.meta_graph_pb2 import MetaGraphDef
    from graphvm_runtime.protos.saver_pb2 import SaverDef

__all__ = ["Saver"]

_MOST_LISTED = 10  # of what differs from a checkpoint, in one error


class Saver:
    """Writes variables into checkpoints and reads them back.

    Args:
        var_list: the variables, or a dictionary from the names in the checkpoint to them; all
            global variables otherwise.
        reshape: let tensors in a checkpoint have another shape of as many elements.
        sharded: write a file for each device that variables are on.
        max_to_keep: how many checkpoints are kept; None or 0: all.
        keep_checkpoint_every_n_hours: keep one for good each time so many hours have passed.
        name: name scope of the operations, `save` by default.
        restore_sequentially: not looked at.
        saver_def: a message: find the operations of a saver that the graph has already.
        defer_build: make the operations only when `build` is called.
        allow_empty: a saver of no variables is no error.
        pad_step_number: write step numbers with eight digits.
        save_relative_paths: write paths in `checkpoint` that survive moving the directory.
        filename: default path in the graph.

    Raises:
        GraphError: there is no variable, two have one name, or one has two names.
        TypeError: something in the list is no variable, or a name is no string.

    Source: `tf.compat.v1.train.Saver`.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        del restore_sequentially
        if defer_build and var_list is not None:
            raise GraphError("a saver that is built later takes the variables that are there then")
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep or 0
        self._every_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._allow_empty = allow_empty
        self._pad = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename
        self._last: list[tuple[str, float]] = []
        self._next_kept = time.time() + self._every_hours * 3600
        self._empty = False
        self._named: dict[str, Variable] | None = None
        self.saver_def = saver_def
        if saver_def is not None:
            self._max_to_keep = saver_def.max_to_keep
            self._every_hours = saver_def.keep_checkpoint_every_n_hours or self._every_hours
        elif not defer_build:
            self.build()

    def build(self) -> None:
        """Makes the operations, where they are not there yet."""
        from graphvm_runtime.protos.saver_pb2 import SaverDef

        if self.saver_def is not None:
            return
        named = self._named = _by_name(self._var_list)
        if not named:
            if not self._allow_empty:
                raise GraphError("there are no variables to save", do="make the variables first")
            self._empty = True
            return
        graph = next(iter(named.values())).graph
        with graph.as_default(), graph.name_scope(self._name or "save"):
            filename = _path_input(self._filename or "model")
            saved = _sharded(filename, named) if self._sharded else _saving(filename, named)
            restored = _restoring(filename, named, self._reshape)
        self.saver_def = SaverDef(
            filename_tensor_name=filename.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            max_to_keep=self._max_to_keep,
            sharded=self._sharded,
            keep_checkpoint_every_n_hours=self._every_hours,
            version=SaverDef.V2,
        )

    def _built(self) -> SaverDef:
        self.build()
        if self.saver_def is None:
            raise GraphError("the saver has no variables")
        return self.saver_def

    # -- saving and restoring --------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
    ) -> str | None:
        """Writes a checkpoint of the variables as they are in a session.

        Args:
            sess: the session.
            save_path: prefix of the files.
            global_step: a number that is added to the prefix; also a variable or tensor of one.
            latest_filename: name of the file that lists checkpoints, `checkpoint` by default.
            meta_graph_suffix: of the file of the graph.
            write_meta_graph: write the graph too.
            write_state: write that file.

        Returns:
            Prefix of the checkpoint; None for a saver of no variables.

        Raises:
            TypeError: `sess` is no session.
            GraphError: `latest_filename` is a path, or collides with `save_path`.
            OpError: a variable has no value, or the files cannot be written.

        Source: `tf.compat.v1.train.Saver.save`.
        """
        _check_session(sess)
        listing = latest_filename or "checkpoint"
        path = os.fspath(save_path)
        if os.path.dirname(listing):
            raise GraphError(f"latest_filename is a name, not a path: {listing!r}")
        if os.path.basename(path) == listing and not self._sharded:
            raise GraphError(f"save_path and latest_filename are both {listing!r}")
        if global_step is not None:
            if not isinstance(global_step, int | np.integer):
                global_step = step_number(sess, global_step)
            number = f"{int(global_step):08d}" if self._pad else str(int(global_step))
            path = f"{path}-{number}"
        written: str | None = None
        if not self._empty:
            names = self._built()
            folder = os.path.dirname(path)
            if folder and not os.path.isdir(folder):
                raise GraphError(f"there is no directory {folder!r} to save into")
            value = sess.run(names.save_tensor_name, {names.filename_tensor_name: path})
            written = value.decode() if isinstance(value, bytes) else str(np.asarray(value).item())
            if write_state:
                self._record(written, meta_graph_suffix)
                self._write_state(written, listing)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(f"{path}.{meta_graph_suffix}")
        return written

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Gives the variables the values of a checkpoint; they need no initializer then.

        Args:
            sess: the session.
            save_path: prefix of the checkpoint.

        Raises:
            TypeError: `sess` is no session.
            GraphError: there is none, or no path.
            NotFoundError: a variable is not in the checkpoint.
            InvalidArgumentError: a variable has another shape or type in it.
            DataLossError: a file is cut off or damaged.

        Source: `tf.compat.v1.train.Saver.restore`.
        """
        if self._empty:
            return
        if save_path is None:
            raise GraphError("there is no path to restore from")
        path = os.fspath(save_path)
        if not checkpoint_exists(path):
            raise GraphError(
                f"{path!r} is no checkpoint", do="pass the prefix that save gave, without suffix"
            )
        _check_session(sess)
        names = self._built()
        try:
            sess.run(names.restore_op_name, {names.filename_tensor_name: path})
        except (InvalidArgumentError, NotFoundError) as error:
            differences = self._differences(path)
            raise type(error)(
                f"checkpoint {path!r} does not fit the graph: {differences or error.what}",
                node=error.node,
                made=error.made,
                task=error.task,
                do="make the variables as they are in the checkpoint, or leave them out of the "
                "saver; reshape=True lets shapes of as many elements differ",
            ) from error

    def _differences(self, path: str) -> str:
        """All that differs between variables and checkpoint; empty where that is not known."""
        from graphvm_runtime.checkpoint import open_checkpoint

        named = self._named
        if named is None:
            return ""
        try:
            reader = open_checkpoint(path)
        except (GraphvmError, OSError):  # it may be on the machine of a worker alone
            return ""
        extra = [n for n in reader.names() if n not in named]
        missing, other = [], []
        for name, variable in named.items():
            if name not in reader:
                near = get_close_matches(name, extra, 1, 0.6)
                missing.append(f"{name!r}" + (f" (is it {near[0]!r}?)" if near else ""))
                continue
            stored = reader.stored(name)
            shape, dtype = variable.shape, variable.dtype.base
            whose = f"variable {variable.op.name!r}"
            if stored.dtype is not dtype:
                other.append(f"{name!r} is of {stored.dtype.name}, not {dtype.name} as {whose}")
            elif not self._reshape and not shape.is_compatible_with(stored.shape):
                other.append(f"{name!r} has the shape {list(stored.shape)}, not {shape} as {whose}")
        if not missing and not other:
            return ""
        parts = [
            _listed("it lacks ", missing), _listed("", other),
            _listed("the graph lacks ", [repr(n) for n in extra]),
        ]  # fmt: skip
        return "; ".join(p for p in parts if p)

    # -- which checkpoints are kept ---------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """Prefixes of the checkpoints that are kept, oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Sets what `last_checkpoints` gives, of unknown times."""
        self._last = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Sets what `last_checkpoints` gives, with the times in seconds since the epoch."""
        self._last = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Goes on from checkpoints that an earlier process wrote.

        Args:
            checkpoint_paths: prefixes, oldest first; those that are not there are left out.
        """
        self._last = [
            (path, os.path.getmtime(f"{path}.index"))
            for path in checkpoint_paths
            if checkpoint_exists(path) and os.path.isfile(f"{path}.index")
        ]

    def _record(self, path: str, suffix: str) -> None:
        """Takes down a new checkpoint, and deletes those that are too many."""
        self._last = [entry for entry in self._last if entry[0] != path]
        self._last.append((path, time.time()))
        while self._max_to_keep and len(self._last) > self._max_to_keep:
            old, when = self._last.pop(0)
            if when != float("inf") and when > self._next_kept:
                self._next_kept += self._every_hours * 3600
                continue
            remove_checkpoint(old)
            meta = f"{old}.{suffix}"
            if os.path.isfile(meta):
                os.remove(meta)

    def _write_state(self, path: str, listing: str) -> None:
        times = [when for _, when in self._last]
        folder = os.path.dirname(path)
        if self._relative:
            from graphvm_runtime.checkpoint import write_state

            write_state(folder, path, self.last_checkpoints, filename=listing, relative=True)
            return
        update_checkpoint_state(
            folder,
            path,
            self.last_checkpoints,
            listing,
            times if float("inf") not in times else None,
            self._next_kept - self._every_hours * 3600,
        )

    # -- messages ----------------------------------------------------------------------------

    def as_saver_def(self) -> SaverDef:
        """The message that finds this saver again in an imported graph."""
        return self._built()

    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """The message of `as_saver_def`, its names without a scope; None outside of it."""
        from graphvm_runtime.protos.saver_pb2 import SaverDef

        given = self._built()
        if export_scope is None:
            return given
        prefix = f"{export_scope}/"
        if not given.filename_tensor_name.startswith(prefix):
            return None
        message = SaverDef()
        message.CopyFrom(given)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(message, field, getattr(message, field).removeprefix(prefix))
        return message

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """The saver that a message finds in the default graph."""
        from graphvm_runtime.protos.saver_pb2 import SaverDef

        message = SaverDef()
        message.CopyFrom(saver_def)
        if import_scope:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(message, field, f"{import_scope}/{getattr(message, field)}")
        return Saver(saver_def=message)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
    ) -> MetaGraphDef:
        """The default graph with its collections and this saver; see `export_meta_graph`."""
        return export_meta_graph(
            filename,
            saver_def=None if self._empty else self._built(),
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
        )


def _check_session(sess: Any) -> None:
    if not isinstance(sess, Session):
        raise TypeError(f"sess must be a session, not {clipped(sess)}")


def _listed(before: str, items: Sequence[str]) -> str:
    """The first items in words; empty where there are none."""
    if not items:
        return ""
    more = f" and {len(items) - _MOST_LISTED} more" if len(items) > _MOST_LISTED else ""
    return before + ", ".join(items[:_MOST_LISTED]) + more


def _by_name(var_list: Any) -> dict[str, Variable]:
    """Variables by the names that they have in a checkpoint, sorted."""
    if var_list is None:
        var_list = global_variables()
    if isinstance(var_list, Mapping):
        pairs = list(var_list.items())
    elif not isinstance(var_list, Iterable) or isinstance(var_list, str | Variable):
        raise TypeError(
            f"the variables to save are a list or a dictionary, not {clipped(var_list)}"
        )
    else:
        pairs = []
        for variable in var_list:
            _check_variable(variable)
            pairs.append((variable.op.name, variable))
    out: dict[str, Variable] = {}
    names: dict[Tensor, str] = {}
    for name, variable in pairs:
        if not isinstance(name, str):
            raise TypeError(f"{clipped(name)} is no name in a checkpoint, which is a string")
        _check_variable(variable)
        if name in out:
            raise GraphError(f"two variables are called {name!r}")
        other = names.setdefault(variable._handle, name)
        if other != name:
            raise GraphError(
                f"variable {variable.name!r} would be restored from two names, {other!r} and "
                f"{name!r}"
            )
        out[name] = variable
    return dict(sorted(out.items()))


def _check_variable(value: Any) -> None:
    if not isinstance(value, Variable):
        raise TypeError(f"{clipped(value)} is no variable")


def _path_input(default: str) -> Tensor:
    path = np.empty((), object)
    path[()] = default.encode()
    first = constant_node(path, dtypes.string, "filename/input")
    second = placeholder_with_default(first, (), "filename")
    return placeholder_with_default(second, (), "Const")


def _strings(values: Sequence[str], name: str) -> Tensor:
    array = np.empty(len(values), object)
    array[:] = [v.encode() for v in values]
    return constant_node(array, dtypes.string, name)


def _value(variable: Variable) -> Tensor:
    """What is saved of a variable: its read, or the reference."""
    return variable._as_graph_element()


def _saving(filename: Tensor, named: Mapping[str, Variable]) -> Tensor:
    graph = get_default_graph()
    with graph.name_scope("SaveV2") as scope:
        names = _strings(list(named), "tensor_names")
        slices = _strings([""] * len(named), "shape_and_slices")
        values = [_value(v) for v in named.values()]
        op = apply("SaveV2", (filename, names, slices, values), None, scope)
    with graph.control_dependencies([op]):
        return output("Identity", (filename,), None, "control_dependency")


def _sharded(filename: Tensor, named: Mapping[str, Variable]) -> Tensor:
    """A file for each device, merged into one checkpoint."""
    graph = get_default_graph()
    by_device: dict[str, dict[str, Variable]] = {}
    for name, variable in named.items():
        by_device.setdefault(variable.device, {})[name] = variable
    part = f"_temp_{os.urandom(16).hex()}/part"
    stem = output("StringJoin", ([filename, part],))
    count = constant_node(np.array(len(by_device), np.int32), dtypes.int32, "num_shards")
    shards, waits = [], []
    for number, (device, some) in enumerate(sorted(by_device.items())):
        with graph.device(device or None):
            shard = output("ShardedFilename", (stem, number, count))
            shards.append(shard)
            waits.append(_saving(shard, some))
    with graph.control_dependencies(waits):
        merged = apply("MergeV2Checkpoints", (shards, filename), {"delete_old_dirs": True})
    with graph.control_dependencies([*waits, merged]):
        return output("Identity", (filename,))


def _restoring(filename: Tensor, named: Mapping[str, Variable], reshaped: bool) -> Operation:
    graph = get_default_graph()
    with graph.name_scope("RestoreV2") as scope:
        names = _strings(list(named), "tensor_names")
        slices = _strings([""] * len(named), "shape_and_slices")
        kinds = tuple(v.dtype.base for v in named.values())
        op = apply("RestoreV2", (filename, names, slices), {"dtypes": kinds}, scope)
    assigned: list[Any] = []
    for tensor, variable in zip(op.outputs, named.values(), strict=True):
        with graph.device(variable.device or None):
            value = reshape(tensor, variable.shape) if reshaped else tensor
            if not isinstance(variable, RefVariable):
                value = output("Identity", (value,))
                kind = {"dtype": variable.dtype, "validate_shape": True}
                assigned.append(apply("AssignVariableOp", (variable.handle, value), kind))
            else:
                checked = variable.shape.is_fully_defined()
                assigned.append(assign(variable, value, validate_shape=checked).op)
    return group(*assigned, name="restore_all")
