"""Python values as arrays of an element type, as TensorFlow makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import Dimension
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError, clipped

__all__ = ["ARRAYS", "SEQUENCES", "array_of", "is_text", "length_of", "utf8"]

SEQUENCES = (list, tuple)  # `list | tuple` is slower to ask for
ARRAYS = (np.ndarray, np.generic)

# kinds of NumPy arrays, made from Python values, that an element type accepts
_ACCEPTED = {"b": "b", "i": "biu", "u": "biu", "f": "biuf", "c": "biufc"}


def array_of(value: Any, dtype: DType | None = None) -> Array:
    """The array of a Python value, its own copy.

    Args:
        value: a number, a string, an array, or nested lists of them.
        dtype: the element type it must have.

    Returns:
        An array of the type's NumPy dtype; strings as bytes in an object array.

    Raises:
        DTypeError: the value cannot have this type, or no type holds it.
        GraphError: it is None.
        ShapeError: lists are of different lengths.
    """
    found = _number(value, dtype)
    if found is not None:
        return found
    if type(value) is int and dtype is not None and (dtype.is_floating or dtype.is_complex):
        try:
            return _cast(np.array(float(value)), dtype)  # NumPy holds no integers of such a size
        except OverflowError:
            raise _not_of(value, dtype) from None
    if value is None:
        raise GraphError("None is no value of a tensor", made=user_line())
    if isinstance(value, ARRAYS):
        return _from_numpy(np.asarray(value), dtype)
    if type(value) not in SEQUENCES and isinstance(value, (Mapping, set, DType)):
        raise _no_tensor(value)
    if dtype is not None and not dtype.is_numpy_compatible and dtype is not dtypes.string:
        raise DTypeError(f"no Python value is a tensor of {dtype.name}", made=user_line())
    try:
        # NumPy's own string types would cut trailing zero bytes off
        given = np.array(value, object) if is_text(value) else np.array(value)
    except ValueError as error:
        raise ShapeError(
            f"lists of different lengths are no tensor: {clipped(value)}", made=user_line()
        ) from error
    except OverflowError as error:
        raise _no_tensor(value) from error
    if given.dtype.kind == "O" and any(isinstance(x, Dimension) for x in given.flat):
        given = np.array([length_of(x) for x in given.flat]).reshape(given.shape)
    kind = given.dtype.kind
    if kind == "O":
        return _strings(given, dtype, value)
    if dtype is None and kind not in "SU":  # text and numbers in one list become text
        return _natural(given)
    if dtype is None:
        raise _no_tensor(value)
    if kind in "SU" or (given.size and kind not in _ACCEPTED.get(_kind(dtype), "")):
        raise _not_of(value, dtype)
    return _cast(given, dtype)


def preferred_array(value: Any, dtype: DType) -> Array:
    """As `array_of`, in the element type if it can have that, and in its own otherwise.

    Raises: as `array_of`.
    """
    try:
        if dtype.is_integer and not isinstance(value, ARRAYS):
            natural = array_of(value)  # of 64 bits only where 32 are too few
            if natural.dtype == np.int64 and dtype.size < 8:
                return natural
        return array_of(value, dtype)
    except (TypeError, ValueError):
        return array_of(value)


def _cast(given: Array, dtype: DType) -> Array:
    """A copy in the element type, without a word where numbers do not fit."""
    if given.dtype.kind in "biu" and dtype.numpy.kind in "biu":
        return given.astype(dtype.numpy)  # nothing to be silenced, and that costs
    with np.errstate(all="ignore"):
        return given.astype(dtype.numpy)


# From where to where numbers become elements without a closer look: what a float64 holds exactly,
# what is below the largest float16, what integers hold.
_DIRECT: dict[DType, tuple[int, int]] = {
    **dict.fromkeys((dtypes.float32, dtypes.float64, dtypes.bfloat16), (-(2**53), 2**53)),
    dtypes.float16: (-60000, 60000),
    **{
        d: (int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max))
        for d in (
            *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
            *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
        )
    },
}


_NOWHERE = 1, 0


def _number(value: Any, dtype: DType | None) -> Array | None:
    """A Python number that fits, as nearly all do; None where a closer look is needed."""
    kind = type(value)
    if kind is int:
        wanted = dtypes.int32 if dtype is None else dtype
    elif kind is float:
        wanted = dtypes.float32 if dtype is None else dtype
        if not wanted.is_floating:
            return None
    else:
        return None
    low, high = _DIRECT.get(wanted, _NOWHERE)
    return np.array(value, wanted.numpy) if low <= value <= high else None


def _from_numpy(given: Array, dtype: DType | None) -> Array:
    if given.dtype.kind in "SUO" or dtype is dtypes.string:
        return _strings(given, dtype, given)
    kind = dtype or dtypes.from_numpy(given.dtype)
    if not kind.is_numpy_compatible:
        raise DTypeError(f"an array of {given.dtype} is no tensor of {kind.name}", made=user_line())
    return _cast(given, kind)


def _strings(given: Array, dtype: DType | None, value: Any) -> Array:
    flat = given.ravel().tolist()
    if not all(isinstance(x, str | bytes) for x in flat) or dtype not in (None, dtypes.string):
        if dtype is None or dtype is dtypes.string:
            raise _no_tensor(value)
        raise _not_of(value, dtype)
    out = np.empty(given.shape, object)
    out.reshape(-1)[:] = [utf8(x) if isinstance(x, str) else x for x in flat]
    return out


def utf8(text: str) -> bytes:
    """The bytes of a text. Raises GraphError where it has half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise GraphError(
            f"{clipped(text)} has half a surrogate pair, so it has no form in UTF-8",
            made=user_line(),
            do="give bytes, as text.encode('utf-8', 'surrogatepass') makes them",
        ) from error


def length_of(value: Any) -> Any:
    """A dimension as a number, anything else as it is. Raises ShapeError for an unknown one."""
    if isinstance(value, Dimension):
        if value.value is None:
            raise ShapeError(
                "a dimension that is not known is no tensor",
                made=user_line(),
                do="use shape(x), which is known when it runs",
            )
        return value.value
    return value


def _natural(given: Array) -> Array:
    """Arrays made of Python values in TensorFlow's types: narrow where nothing is lost."""
    if given.dtype == np.float64:
        return _cast(given, dtypes.float32)
    if given.dtype == np.int64:
        narrow = given.astype(np.int32)
        return narrow if (narrow == given).all() else given
    if given.dtype == np.uint64:
        raise DTypeError(f"integers beyond int64 need a dtype: {clipped(given)}", made=user_line())
    return given


def _kind(dtype: DType) -> str:
    if dtype.is_floating:
        return "f"
    return dtype.numpy.kind if dtype.numpy.kind in "biuc" else "i"


def is_text(value: Any) -> bool:
    """Whether a value is text, or nested lists that begin with text."""
    while isinstance(value, SEQUENCES) and value:
        value = value[0]
    return isinstance(value, (str, bytes))


def _not_of(value: Any, dtype: DType) -> DTypeError:
    return DTypeError(
        f"{clipped(value)} cannot be of type {dtype.name}",
        made=user_line(),
        do=f"give a value of {dtype.name}; if that is the type of a tensor beside it, cast that",
    )


def _no_tensor(value: Any) -> DTypeError:
    return DTypeError(f"no element type holds {clipped(value)}", made=user_line())
