"""Rows of numbers, tensors and tables written as strings."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given, int_, ints, numbers, strings
from tests.ops.samples import MOVED
from tests.ops.table_string import TABLE, TEXTS, each, of, text

BASE64 = (
    b"", b"YQ", b"YQ==", b"YWI", b"YWI=", b"YWJj", b"Y", b"YQ=", b"_-8", b"/+8", b"YR", b"YW\n",
    b"YQ==YQ==", b"====", b"YQ===", b"=",
)  # fmt: skip


def base64() -> Iterable[Sample]:
    for x in BASE64:
        yield given(strings(x))
    yield given(TABLE[:, :0])


def compressed() -> Iterable[Sample]:
    zipped, gzipped = zlib.compress(b"hello"), gzip.compress(b"hello", mtime=0)
    for kind, data in (
        (b"", b"abc"), (b"ZLIB", zipped), (b"GZIP", gzipped), (b"ZLIB", gzipped), (b"GZIP", zipped),
        (b"ZLIB", b""), (b"ZLIB", zipped[:-2]), (b"ZLIB", zipped + b"xx"), (b"ZLIB", b"junk"),
        (b"foo", zipped), (b"GZIP", gzipped * 2),
    ):  # fmt: skip
        yield given(strings(data), compression_type=kind)
    yield given(TEXTS[:0], compression_type=b"GZIP")


def raw(dtype: DType) -> Iterable[Sample]:
    data = strings(bytes(range(16)), bytes(range(100, 116)))
    if dtype is dtypes.bool_:
        data = strings(b"\0\1", b"\1\1")
    for little in (True, False):
        attrs = {"out_type": dtype, "little_endian": little}
        for x in (data, data[0:1].reshape(()), data[:0], strings(b"", b""), data.reshape(2, 1)):
            yield given(x, **attrs)
        yield given(strings(b"\0\1", b"\1"), **attrs)
        if dtype is not dtypes.bool_:
            yield given(strings(b"abc"), **attrs)


def padded(dtype: DType) -> Iterable[Sample]:
    data = strings(bytes(range(10, 26)), b"ij", b"")
    for little in (True, False):
        attrs = {"out_type": dtype, "little_endian": little}
        for size in (8, 16, 24, 0, -2, 3, 2):
            yield given(data, int_(size), **attrs)
        yield given(data[:0], int_(8), **attrs)
        yield given(text(b"abc"), int_(8), **attrs)
    yield given(data, ints(8), out_type=dtype)


_INT, _FLOAT, _STRING = np.int32, np.float32, object


def tables() -> Iterable[Sample]:
    def row(*records: bytes, defaults: Any = ((), ()), kind: Any = object, **attrs: Any) -> Sample:
        return given(strings(*records), [np.array(d, kind) for d in defaults], **attrs)

    mixed = [np.array(d, k) for d, k in ((7, _INT), ([1.5], _FLOAT), ([b"z"], _STRING))]
    mixed[0] = mixed[0].reshape(1)
    for records in ((b"1,2.5,a",), (b"1,,", b",2,b"), (b" 1 , 2.5 , a ",), (b"1.5,2,a",), ()):
        yield given(strings(*records), mixed)
    for record in (
        b'"a,b","c""d"', b'"a', b'a"b,', b'"a"b,c', b"", b"a\nb,c", b'"a\nb",c', b'"a\nb",c\n',
        b"a,b\r\n", b"a,", b",", b'"",a', b'"""",b', b'a,"b"\n', b"a\r,b", b"a,\nb", b"a", b"a,b,c",
        b'a,"b,c', b'a,"b",', b"\n", b'"a","b"', b'","",","',
    ):  # fmt: skip
        yield row(record)
        yield row(record, defaults=([b"x"], [b"y"]))
        yield row(record, use_quote_delim=False)
        yield row(record, defaults=((),), select_cols=(0,))
        yield row(record, defaults=((),), select_cols=(1,))
    for columns in ((0, 2), (2, 0), (1, 3), (0,), (-1, 0), (1, 1)):
        yield row(b"a,b,c", select_cols=columns)
    for delimiter in (b"|", b"||", b"", b'"'):
        yield row(b"a|b", field_delim=delimiter)
    for record in (b"NA,b", b'"NA",b', b"a,NA", b"NA,NA"):
        yield row(record, defaults=([b"d"], ()), na_value=b"NA")
    for kind in (np.int64, np.int32, np.float32, np.float64):
        for record in (b"99999999999,1", b"1,2", b'"1",2', b",2"):
            yield row(record, defaults=([3], [4]), kind=kind)
    yield given(TABLE, [TEXTS[:0]])
    yield given(text(b"a"), [TEXTS[:0]])
    yield row(b"a,b", defaults=([b"x", b"y"], ()))
    yield given(strings(b"a"), [text(b"x")])


FLOATS = b"\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\0\0\x80\x3f\0\0\0\x40"


def tensors() -> Iterable[Sample]:
    for data, kind in (
        (FLOATS, dtypes.float32), (FLOATS, dtypes.int32), (FLOATS[:-1], dtypes.float32),
        (b"\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01a\x42\x01b", dtypes.string),
        (b"junk", dtypes.float32), (b"", dtypes.float32),
        (b"\x08\x03\x12\0\x3a\x01\x01", dtypes.int32),
        (b"\x08\x01\x12\x06\x12\0\x12\x02\x08\x02", dtypes.float32),
        (b"\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x04\0\0\x80\x3f", dtypes.float32),
    ):  # fmt: skip
        yield given(text(data), out_type=kind)
    yield given(strings(FLOATS), out_type=dtypes.float32)


def serialized(dtype: DType) -> Iterable[Sample]:
    for shape in ((2, 3), (), (0, 2), (1,)):
        yield given(numbers(dtype, *shape))


ROWS = (
    Row("DecodeBase64", **of(base64())),
    Row("EncodeBase64", **of([*each(), *each(pad=True)])),
    Row("DecodeCompressed", **of(compressed())),
    Row("DecodeRaw", raw, vary="out_type"),
    Row("DecodePaddedRaw", padded, vary="out_type"),
    Row("DecodeCSV", **of(tables())),
    Row("ParseTensor", **of(tensors())),
    Row("SerializeTensor", serialized, types=(*MOVED, dtypes.float16)),
)
