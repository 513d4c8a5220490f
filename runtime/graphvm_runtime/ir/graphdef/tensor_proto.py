"""TensorProto and arrays: every encoding read, the compact one written.

Strings are object arrays of `bytes`; 16-bit floats travel as bit patterns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphvm_runtime import dtypes, varint
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import (
    GraphError,
    GraphvmError,
    InvalidArgumentError,
    ResourceExhaustedError,
    clipped,
)
from graphvm_runtime.protos.tensor_pb2 import TensorProto
from graphvm_runtime.protos.tensor_shape_pb2 import TensorShapeProto

MESSAGE_LIMIT = 2**31 - 1  # bytes: what one protocol buffer message can hold
_MAX_RANK = 64  # NumPy's
_RANKS = 254  # TensorFlow's: what a shape may have, if not an array
_ELEMENTS = 2**63 - 1

# Element type -> the list that holds it, and NumPy's type of that list's elements.
_LISTS: dict[DType, tuple[str, Any]] = {
    dtypes.float32: ("float_val", np.float32),
    dtypes.float64: ("double_val", np.float64),
    dtypes.int64: ("int64_val", np.int64),
    dtypes.uint32: ("uint32_val", np.uint32),
    dtypes.uint64: ("uint64_val", np.uint64),
    dtypes.bool_: ("bool_val", np.bool_),
    dtypes.float16: ("half_val", np.int32),
    dtypes.bfloat16: ("half_val", np.int32),
    dtypes.complex64: ("scomplex_val", np.float32),
    dtypes.complex128: ("dcomplex_val", np.float64),
    **dict.fromkeys(
        (
            *(dtypes.int32, dtypes.int16, dtypes.int8, dtypes.int4),
            *(dtypes.uint16, dtypes.uint8, dtypes.uint4),
            *(dtypes.qint32, dtypes.qint16, dtypes.qint8, dtypes.quint16, dtypes.quint8),
        ),
        ("int_val", np.int32),
    ),
}


# Types whose list has elements of the type itself.
_PLAIN = {d: name for d, (name, element) in _LISTS.items() if d.numpy == element}


def decode(proto: TensorProto) -> Array:
    """The array that a TensorProto stands for, read-only.

    Raises:
        InvalidArgumentError: the shape is none or not known whole, the content has the wrong size,
            or the elements are handles or variants, which live only in the process that made them.
        ResourceExhaustedError: there is no memory for so many elements.
    """
    dtype = dtypes.from_enum(proto.dtype)
    if dtype.is_ref:
        raise InvalidArgumentError(f"a tensor cannot hold elements of type {dtype.name}")
    shape = _shape_of(proto)
    if not shape and dtype in _PLAIN:
        found = _scalar(proto, dtype)
        if found is not None:
            return found
    count = math.prod(shape)
    try:
        array = _elements(proto, dtype, count).reshape(shape)
    except GraphvmError:
        raise
    except (MemoryError, OverflowError, ValueError) as error:
        # NumPy has ValueErrors for what is beyond the address space, empty or not
        raise ResourceExhaustedError(
            f"no memory for a tensor {dtype}[{','.join(map(str, shape))}]"
        ) from error
    array.flags.writeable = False
    return array


def encode(array: object, dtype: object = None) -> TensorProto:
    """The TensorProto of an array: one value in its list, more of them as raw content.

    Args:
        array: an array, or whatever NumPy makes one of; strings as `bytes` or `str`.
        dtype: the element type, where NumPy's does not say it (quantized types) or is to be cast.

    Raises:
        DTypeError: no element type holds the array.
        InvalidArgumentError: it does not fit into one message, or an element of a string tensor
            is no string.
    """
    proto = TensorProto()
    encode_into(proto, array, dtype)
    return proto


def encode_into(proto: TensorProto, array: object, dtype: object = None) -> None:
    """As `encode`, into an empty message."""
    given = np.asarray(array)
    if given.dtype.kind in "SU" and not isinstance(array, np.ndarray):
        # NumPy's own strings lose trailing zero bytes.
        given = np.asarray(array, object)
    kind = dtypes.from_numpy(given.dtype) if dtype is None else dtypes.as_dtype(dtype).base
    proto.dtype = kind.enum  # type: ignore[assignment]  # an enum's number is an int
    proto.tensor_shape.SetInParent()
    for size in given.shape:
        proto.tensor_shape.dim.add(size=size)
    if kind is dtypes.string:
        proto.string_val.extend(_as_bytes(x) for x in given.ravel().tolist())
        return
    if not kind.is_numpy_compatible:
        raise InvalidArgumentError(f"elements of type {kind.name} have no form outside a process")
    if given.size * kind.size > MESSAGE_LIMIT:
        raise InvalidArgumentError(
            f"a tensor of {given.size * kind.size} bytes does not fit into one message of 2 GB",
            do="feed it, or keep it in a variable and a checkpoint",
        )
    if given.size == 1:
        _append(proto, kind, given.reshape(()).astype(kind.numpy, copy=False))
    elif given.size:
        # Copied only where order, type or byte order differ.
        proto.tensor_content = np.ascontiguousarray(given, kind.numpy.newbyteorder("<")).tobytes()


def shape_proto(shape: Sequence[int | None] | None) -> TensorShapeProto:
    """The message of a partially known shape."""
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    dims = [TensorShapeProto.Dim(size=-1 if d is None else d) for d in shape]
    return TensorShapeProto(dim=dims)


def shape_of_proto(proto: TensorShapeProto) -> tuple[int | None, ...] | None:
    """The partially known shape that a message stands for; None for an unknown rank.

    Raises:
        GraphError: it is no shape: a dimension below -1, too many of them, too many elements.
    """
    sizes = [d.size for d in proto.dim]
    if proto.unknown_rank:
        if sizes:
            raise GraphError(f"a shape of unknown rank has the dimensions {clipped(sizes)}")
        return None
    if not sizes:
        return ()
    least = min(sizes)
    if least < -1:
        raise GraphError(f"shape {clipped(sizes)} has dimensions below -1, which is an unknown one")
    if len(sizes) > 4 or max(sizes) >= 2**15:
        _check_size(sizes)
    return tuple(sizes) if least >= 0 else tuple([None if d < 0 else d for d in sizes])


def _check_size(sizes: Sequence[int]) -> None:
    if len(sizes) > _RANKS:
        raise GraphError(f"a shape of rank {len(sizes)}; at most {_RANKS} is a shape")
    count = 1
    for size in sizes:  # in this order, as TensorFlow does it: what comes after a 0 is let pass
        if size < 0:
            return
        count *= size
        if count > _ELEMENTS:
            raise GraphError(f"shape {clipped(list(sizes))} has more than 2**63 - 1 elements")


def _shape_of(proto: TensorProto) -> tuple[int, ...]:
    stated = proto.tensor_shape
    if not stated.dim and not stated.unknown_rank:
        return ()
    try:
        shape = shape_of_proto(stated)
    except GraphError as error:
        raise InvalidArgumentError(error.what) from None
    if shape is None or None in shape:
        raise InvalidArgumentError(
            f"the shape of a tensor by value must be known whole, not {clipped(shape)}"
        )
    if len(shape) > _MAX_RANK:
        raise InvalidArgumentError(f"a tensor of rank {len(shape)}; at most {_MAX_RANK} works here")
    return tuple(d for d in shape if d is not None)


def _scalar(proto: TensorProto, dtype: DType) -> Array | None:
    """A value in its list, as most constants are; None where it is stated in another way."""
    values = getattr(proto, _PLAIN[dtype])
    if len(values) != 1 or proto.tensor_content:
        return None
    array = np.array(values[0], dtype.numpy)
    array.flags.writeable = False
    return array


def _elements(proto: TensorProto, dtype: DType, count: int) -> Array:
    if dtype is dtypes.string:
        content = proto.tensor_content
        values: Any = _string_list(content, count) if content else proto.string_val[:count]
        return _repeated_strings(values, count)
    if not dtype.is_numpy_compatible:
        if count == 0:
            return np.empty(0, object)
        raise InvalidArgumentError(
            f"a tensor by value of type {dtype.name}: its elements live only in the process that "
            "made them",
            do="make it in the graph (a handle op, or the op that made the variant)",
        )
    content = proto.tensor_content
    if content:
        want = count * dtype.size
        if len(content) != want:
            raise InvalidArgumentError(
                f"the content of a tensor {dtype}[{count}] has {len(content)} bytes, not {want}"
            )
        return np.frombuffer(content, dtype.numpy.newbyteorder("<")).astype(dtype.numpy, copy=False)
    return _repeated(_listed(proto, dtype, count), dtype, count)


def _listed(proto: TensorProto, dtype: DType, count: int) -> Array:
    """The first values of the list that belongs to dtype: at most `count`."""
    if dtype not in _LISTS:  # the 8-bit floats share one string of bytes
        return np.frombuffer(proto.float8_val[:count], dtype.numpy)
    name, element = _LISTS[dtype]
    field = getattr(proto, name)
    if dtype.is_complex:
        # An odd number is cut to whole pairs.
        size = min(len(field) // 2, count)
        return np.fromiter(field, element, 2 * size).view(dtype.numpy)
    size = min(len(field), count)
    values = np.fromiter(field, element, size)
    if name == "half_val":
        return values.astype(np.uint16).view(dtype.numpy)
    return values.astype(dtype.numpy, copy=False)


def _repeated(values: Array, dtype: DType, count: int) -> Array:
    """`values`, its last one repeated up to `count`; zeros where there is none."""
    if len(values) == count:
        return values
    array = np.zeros(count, dtype.numpy)
    if len(values):
        array[: len(values)] = values
        array[len(values) :] = values[-1]
    return array


def _repeated_strings(values: Sequence[bytes], count: int) -> Array:
    array = np.empty(count, object)
    array[:] = values[-1] if values else b""
    for i, value in enumerate(values):
        array[i] = value
    return array


def _string_list(content: bytes, count: int) -> list[bytes]:
    """Strings packed into raw content: all lengths as varints, then all bytes."""
    lengths, position = [], 0
    try:
        for _ in range(count):
            value, position = varint.decode(content, position)
            lengths.append(value)
        ends = np.cumsum([position, *lengths])
        if ends[-1] != len(content):
            raise IndexError
    except (IndexError, OverflowError, ValueError):
        raise InvalidArgumentError(
            f"the content of a tensor str[{count}] is not {count} strings"
        ) from None
    return [content[a:b] for a, b in pairwise(ends)]


def _append(proto: TensorProto, dtype: DType, value: Array) -> None:
    if dtype not in _LISTS:
        proto.float8_val = value.tobytes()
        return
    name, _ = _LISTS[dtype]
    field = getattr(proto, name)
    if name == "half_val":
        field.append(int(value.view(np.uint16)))
    elif dtype.is_complex:
        field.extend((value.real.item(), value.imag.item()))
    elif name == "int_val":
        field.append(int(value))
    else:
        field.append(value.item())


def _as_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise InvalidArgumentError(f"an element of a string tensor must be a string: {clipped(value)}")
