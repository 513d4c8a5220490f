"""Programs of quantized types, which NumPy does not have: they are shown as plain integers."""

from __future__ import annotations

from typing import Any

import numpy as np

X = np.array([-7.0, -6.01, -1.5, -0.5, -0.01, 0.0, 0.02, 0.49, 2.51, 9.0, np.inf, -1e9], np.float32)
ENDS = ((-6.0, 6.0), (-1.0, 3.0), (0.5, 5.0), (-5.0, -0.5), (0.0, 0.0), (2.0, 1.0))
KINDS = (("qint8", "int8"), ("quint8", "uint8"), ("qint16", "int16"), ("quint16", "uint16"))
QUANTIZE, DEQUANTIZE = "QuantizeV2", "Dequantize"
MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


def _tried(session: Any, make: Any, *inputs: Any, **attrs: Any) -> list[Any]:
    try:
        return [np.asarray(v) for v in session.run(make(*inputs, **attrs))]
    except Exception as error:
        name = type(error).__name__
        return ["ValueError" if name == "ShapeError" else name]


def _quantized(tf: Any, kind: tuple[str, str], *inputs: Any, **attrs: Any) -> list[Any]:
    q, plain = (getattr(tf, name) for name in kind)
    out, low, high = getattr(tf.raw_ops, QUANTIZE)(
        input=inputs[0], min_range=inputs[1], max_range=inputs[2], T=q, **attrs
    )
    return [tf.raw_ops.Bitcast(input=out, type=plain), low, high]


def _dequantized(tf: Any, kind: tuple[str, str], x: Any, low: Any, high: Any, **attrs: Any) -> Any:
    held = tf.raw_ops.Bitcast(input=x, type=getattr(tf, kind[0]))
    return [getattr(tf.raw_ops, DEQUANTIZE)(input=held, min_range=low, max_range=high, **attrs)]


def quantize(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Session() as session:
        for kind in KINDS[:2]:
            for mode in MODES:
                for low, high in ENDS:
                    out += _tried(session, _quantized, tf, kind, X[:10], low, high, mode=mode)
    return out


def quantize_by_options(tf: Any) -> list[Any]:
    every: tuple[dict[str, Any], ...] = (
        {"mode": "SCALED", "round_mode": "HALF_TO_EVEN"}, {"mode": "SCALED", "narrow_range": True},
        {"mode": "MIN_FIRST", "round_mode": "HALF_TO_EVEN"}, {"ensure_minimum_range": 0.5},
        {"mode": "MIN_COMBINED", "narrow_range": True}, {"mode": "MIN_FIRST", "narrow_range": True},
        {"axis": 1}, {"axis": -2},
    )  # fmt: skip
    out: list[Any] = []
    with tf.Session() as session:
        for kind in KINDS[:2]:
            for attrs in every:
                out += _tried(session, _quantized, tf, kind, X[:10], -1.0, 1.1, **attrs)
    return out


def quantize_by_axis(tf: Any) -> list[Any]:
    x = X[:10].reshape(2, 5)
    low, high = np.array([-6, -1], np.float32), np.array([6, 3], np.float32)
    out: list[Any] = []
    with tf.Session() as session:
        for kind in KINDS[:2]:
            for mode in MODES:
                ends = (low, high)
                out += _tried(session, _quantized, tf, kind, x, *ends, mode=mode, axis=0)
                out += _tried(session, _quantized, tf, kind, x, *ends, mode=mode, axis=1)
    return out


def dequantize(tf: Any) -> list[Any]:
    out: list[Any] = []
    with tf.Session() as session:
        for kind in KINDS:
            info = np.iinfo(kind[1])
            x = np.array([info.min, info.min + 1, 0, 1, 77, info.max], kind[1])
            for mode in MODES:
                for low, high in ENDS:
                    out += _tried(session, _dequantized, tf, kind, x, low, high, mode=mode)
    return out


def dequantize_by_options(tf: Any) -> list[Any]:
    out: list[Any] = []
    low, high = np.array([-6, -1], np.float32), np.array([6, 3], np.float32)
    with tf.Session() as session:
        for kind in KINDS[:2]:
            x = np.arange(10).astype(kind[1]).reshape(2, 5)
            for mode in MODES:
                for ends, attrs in (
                    ((low, high), {"axis": 0}), ((low, high), {"axis": 1}),
                    ((-1.0, 3.0), {"narrow_range": True}),
                ):  # fmt: skip
                    out += _tried(session, _dequantized, tf, kind, x, *ends, mode=mode, **attrs)
    return out


PROGRAMS = (quantize, quantize_by_options, quantize_by_axis, dequantize, dequantize_by_options)
