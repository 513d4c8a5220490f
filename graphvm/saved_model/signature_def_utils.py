"""Signatures: what a graph takes and gives when it is served.

Source: `tf.compat.v1.saved_model.signature_def_utils`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphvm.graph.conversion import convert_to_tensor
from graphvm.saved_model import signature_constants as names
from graphvm.saved_model.utils import build_tensor_info
from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError
from graphvm_runtime.protos.meta_graph_pb2 import SignatureDef, TensorInfo

__all__ = [
    "build_signature_def", "classification_signature_def", "is_valid_signature",
    "predict_signature_def", "regression_signature_def",
]  # fmt: skip

_STRING = dtypes.string.as_datatype_enum
_FLOAT = dtypes.float32.as_datatype_enum


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
) -> SignatureDef:
    """A signature from what it takes and gives.

    Args:
        inputs: what it takes, by name.
        outputs: what it gives, by name.
        method_name: name of the interface that it serves.

    Returns:
        The message.

    Source: `tf.compat.v1.saved_model.build_signature_def`.
    """
    out = SignatureDef()
    for name, info in (inputs or {}).items():
        out.inputs[name].CopyFrom(info)
    for name, info in (outputs or {}).items():
        out.outputs[name].CopyFrom(info)
    if method_name is not None:
        out.method_name = method_name
    return out


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """The signature of a graph that takes and gives any tensors.

    Args:
        inputs: tensors by name.
        outputs: tensors by name.

    Returns:
        The message.

    Raises:
        GraphError: there is no input, or no output.
        TypeError: something is no tensor.

    Source: `tf.compat.v1.saved_model.predict_signature_def`.
    """
    for what, given in (("input", inputs), ("output", outputs)):
        if not given:
            raise GraphError(f"a signature for predictions needs an {what}")
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in outputs.items()},
        names.PREDICT_METHOD_NAME,
    )


def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """The signature of a graph that gives a number for each serialized example.

    Args:
        examples: tensor of strings.
        predictions: tensor of float32.

    Returns:
        The message.

    Raises:
        GraphError: one is missing, or has another element type.

    Source: `tf.compat.v1.saved_model.regression_signature_def`.
    """
    return build_signature_def(
        {names.REGRESS_INPUTS: _of_type("examples", examples, _STRING)},
        {names.REGRESS_OUTPUTS: _of_type("predictions", predictions, _FLOAT)},
        names.REGRESS_METHOD_NAME,
    )


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """The signature of a graph that gives classes, or scores of them, for serialized examples.

    Args:
        examples: tensor of strings.
        classes: tensor of strings, None where there are only scores.
        scores: tensor of float32, None where there are only classes.

    Returns:
        The message.

    Raises:
        GraphError: examples are missing, or both others, or one has another element type.

    Source: `tf.compat.v1.saved_model.classification_signature_def`.
    """
    if classes is None and scores is None:
        raise GraphError("a signature for classes needs classes or scores")
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _of_type("classes", classes, _STRING)
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _of_type("scores", scores, _FLOAT)
    return build_signature_def(
        {names.CLASSIFY_INPUTS: _of_type("examples", examples, _STRING)},
        outputs,
        names.CLASSIFY_METHOD_NAME,
    )


def _of_type(what: str, value: Any, dtype: int) -> TensorInfo:
    if value is None:
        raise GraphError(f"the signature needs {what}")
    info = build_tensor_info(convert_to_tensor(value))
    if info.dtype != dtype:
        raise GraphError(
            f"{what} of the signature are {dtypes.from_enum(dtype).name}, "
            f"got {dtypes.from_enum(info.dtype).name}"
        )
    return info


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Whether TensorFlow Serving takes a signature.

    Args:
        signature_def: the message.

    Returns:
        Whether its inputs and outputs are what its method name asks for.

    Source: `tf.compat.v1.saved_model.is_valid_signature`.
    """
    if signature_def is None:
        return False
    inputs, outputs = signature_def.inputs, signature_def.outputs
    method = signature_def.method_name
    if method == names.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if method == names.REGRESS_METHOD_NAME:
        return _only(inputs, {names.REGRESS_INPUTS: _STRING}) and _only(
            outputs, {names.REGRESS_OUTPUTS: _FLOAT}
        )
    if method == names.CLASSIFY_METHOD_NAME:
        allowed = {names.CLASSIFY_OUTPUT_CLASSES: _STRING, names.CLASSIFY_OUTPUT_SCORES: _FLOAT}
        return _only(inputs, {names.CLASSIFY_INPUTS: _STRING}) and _only(outputs, allowed)
    return False


def _only(given: Mapping[str, TensorInfo], allowed: Mapping[str, int]) -> bool:
    return bool(given) and all(
        name in allowed and info.dtype == allowed[name] for name, info in given.items()
    )
