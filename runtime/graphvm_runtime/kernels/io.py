"""Kernels of checkpoints.

The makers import what reads and writes files: a program without checkpoints never loads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.values.resources import Step


def _path(value: Array) -> str:
    if value.size != 1:
        raise InvalidArgumentError(f"one path is due, got the shape {list(value.shape)}")
    text: bytes = value.reshape(-1)[0]
    return os.fsdecode(text)


def _names(names: Array, slices: Array, count: int) -> list[tuple[str, str]]:
    if names.shape != (count,) or slices.shape != (count,):
        raise InvalidArgumentError(
            f"{count} tensors, but names of shape {list(names.shape)} and slices of shape "
            f"{list(slices.shape)}"
        )
    return [(_text(n), _text(s)) for n, s in zip(names, slices, strict=True)]


def _text(given: bytes) -> str:
    try:
        return given.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{given!r} is not in UTF-8, so it names no tensor") from error


@kernel("SaveV2")
def _save(node: Node) -> Callable[..., Any]:
    from graphvm_runtime.checkpoint import BundleWriter, parse_shape_and_slice

    dtypes: tuple[DType, ...] = node.attrs["dtypes"]

    def call(prefix: Array, names: Array, slices: Array, *tensors: Array) -> None:
        listed = _names(names, slices, len(tensors))
        with BundleWriter(_path(prefix)) as writer:
            for (name, spec), tensor, dtype in zip(listed, tensors, dtypes, strict=True):
                if spec:
                    shape, cut = parse_shape_and_slice(spec)
                    writer.add_slice(name, shape, cut, tensor, dtype)
                else:
                    writer.add(name, tensor, dtype)

    return call


@kernel("RestoreV2")
def _restore(node: Node) -> Kernel:
    from graphvm_runtime.checkpoint import open_checkpoint, parse_shape_and_slice

    dtypes: tuple[DType, ...] = node.attrs["dtypes"]

    def call(step: Step, prefix: Array, names: Array, slices: Array) -> Any:
        path = _path(prefix)
        reader = step.state.get(("checkpoint", path))
        if reader is None:
            # graphs restore each variable by a node of its own
            reader = step.state.setdefault(("checkpoint", path), open_checkpoint(path))
        out = []
        listed = _names(names, slices, len(dtypes))
        for (name, spec), dtype in zip(listed, dtypes, strict=True):
            stored = reader.stored(name)
            if stored.dtype is not dtype:
                raise InvalidArgumentError(
                    f"tensor {name!r} of checkpoint {path} is of {stored.dtype.name}, not "
                    f"{dtype.name}"
                )
            if not spec:
                out.append(reader.get_tensor(name))
                continue
            shape, cut = parse_shape_and_slice(spec)
            if shape != stored.shape:
                raise InvalidArgumentError(
                    f"tensor {name!r} of checkpoint {path} has the shape {list(stored.shape)}, "
                    f"not {list(shape)}"
                )
            out.append(reader.get_slice(name, cut))
        return out[0] if len(out) == 1 else out

    return Kernel(call, step=True)


@kernel("MergeV2Checkpoints")
def _merge(node: Node) -> Callable[..., Any]:
    from graphvm_runtime.checkpoint import merge_bundles

    delete, allow = node.attrs["delete_old_dirs"], node.attrs["allow_missing_files"]

    def call(prefixes: Array, destination: Array) -> None:
        given = [os.fsdecode(p) for p in prefixes.reshape(-1)]
        merge_bundles(given, _path(destination), delete_old_dirs=delete, allow_missing=allow)

    return call


def _sharded(basename: Array, shard: Array, count: Array) -> Array:
    return as_strings(os.fsencode(f"{_path(basename)}-{int(shard):05d}-of-{int(count):05d}"))


plain("ShardedFilename", _sharded)
