"""Writing a SavedModel.

Source: `tf.compat.v1.saved_model.builder`.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyMessage

from graphvm.graph.graph import Operation, Tensor, get_default_graph
from graphvm.saved_model.constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from graphvm.saved_model.defaults import strip_defaults
from graphvm.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from graphvm.saved_model.signature_def_utils import predict_signature_def
from graphvm.saved_model.tag_constants import SERVING
from graphvm.session.session import Session
from graphvm.train import Saver
from graphvm_runtime.errors import GraphError, NotFoundError, clipped
from graphvm_runtime.protos.meta_graph_pb2 import AssetFileDef, SignatureDef, TensorInfo
from graphvm_runtime.protos.saved_model_pb2 import SavedModel

__all__ = ["SavedModelBuilder", "simple_save"]


class SavedModelBuilder:
    """Writes graphs that share the values of their variables, each under tags of its own.

    Args:
        export_dir: path of the directory, which must be empty or not be there.

    Raises:
        AssertionError: something is in it already.

    Source: `tf.compat.v1.saved_model.Builder`.
    """

    def __init__(self, export_dir: str) -> None:
        self._folder = os.fspath(export_dir)
        self._message = SavedModel(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
        self._has_variables = False
        if os.path.exists(self._folder) and os.listdir(self._folder):
            raise AssertionError(f"{self._folder!r} is not empty: a SavedModel needs a new place")
        os.makedirs(self._folder, exist_ok=True)

    def add_meta_graph_and_variables(
        self,
        sess: Session,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the first graph, that of a session, and writes the values of its variables.

        Args:
            sess: the session.
            tags: of the graph.
            signature_def_map: signatures by name.
            assets_collection: tensors whose constant values are paths of files, which are copied.
            legacy_init_op: old name of `main_op`.
            clear_devices: leave out the devices.
            main_op: operation to run after loading.
            strip_default_attrs: leave out attributes that have their default values.
            saver: writes the variables; one of all of them otherwise.

        Raises:
            AssertionError: there is a graph already.
            GraphError: an asset is no constant path, or both operations are given.
            NotFoundError: a file of an asset is missing.
            OpError: a variable has no value.
            TypeError: a signature or operation is none.

        Source: `tf.compat.v1.saved_model.Builder.add_meta_graph_and_variables`.
        """
        if self._has_variables:
            raise AssertionError("variables are saved already: further graphs go by add_meta_graph")
        with sess.graph.as_default():
            _check_signatures(signature_def_map)
            saver = saver or _new_saver()
            folder = os.path.join(self._folder, VARIABLES_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            prefix = os.path.join(folder, VARIABLES_FILENAME)
            saver.save(sess, prefix, write_meta_graph=False, write_state=False)
            self._has_variables = True
            self._add(
                tags, signature_def_map, assets_collection, main_op, legacy_init_op,
                clear_devices, strip_default_attrs, saver,
            )  # fmt: skip

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph under further tags, with variables of the same names.

        Args:
            tags: of the graph.
            signature_def_map: signatures by name.
            assets_collection: tensors whose constant values are paths of files, which are copied.
            legacy_init_op: old name of `main_op`.
            clear_devices: leave out the devices.
            main_op: operation to run after loading.
            strip_default_attrs: leave out attributes that have their default values.
            saver: restores the variables; one of all of them otherwise.

        Raises:
            AssertionError: no variables are saved yet.
            GraphError: an asset is no constant path, or both operations are given.
            NotFoundError: a file of an asset is missing.
            TypeError: a signature or operation is none.

        Source: `tf.compat.v1.saved_model.Builder.add_meta_graph`.
        """
        if not self._has_variables:
            raise AssertionError("the first graph goes by add_meta_graph_and_variables")
        _check_signatures(signature_def_map)
        self._add(
            tags, signature_def_map, assets_collection, main_op, legacy_init_op,
            clear_devices, strip_default_attrs, saver or _new_saver(),
        )  # fmt: skip

    def _add(
        self,
        tags: Iterable[str],
        signatures: Mapping[str, SignatureDef] | None,
        assets: Sequence[Tensor] | None,
        main_op: Operation | None,
        legacy_init_op: Operation | None,
        clear_devices: bool,
        strip_default_attrs: bool,
        saver: Saver,
    ) -> None:
        graph = get_default_graph()
        op = _one_op(main_op, legacy_init_op)
        files = self._copied(assets or ())
        if files:
            graph.get_collection_ref(ASSETS_KEY).clear()
            for file in files:
                packed = AnyMessage(
                    type_url="type.googleapis.com/tensorflow.AssetFileDef",
                    value=file.SerializeToString(),
                )
                graph.add_to_collection(ASSETS_KEY, packed)
        if op is not None:
            if graph.get_collection(MAIN_OP_KEY):
                raise GraphError(f"the graph has a main operation in {MAIN_OP_KEY!r} already")
            graph.add_to_collection(MAIN_OP_KEY, op)
        message = saver.export_meta_graph(clear_devices=clear_devices)
        message.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
        for name, signature in (signatures or {}).items():
            message.signature_def[name].CopyFrom(signature)
        if strip_default_attrs:
            strip_defaults(message.graph_def)
            message.meta_info_def.stripped_default_attrs = True
        self._message.meta_graphs.append(message)

    def _copied(self, assets: Sequence[Tensor]) -> list[AssetFileDef]:
        """Copies the files of assets; files of one name but other content get numbers."""
        folder = os.path.join(self._folder, ASSETS_DIRECTORY)
        out = []
        for tensor in assets:
            source = _path_of(tensor)
            os.makedirs(folder, exist_ok=True)
            name, number = os.path.basename(source), 0
            while not _free(os.path.join(folder, name), source):
                number += 1
                name = f"{os.path.basename(source)}_{number}"
            if not os.path.exists(os.path.join(folder, name)):
                shutil.copyfile(source, os.path.join(folder, name))
            out.append(AssetFileDef(tensor_info=TensorInfo(name=tensor.name), filename=name))
        return out

    def save(self, as_text: bool = False) -> bytes:
        """Writes the file with all graphs.

        Args:
            as_text: as text, otherwise binary.

        Returns:
            Path of the file.

        Source: `tf.compat.v1.saved_model.Builder.save`.
        """
        name = SAVED_MODEL_FILENAME_PBTXT if as_text else SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._folder, name)
        data = (
            text_format.MessageToString(self._message).encode()
            if as_text
            else self._message.SerializeToString(deterministic=True)
        )
        with open(f"{path}.part", "wb") as file:
            file.write(data)
        os.replace(f"{path}.part", path)
        return path.encode()


def _new_saver() -> Saver:
    return Saver(sharded=True, allow_empty=True)


def _free(path: str, source: str) -> bool:
    """Whether a copy of `source` may lie there: nothing does, or one does already."""
    return not os.path.exists(path) or filecmp.cmp(path, source, shallow=False)


def _path_of(tensor: Any) -> str:
    value = tensor.graph.constant_of(tensor) if isinstance(tensor, Tensor) else None
    if value is None or value.dtype != object or value.size != 1:
        raise GraphError(f"an asset is a constant tensor of one path, not {clipped(tensor)}")
    item = value.reshape(-1)[0]
    path = os.fsdecode(item)
    if not os.path.isfile(path):
        raise NotFoundError(f"there is no file {path!r} for the asset {tensor.name!r}")
    return path


def _one_op(main_op: Any, legacy_init_op: Any) -> Operation | None:
    if main_op is not None and legacy_init_op is not None:
        raise GraphError("main_op and legacy_init_op are one argument: give only one of them")
    op = legacy_init_op if main_op is None else main_op
    if op is not None and not isinstance(op, Operation):
        raise TypeError(f"main_op is an operation, not {clipped(op)}")
    return op


def _check_signatures(signatures: Mapping[str, SignatureDef] | None) -> None:
    for name, signature in (signatures or {}).items():
        if not isinstance(signature, SignatureDef):
            raise TypeError(f"signature {name!r} is no SignatureDef but {clipped(signature)}")
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            if info.WhichOneof("encoding") is None or not info.dtype:
                raise AssertionError(f"signature {name!r} has a tensor without name or type")


def simple_save(
    session: Session,
    export_dir: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Writes a session's graph for serving, with one signature.

    Args:
        session: the session.
        export_dir: path of the directory, which must be empty or not be there.
        inputs: tensors by name.
        outputs: tensors by name.
        legacy_init_op: operation to run after loading.

    Raises:
        AssertionError: something is in the directory already.
        GraphError: there is no input, or no output.
        OpError: a variable has no value.

    Source: `tf.compat.v1.saved_model.simple_save`.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    with session.graph.as_default() as graph:
        builder.add_meta_graph_and_variables(
            session,
            [SERVING],
            {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
            graph.get_collection("asset_filepaths"),
            main_op=legacy_init_op,
            clear_devices=True,
        )
    builder.save()
