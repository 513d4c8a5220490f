"""Reading a SavedModel into a session.

Source: `tf.compat.v1.saved_model.loader`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from graphvm.graph.graph import Operation
from graphvm.saved_model.constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from graphvm.session.session import Session
from graphvm.train import Saver, import_meta_graph
from graphvm_runtime.errors import clipped
from graphvm_runtime.protos.meta_graph_pb2 import AssetFileDef, MetaGraphDef
from graphvm_runtime.protos.saved_model_pb2 import SavedModel

__all__ = ["contains_saved_model", "load", "maybe_saved_model_directory"]

_INIT_SIGNATURE = "__saved_model_init_op"


def maybe_saved_model_directory(export_dir: str) -> bool:
    """Whether a directory has the file of a SavedModel.

    Args:
        export_dir: path of the directory.

    Source: `tf.compat.v1.saved_model.maybe_saved_model_directory`.
    """
    return _file_of(os.fspath(export_dir)) is not None


def contains_saved_model(export_dir: str) -> bool:
    """The same as `maybe_saved_model_directory`.

    Args:
        export_dir: path of the directory.

    Source: `tf.saved_model.contains_saved_model`.
    """
    return maybe_saved_model_directory(export_dir)


def load(
    sess: Session,
    tags: str | Iterable[str],
    export_dir: str,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> MetaGraphDef:
    """Takes a graph of a SavedModel into a session, with the values of its variables.

    The graph is imported into the session's graph, variables are restored, and the operation that
    the model names for it is run, with the paths of its assets fed.

    Args:
        sess: the session.
        tags: of the graph, exactly.
        export_dir: path of the directory.
        import_scope: name scope to import the graph under.
        **saver_kwargs: for `import_meta_graph`.

    Returns:
        The message of the graph.

    Raises:
        OSError: there is no SavedModel, or its file is damaged.
        RuntimeError: no graph has these tags, or it names several operations to run.
        TypeError: `sess` is no session.
        OpError: importing, restoring or that operation failed.

    Source: `tf.compat.v1.saved_model.load`.
    """
    if not isinstance(sess, Session):
        raise TypeError(f"sess must be a session, not {clipped(sess)}")
    path = os.fspath(export_dir)
    message = _tagged(_read(path), tags, path)
    with sess.graph.as_default() as graph:
        saver = import_meta_graph(message, import_scope=import_scope, **saver_kwargs)
        if isinstance(saver, tuple):
            saver = saver[0]
        _restore(sess, saver, path)
        name = _init_op(message)
        if name:
            element = graph.as_graph_element(_scoped(name, import_scope))
            op = element if isinstance(element, Operation) else element.op
            sess.run(op, _assets(message, path, import_scope))
    return message


def _scoped(name: str, scope: str | None) -> str:
    return f"{scope}/{name}" if scope else name


def _file_of(path: str) -> str | None:
    for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT):
        file = os.path.join(path, name)
        if os.path.isfile(file):
            return file
    return None


def _read(path: str) -> SavedModel:
    file = _file_of(path)
    if file is None:
        raise OSError(
            f"there is no SavedModel in {path!r}: neither {SAVED_MODEL_FILENAME_PB} nor "
            f"{SAVED_MODEL_FILENAME_PBTXT}"
        )
    with open(file, "rb") as opened:
        data = opened.read()
    try:
        if file.endswith(".pb"):
            return SavedModel.FromString(data)
        return text_format.Parse(data.decode(), SavedModel())
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"{file!r} is no SavedModel: {error}") from error


def _tagged(model: SavedModel, tags: str | Iterable[str], path: str) -> MetaGraphDef:
    wanted = {tags} if isinstance(tags, str) else set(tags)
    for message in model.meta_graphs:
        if set(message.meta_info_def.tags) == wanted:
            return message
    have = ", ".join(str(sorted(m.meta_info_def.tags)) for m in model.meta_graphs) or "none"
    raise RuntimeError(f"no graph in {path!r} has the tags {sorted(wanted)}; there is: {have}")


def _restore(sess: Session, saver: Saver | None, path: str) -> None:
    """Restores variables; a graph of none may come without a saver, and without files."""
    if saver is not None:
        saver.restore(sess, os.path.join(path, VARIABLES_DIRECTORY, VARIABLES_FILENAME))


def _init_op(message: MetaGraphDef) -> str:
    """Name of the operation to run after loading; empty where there is none."""
    if _INIT_SIGNATURE in message.signature_def:
        return message.signature_def[_INIT_SIGNATURE].outputs[_INIT_SIGNATURE].name
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key in message.collection_def:
            names = message.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"collection {key!r} names {len(names)} operations, not one")
            return names[0]
    return ""


def _assets(message: MetaGraphDef, path: str, scope: str | None) -> dict[str, str]:
    """Paths of the assets by the tensors that hold them."""
    files = list(message.asset_file_def)
    if not files and ASSETS_KEY in message.collection_def:
        for packed in message.collection_def[ASSETS_KEY].any_list.value:
            file = AssetFileDef()
            if not packed.type_url.endswith(".AssetFileDef"):
                raise RuntimeError(f"an asset is a {packed.type_url!r}, not an AssetFileDef")
            file.ParseFromString(packed.value)
            files.append(file)
    return {
        _scoped(file.tensor_info.name, scope): os.path.join(path, ASSETS_DIRECTORY, file.filename)
        for file in files
    }
