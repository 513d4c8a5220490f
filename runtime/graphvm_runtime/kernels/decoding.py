"""Kernels of numbers, tensors and tables written as strings."""

from __future__ import annotations

import base64
import re
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType, bool_, string
from graphvm_runtime.errors import (
    DataLossError,
    GraphvmError,
    InvalidArgumentError,
    UnimplementedError,
    clipped,
)
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.csv import fields
from graphvm_runtime.kernels.numerals import number
from graphvm_runtime.kernels.object_arrays import mapped
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel, plain
from graphvm_runtime.kernels.shape_rule import refusing

_BASE64 = re.compile(rb"[0-9A-Za-z_-]*")
_WINDOWS = {b"ZLIB": zlib.MAX_WBITS, b"GZIP": zlib.MAX_WBITS + 16}  # what tells zlib the form


# -------------------------------------------------------------------------------------- strings


def _from_base64(text: bytes) -> bytes:
    digits = text
    if len(text) % 4 == 0:
        digits = text.removesuffix(b"==") if text.endswith(b"==") else text.removesuffix(b"=")
    if not _BASE64.fullmatch(digits) or len(digits) % 4 == 1:
        raise InvalidArgumentError(f"{clipped(text)} is not in web-safe base64")
    return base64.urlsafe_b64decode(digits + b"=" * (-len(digits) % 4))


plain("DecodeBase64", lambda x: mapped(_from_base64, x))


@kernel("EncodeBase64")
def _encode_base64(node: Node) -> Callable[..., Any]:
    if node.attrs["pad"]:
        return lambda x: mapped(base64.urlsafe_b64encode, x)
    return lambda x: mapped(lambda text: base64.urlsafe_b64encode(text).rstrip(b"="), x)


def decompressed(data: bytes, window: int) -> bytes:
    """All members of compressed data one after the other; what is cut off ends with what there is.

    Raises:
        DataLossError: it is not compressed in that form.
    """
    out: list[bytes] = []
    while data:
        member = zlib.decompressobj(window)
        try:
            out.append(member.decompress(data))
        except zlib.error as error:
            if out:  # something else behind the last member
                break
            raise DataLossError(f"compressed data cannot be read: {error}") from error
        data = member.unused_data
    return b"".join(out)


@kernel("DecodeCompressed")
def _decompress(node: Node) -> Callable[..., Any]:
    kind: bytes = node.attrs["compression_type"]
    if kind == b"":
        return lambda x: as_strings(x).copy()
    if kind == b"ZSTD":
        raise UnimplementedError("compression_type ZSTD is not read here", do="use GZIP or ZLIB")
    if kind not in _WINDOWS:
        raise InvalidArgumentError(f"compression_type must be ZLIB, GZIP or '', got {kind!r}")
    window = _WINDOWS[kind]
    return lambda x: mapped(lambda data: decompressed(data, window), x)


# ------------------------------------------------------------------------------------ raw numbers


def _numbers(data: bytes, dtype: DType, little_endian: bool) -> Any:
    """The numbers that bytes are; of complex ones each half is turned by itself."""
    if dtype is bool_:
        return np.frombuffer(data, np.uint8) != 0
    kind = np.dtype(dtype.numpy)
    if little_endian == (sys.byteorder == "little"):
        return np.frombuffer(data, kind).copy()
    size = kind.itemsize // (2 if dtype.is_complex else 1)
    turned = np.frombuffer(data, np.uint8).reshape(-1, size)[:, ::-1]
    return np.frombuffer(turned.tobytes(), kind).copy()


@kernel("DecodeRaw")
def _raw(node: Node) -> Callable[..., Any]:
    dtype, little = node.attrs["out_type"], node.attrs["little_endian"]

    def call(texts: Any) -> Any:
        x = as_strings(texts)
        sizes = {len(text) for text in x.reshape(-1)}
        if len(sizes) > 1:
            raise InvalidArgumentError(f"strings must have one length, got {sorted(sizes)}")
        size = sizes.pop() if sizes else 0
        if size % dtype.size:
            raise InvalidArgumentError(
                f"strings of {dtype.name} must have a multiple of {dtype.size} bytes, got {size}"
            )
        found = _numbers(b"".join(x.reshape(-1).tolist()), dtype, little)
        return found.reshape(*x.shape, size // dtype.size)

    return call


@kernel("DecodePaddedRaw")
def _padded_raw(node: Node) -> Callable[..., Any]:
    dtype, little = node.attrs["out_type"], node.attrs["little_endian"]

    def call(texts: Any, length: Any) -> Any:
        x, size = as_strings(texts), int(length)
        if size < 1:
            raise InvalidArgumentError(f"fixed_length must be 1 or more, got {size}")
        data = b"".join(text[:size].ljust(size, b"\0") for text in x.reshape(-1))
        return _numbers(data, dtype, little).reshape(*x.shape, size // dtype.size)

    return call


# ----------------------------------------------------------------------------------------- tables


@kernel("DecodeCSV")
@refusing
def _csv(node: Node) -> Callable[..., Any]:
    names = ("OUT_TYPE", "field_delim", "use_quote_delim", "na_value", "select_cols")
    types, delimiter, quotes, missing, columns = (node.attrs[n] for n in names)
    if len(delimiter) != 1:
        raise InvalidArgumentError(f"field_delim must be one character, got {delimiter!r}")
    if columns and len(columns) != len(types):
        raise InvalidArgumentError(f"select_cols must be {len(types)} columns, got {columns}")
    if any(b <= a for a, b in zip((-1, *columns), columns, strict=False)):
        raise InvalidArgumentError(f"select_cols must rise from 0 or more, got {columns}")
    wanted = set(columns)

    def split(record: bytes, row: int) -> list[bytes]:
        out = []
        for at, field in enumerate(fields(record, delimiter, quotes)):
            if not columns or at in wanted:
                out.append(field)
            if columns and len(out) == len(types):
                return out
        if len(out) != len(types):
            raise InvalidArgumentError(
                f"record {row} must have {len(types)} fields, got {len(out)}"
            )
        return out

    def call(records: Any, *defaults: Any) -> Any:
        x = as_strings(records)
        rows = [split(record, i) for i, record in enumerate(x.reshape(-1).tolist())]
        out = []
        for column, (dtype, default) in enumerate(zip(types, defaults, strict=True)):
            fallback = as_strings(default).reshape(-1)
            values = np.empty(len(rows), dtype.numpy)
            for i, row in enumerate(rows):
                if row[column] not in (b"", missing):
                    values[i] = _value(row[column], dtype, i, column)
                elif not len(fallback):
                    raise InvalidArgumentError(f"field {column} is missing in record {i}")
                else:
                    values[i] = fallback[0]
            out.append(values.reshape(x.shape))
        return out[0] if len(out) == 1 else out

    return call


def _value(field: bytes, dtype: DType, row: int, column: int) -> Any:
    if dtype is string:
        return field
    found = number(field, dtype)
    if found is None:
        raise InvalidArgumentError(
            f"field {column} of record {row} must be {dtype.name}, got {clipped(field)}"
        )
    return found


# ---------------------------------------------------------------------------------------- tensors


@kernel("ParseTensor")
@refusing
def _parse_tensor(node: Node) -> Callable[..., Any]:
    from google.protobuf.message import DecodeError

    from graphvm_runtime.ir.graphdef.tensor_proto import decode
    from graphvm_runtime.protos.tensor_pb2 import TensorProto

    dtype: DType = node.attrs["out_type"]

    def call(serialized: Any) -> Any:
        try:
            proto = TensorProto.FromString(as_strings(serialized).item())
        except DecodeError as error:
            raise InvalidArgumentError(f"serialized must be a TensorProto: {error}") from error
        if proto.dtype != dtype.enum:
            raise InvalidArgumentError(
                f"serialized must be a tensor of {dtype.name}, got one of type {proto.dtype}"
            )
        try:
            return as_strings(decode(proto).copy())
        except GraphvmError as error:
            raise InvalidArgumentError(f"serialized must be a whole tensor: {error}") from error

    return call


@kernel("SerializeTensor")
def _serialize_tensor(node: Node) -> Callable[..., Any]:
    from graphvm_runtime.ir.graphdef.tensor_proto import shape_proto
    from graphvm_runtime.protos.tensor_pb2 import TensorProto

    dtype: DType = node.attrs["T"]

    def call(tensor: Any) -> Any:
        x = as_strings(tensor) if dtype is string else np.asarray(tensor)
        proto = TensorProto(tensor_shape=shape_proto(x.shape))
        proto.dtype = dtype.enum  # type: ignore[assignment]  # any of its numbers
        if dtype is string:
            proto.string_val.extend(x.reshape(-1).tolist())
        else:
            proto.tensor_content = x.tobytes()
        return as_strings(proto.SerializeToString())

    return call
