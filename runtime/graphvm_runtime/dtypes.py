"""Element types: TensorFlow's names and numbers, and NumPy's types for them."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from graphvm_runtime.errors import DTypeError, clipped

Array: TypeAlias = NDArray[Any]

REF_OFFSET = 100
_SHORT = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint4": "u4", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "complex64": "c64", "complex128": "c128", "string": "str",
}  # fmt: skip


class DType:
    """An element type. Equal means identical; one object a type.

    Attributes:
        name: TensorFlow's name, `float32`, `float32_ref`.
        enum: TensorFlow's `DataType` number; ref types are 100 above.
        numpy: NumPy's dtype; `object` for strings (bytes), resources and variants.

    Source: `tf.dtypes.DType`.
    """

    __slots__ = (
        "base", "enum", "is_complex", "is_floating", "is_integer", "is_ref", "is_unsigned",
        "name", "numpy", "ref", "short",
    )  # fmt: skip

    name: str
    enum: int
    numpy: np.dtype[Any]
    short: str
    base: DType
    ref: DType
    is_ref: bool
    is_floating: bool
    is_integer: bool
    is_unsigned: bool
    is_complex: bool

    def __new__(cls, type_enum: int) -> DType:
        """The type of TensorFlow's `DataType` number. Raises DTypeError for an unknown one."""
        return from_enum(type_enum)

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's scalar type."""
        return self.numpy.type

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's `DataType` number."""
        return self.enum

    @property
    def base_dtype(self) -> DType:
        """This type without `_ref`."""
        return self.base

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.base.name, self)

    @property
    def is_bool(self) -> bool:
        """Whether this is `bool`."""
        return self.base is bool_

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy holds it as numbers or booleans."""
        return self.numpy.kind != "O"

    @property
    def is_quantized(self) -> bool:
        """Whether this is one of the quantized types."""
        return self.base.name.startswith(("qint", "quint"))

    @property
    def size(self) -> int:
        """Bytes an element; 1 for strings and handles."""
        return self.numpy.itemsize if self.is_numpy_compatible else 1

    @property
    def min(self) -> Any:
        """Least finite value. Raises DTypeError where there is none."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """Greatest finite value. Raises DTypeError where there is none."""
        return self._limit("max")

    def _limit(self, which: str) -> Any:
        limits: Any  # typed in some releases of ml_dtypes only
        if self.is_floating:
            limits = ml_dtypes.finfo
        elif self.is_integer:
            limits = ml_dtypes.iinfo
        else:
            raise DTypeError(f"{self.name} has no {which}imum")
        return getattr(limits(self.numpy), which)

    def is_compatible_with(self, other: object) -> bool:
        """Whether a value of type `other` may be used as this type: equal up to `_ref`."""
        return as_dtype(other).base is self.base

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except DTypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self.enum

    def __int__(self) -> int:
        return self.enum

    def __repr__(self) -> str:
        return f"graphvm.{self.name}"

    def __str__(self) -> str:
        return self.short

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return from_enum, (self.enum,)


_BY_ENUM: dict[int, DType] = {}
_BY_NAME: dict[str, DType] = {}
_BY_NUMPY: dict[np.dtype[Any], DType] = {}


def _made(name: str, enum: int, numpy: Any, kind: str) -> DType:
    plain, ref = object.__new__(DType), object.__new__(DType)
    for dtype, is_ref in ((plain, False), (ref, True)):
        dtype.name = name + "_ref" * is_ref
        dtype.enum = enum + REF_OFFSET * is_ref
        dtype.numpy = np.dtype(numpy)
        dtype.short = _SHORT.get(name, name) + "&" * is_ref
        dtype.base, dtype.ref, dtype.is_ref = plain, ref, is_ref
        dtype.is_floating = kind == "f"
        dtype.is_integer = kind in "iu"
        dtype.is_unsigned = kind == "u"
        dtype.is_complex = kind == "c"
        _BY_ENUM[dtype.enum] = dtype
        _BY_NAME[dtype.name] = dtype
    if kind in "fiucb":
        _BY_NUMPY[plain.numpy] = plain
    return plain


float32 = _made("float32", 1, np.float32, "f")
float64 = _made("float64", 2, np.float64, "f")
int32 = _made("int32", 3, np.int32, "i")
uint8 = _made("uint8", 4, np.uint8, "u")
int16 = _made("int16", 5, np.int16, "i")
int8 = _made("int8", 6, np.int8, "i")
string = _made("string", 7, object, "o")
complex64 = _made("complex64", 8, np.complex64, "c")
int64 = _made("int64", 9, np.int64, "i")
bool_ = _made("bool", 10, np.bool_, "b")
qint8 = _made("qint8", 11, np.int8, "q")
quint8 = _made("quint8", 12, np.uint8, "q")
qint32 = _made("qint32", 13, np.int32, "q")
bfloat16 = _made("bfloat16", 14, ml_dtypes.bfloat16, "f")
qint16 = _made("qint16", 15, np.int16, "q")
quint16 = _made("quint16", 16, np.uint16, "q")
uint16 = _made("uint16", 17, np.uint16, "u")
complex128 = _made("complex128", 18, np.complex128, "c")
float16 = _made("float16", 19, np.float16, "f")
resource = _made("resource", 20, object, "o")
variant = _made("variant", 21, object, "o")
uint32 = _made("uint32", 22, np.uint32, "u")
uint64 = _made("uint64", 23, np.uint64, "u")
float8_e5m2 = _made("float8_e5m2", 24, ml_dtypes.float8_e5m2, "f")
float8_e4m3fn = _made("float8_e4m3fn", 25, ml_dtypes.float8_e4m3fn, "f")
int4 = _made("int4", 29, ml_dtypes.int4, "i")
uint4 = _made("uint4", 30, ml_dtypes.uint4, "u")

_BY_NAME.update(half=float16, double=float64, float=float32, bool_=bool_)

FLOATS = (bfloat16, float16, float32, float64)
COMPLEX = (complex64, complex128)
SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
INTEGERS = SIGNED + UNSIGNED
REALS = FLOATS + INTEGERS
NUMBERS = REALS + COMPLEX
QUANTIZED = (qint8, quint8, qint32, qint16, quint16)
INDICES = (int32, int64)


def from_enum(enum: int) -> DType:
    """The type of TensorFlow's `DataType` number. Raises DTypeError for an unknown one."""
    found = _BY_ENUM.get(enum)
    if found is None:
        raise DTypeError(f"no element type has the number {enum}")
    return found


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The type that holds arrays of that NumPy dtype: strings for `S`, `U` and `O`."""
    found = _BY_NUMPY.get(dtype)
    if found is None:
        if dtype.kind in "SUOT":
            return string
        native = dtype.newbyteorder("=")
        found = _BY_NUMPY.get(native)
        if found is None and native.kind in "iuf":
            # long, long long and the like are types of their own in NumPy
            found = _BY_NAME.get(native.name)
        if found is None:
            raise DTypeError(f"no element type holds NumPy's {dtype}")
    return found


def as_dtype(value: object) -> DType:
    """The type that a DType, a number, a name or a NumPy or Python type stands for.

    Raises:
        DTypeError: it stands for none.

    Source: `tf.as_dtype`.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return from_enum(value)
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    python = {float: float32, int: int32, bool: bool_, str: string, bytes: string, object: string}
    if isinstance(value, type) and value in python:
        return python[value]
    try:
        return from_numpy(np.dtype(value))  # type: ignore[call-overload]  # anything may come
    except (TypeError, ValueError) as error:
        raise DTypeError(f"{clipped(value)} is no element type") from error
