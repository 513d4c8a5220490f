"""Numbers as small integers between two ends, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import InvalidArgumentError, UnimplementedError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing

_SINGLE = np.float32


def _away(x: Any) -> Any:
    """Rounds halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0).astype(whole.dtype)


def _along(ends: Array, x: Array, axis: int) -> Array:
    """One end a slice of `x`, in a shape that broadcasts; a scalar where there is no axis."""
    return ends if axis == -1 else ends.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _sums(x: Array, ends: Array, axis: int) -> Any:
    """Sums of all slices along the axis, or of everything where there is none."""
    others = None if axis == -1 else tuple(i for i in range(x.ndim) if i != axis)
    return x.sum(others, dtype=x.dtype).reshape(ends.shape)


# ------------------------------------------------------------------------------- fake quantization


def _steps(node: Node) -> tuple[int, int]:
    """The least and the greatest of the integers that stand for the numbers."""
    bits = node.attrs["num_bits"]
    if not 2 <= bits <= 16:
        raise InvalidArgumentError(f"num_bits must be between 2 and 16, got {bits}")
    return int(node.attrs["narrow_range"]), (1 << bits) - 1


def _nudged(low: Array, high: Array, steps: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Both ends moved so that zero is one of the steps, and the length of a step."""
    least, most = _SINGLE(steps[0]), _SINGLE(steps[1])
    with np.errstate(all="ignore"):
        scale = (high - low) / (most - least)
        zero = _away(np.clip(least - low / scale, least, most))
        return (least - zero) * scale, (most - zero) * scale, scale


def _faked(x: Array, low: Array, high: Array, steps: tuple[int, int]) -> Array:
    nudged_low, nudged_high, scale = _nudged(low, high, steps)
    half = _SINGLE(0.5)
    with np.errstate(all="ignore"):
        inverse = _SINGLE(1) / scale
        zero = np.floor(-nudged_low * inverse + half)
        shifted = np.maximum(np.minimum(x, nudged_high), nudged_low) - nudged_low
        out = np.floor(shifted * inverse - zero + half) * scale
    return np.where((low == 0) & (high == 0), _SINGLE(0), out)


def _faked_back(
    g: Array, x: Array, low: Array, high: Array, steps: tuple[int, int], axis: int
) -> tuple[Any, Any, Any]:
    nudged_low, nudged_high, _ = _nudged(low, high, steps)
    nothing = (low == 0) & (high == 0)
    below, above = (x < nudged_low) & ~nothing, (x > nudged_high) & ~nothing
    inside = ((x >= nudged_low) & (x <= nudged_high)) | nothing
    return g * inside, _sums(g * below, low, axis), _sums(g * above, high, axis)


def _ends(node: Node) -> tuple[Any, Any]:
    low, high = _SINGLE(node.attrs["min"]), _SINGLE(node.attrs["max"])
    if not low < high:
        raise InvalidArgumentError(f"min must be less than max, got {low} and {high}")
    return low, high


@kernel("FakeQuantWithMinMaxArgs")
def _fake_args(node: Node) -> Callable[..., Any]:
    ends, steps = _ends(node), _steps(node)
    return lambda x: _faked(x, *ends, steps)


@kernel("FakeQuantWithMinMaxArgsGradient")
@refusing
def _fake_args_back(node: Node) -> Callable[..., Any]:
    low, high, _ = _nudged(*_ends(node), _steps(node))
    return lambda g, x: g * ((x >= low) & (x <= high))


@kernel("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
@refusing
def _fake(node: Node) -> Callable[..., Any]:
    steps = _steps(node)
    return lambda x, low, high: _faked(x, low, high, steps)


@kernel("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
@refusing
def _fake_back(node: Node) -> Callable[..., Any]:
    steps, by_channel = _steps(node), "PerChannel" in node.op.name

    def call(g: Array, x: Array, low: Array, high: Array) -> Any:
        return _faked_back(g, x, low, high, steps, x.ndim - 1 if by_channel else -1)

    return call


# ---------------------------------------------------------------------------- there and back again


def _integers(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    most_bits = 62 if signed else 63
    if not 0 < bits <= most_bits:
        raise InvalidArgumentError(f"num_bits must be between 1 and {most_bits}, got {bits}")
    if not signed:
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)) + int(narrow), (1 << (bits - 1)) - 1


def _scaled_ends(low: Array, high: Array, least: int, most: int) -> tuple[Any, Any, Any, Any]:
    """The ends, the scale with which all between them fits into the integers, and its inverse."""
    of = low.dtype.type
    limit = np.finfo(low.dtype).max if low.dtype.kind == "f" else of(3.3895314e38)
    with np.errstate(all="ignore"):
        from_low = np.where(of(least) * low > 0, of(least) / low, limit)
        from_high = np.where(of(most) * high > 0, of(most) / high, limit)
        by_low = from_low < from_high
        scale = np.where(by_low, from_low, from_high)
        inverse = np.where(by_low, low / of(least), high / of(most))
        low, high = np.where(by_low, low, of(least) * inverse), np.where(
            by_low, of(most) * inverse, high
        )  # fmt: skip
    return low, high, scale, inverse


@kernel("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4")
@refusing
def _there_and_back(node: Node) -> Callable[..., Any]:
    a = node.attrs
    axis, given, up = a["axis"], a["range_given"], a.get("round_mode") == b"HALF_UP"
    signed, narrow = a["signed_input"], a["narrow_range"]
    # TensorFlow's kernels take ends along an axis in version 3 only
    one_pair = given and node.op.name != "QuantizeAndDequantizeV3"
    fixed = _integers(a["num_bits"], signed, narrow) if "num_bits" in a else None

    def call(x: Array, low: Array, high: Array, bits: Array | None = None) -> Any:
        if one_pair and low.ndim:
            raise InvalidArgumentError(f"input_min must be a scalar, got shape {list(low.shape)}")
        integers = fixed or _integers(int(bits), signed, narrow)  # type: ignore[arg-type]
        if not x.size:
            return x.copy()
        if not given:
            others = None if axis == -1 else tuple(i for i in range(x.ndim) if i != axis)
            low, high = np.asarray(x.min(others)), np.asarray(x.max(others))
        elif (low > high).any():
            raise InvalidArgumentError(f"input_min must be at most input_max, got {low} and {high}")
        low, high = _along(np.asarray(low), x, axis), _along(np.asarray(high), x, axis)
        low, high, scale, inverse = _scaled_ends(low, high, *integers)
        scaled = (np.clip(x, low, high) if given else x) * scale
        whole = np.floor(scaled + scaled.dtype.type(0.5)) if up else np.rint(scaled)
        return (whole * inverse).astype(x.dtype)

    return call


@kernel("QuantizeAndDequantizeV4Grad")
@refusing
def _there_and_back_grad(node: Node) -> Callable[..., Any]:
    axis = node.attrs["axis"]

    def call(g: Array, x: Array, low: Array, high: Array) -> Any:
        least, most = _along(low, x, axis), _along(high, x, axis)
        inside = (x >= least) & (x <= most)
        # TensorFlow hands nothing on to the ends
        return np.where(inside, g, g.dtype.type(0)), np.zeros_like(low), np.zeros_like(high)

    return call


# --------------------------------------------------------------------------------- real integers


def _limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def _half(least: int, most: int) -> Any:
    return _SINGLE((most - least + 1) // 2 if least < 0 else 0)


def _check_axis(mode: bytes, axis: int) -> None:
    if mode == b"MIN_FIRST" and axis != -1:
        raise UnimplementedError(f"axis must be -1 with mode MIN_FIRST, got {axis}")


def _combined(x: Array, low: Any, high: Any, dtype: DType) -> Any:
    least, most = _limits(dtype)
    scale = _SINGLE(most - least) / (high - low)
    moved = (np.clip(x, low, high) - low) * scale
    if least < 0:
        return _away(moved - _half(least, most))
    return np.floor(moved + _SINGLE(0.5))


def _first(x: Array, low: Any, high: Any, dtype: DType) -> Any:
    least, most = _limits(dtype)
    count = most - least + 1
    reach = (np.float64(high) - low) * (count / (count - 1.0))
    scale = (count / reach).astype(_SINGLE)
    moved = _away(x * scale).astype(np.float64) - _away(low * scale) + least
    return np.clip(moved, least, most)


@kernel("QuantizeV2")
@refusing
def _quantize(node: Node) -> Callable[..., Any]:
    a = node.attrs
    dtype, mode, axis = a["T"], a["mode"], a["axis"]
    least, most = _limits(dtype)
    least += int(a["narrow_range"])
    to_even, apart = a["round_mode"] == b"HALF_TO_EVEN", _SINGLE(a["ensure_minimum_range"])
    if to_even and mode != b"SCALED":
        raise InvalidArgumentError(
            f"mode must be SCALED with round_mode HALF_TO_EVEN, got {mode.decode()}"
        )
    _check_axis(mode, axis)

    def call(x: Array, low: Array, high: Array) -> Any:
        if (low > high).any():
            raise InvalidArgumentError(f"min_range must be at most max_range, got {low} and {high}")
        one, zero = _SINGLE(1), _SINGLE(0)
        least_range = np.maximum(one, np.maximum(np.abs(low), np.abs(high))) * apart
        low = np.minimum(zero, low)
        high = np.maximum(zero, np.maximum(high, low + least_range))
        if mode == b"SCALED":
            with np.errstate(all="ignore"):
                limit = np.finfo(_SINGLE).max
                from_low = np.where(least * low > 0, _SINGLE(least) / low, limit)
                from_high = np.where(most * high > 0, _SINGLE(most) / high, limit)
            scale = np.minimum(from_low, from_high).astype(_SINGLE)
            low, high = _SINGLE(least) / scale, _SINGLE(most) / scale
        lows, highs = _along(np.asarray(low), x, axis), _along(np.asarray(high), x, axis)
        if mode == b"SCALED":
            out = np.clip(x, lows, highs) * _along(np.asarray(scale), x, axis)
            out = np.rint(out) if to_even else _away(out)
        else:
            out = (_combined if mode == b"MIN_COMBINED" else _first)(x, lows, highs, dtype)
        return out.astype(dtype.numpy), low, high

    return call


@kernel("Dequantize")
@refusing
def _dequantize(node: Node) -> Callable[..., Any]:
    a = node.attrs
    mode, axis, narrow, to = a["mode"], a["axis"], a["narrow_range"], a["dtype"].numpy
    least, most = _limits(a["T"])
    _check_axis(mode, axis)

    def call(x: Array, low: Array, high: Array) -> Any:
        low, high = _along(low, x, axis), _along(high, x, axis)
        if mode == b"SCALED":
            bottom = least + int(narrow)
            scale = high / _SINGLE(most)
            if bottom < 0:
                scale = np.maximum(low / _SINGLE(bottom), scale)
            return (x.astype(_SINGLE) * scale).astype(to)
        if mode == b"MIN_COMBINED":
            scale = (high - low) / _SINGLE(most - least)
            return ((x.astype(_SINGLE) + _half(least, most)) * scale + low).astype(to)
        with np.errstate(all="ignore"):
            scale = ((high - low) / np.float64(most - least)).astype(_SINGLE)
            start = np.where(high == low, low, _away(low / scale) * scale)
        return ((x.astype(np.float64) - least) * scale + start).astype(_SINGLE).astype(to)

    return call
