"""Kernels of random numbers: TensorFlow's own, from Philox streams.

A stream belongs to a session and to a node's path, and goes on from run to run. Its first key and
counter are the two seeds of the node, or fresh entropy where both are zero.

Source: Salmon, Moraes, Dror and Shaw (2011), Philox 4x32-10.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.values.resources import Step

_RESERVED = 256  # blocks of 128 bits set aside for each number that is asked for
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_TINY = 1.0e-7  # keeps the logarithm of a uniform number finite
_CUT = 2.0  # standard deviations beyond which a truncated normal number is drawn again

_making = threading.Lock()


class Stream:
    """A stream of random numbers: a key, and a counter that runs on. Thread-safe."""

    def __init__(self, seed: int, seed2: int) -> None:
        if not seed and not seed2:
            seed, seed2 = secrets.randbits(64), secrets.randbits(64)
        self.key = seed & (2**64 - 1)
        self._counter = (seed2 & (2**64 - 1)) << 64
        self._lock = threading.Lock()

    @property
    def first(self) -> int:
        """The counter that it is at."""
        return self._counter

    def reserved(self, numbers: int) -> int:
        """The counter to start at for that many numbers; the stream goes on behind them."""
        return self.reserved_blocks(numbers * _RESERVED)

    def reserved_blocks(self, blocks: int) -> int:
        """The counter to start at for that many blocks of 128 bits."""
        with self._lock:
            counter = self._counter
            self._counter = (counter + blocks) % 2**128
        return counter


def stream_of(step: Step, node: Node) -> Stream:
    """The stream of a random node in this session."""
    # nodes of two bodies may have one name, and then seeds of their own
    path = node.attrs.get("_path", node.name), node.attrs["seed"], node.attrs["seed2"]
    streams: dict[Any, Stream] = step.session.get("random")  # type: ignore[assignment]
    if streams is None:
        streams = step.session.setdefault("random", {})
    found = streams.get(path)
    if found is None:
        with _making:  # two threads that find none must not both draw from the start
            found = streams.setdefault(path, Stream(node.attrs["seed"], node.attrs["seed2"]))
    return found


def philox(key: int, counter: int, blocks: Array) -> Array:
    """Random bits: row i has the four 32-bit words at `counter + blocks[i]`, in 64-bit integers."""
    low = np.uint64(counter & (2**64 - 1))
    high = np.uint64(counter >> 64)
    first = low + blocks.astype(np.uint64)
    second = high + (first < low)
    words = [first & _LOW, first >> _HALF, second & _LOW, second >> _HALF]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(_ROUNDS):
        left, right = words[0] * _MULTIPLIERS[0], words[2] * _MULTIPLIERS[1]
        words = [
            (right >> _HALF) ^ words[1] ^ np.uint64(keys[0]),
            right & _LOW,
            (left >> _HALF) ^ words[3] ^ np.uint64(keys[1]),
            left & _LOW,
        ]
        keys = [(k + w) & 0xFFFFFFFF for k, w in zip(keys, _WEYL, strict=True)]
    return np.stack(words, -1)


def _words(key: int, counter: int, count: int) -> Array:
    """That many words of 32 bits from the counter on, laid out in rows of four."""
    return philox(key, counter, np.arange(-(-count // 4)))


def _unit(words: Array, dtype: np.dtype[Any]) -> Array:
    """Uniform in [0, 1): the words' low bits as the mantissa of a number in [1, 2), less one."""
    bits, mantissa, one = {
        "float32": (np.uint32, 23, 127), "float16": (np.uint16, 10, 15),
        "bfloat16": (np.uint16, 7, 127),
    }[dtype.name]  # fmt: skip
    patterns = (words & np.uint64(2**mantissa - 1)) | np.uint64(one << mantissa)
    result: Array = patterns.astype(bits).view(dtype) - dtype.type(1)
    return result


def _unit_double(high: Array, low: Array) -> Array:
    pattern = ((high & np.uint64(0xFFFFF)) << _HALF) | low | np.uint64(1023 << 52)
    result: Array = pattern.view(np.float64) - 1.0
    return result


def uniform(key: int, counter: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Numbers in [0, 1) that follow from a key and a counter."""
    if dtype == np.float64:
        words = _words(key, counter, 2 * count)
        return _unit_double(words[:, 0::2], words[:, 1::2]).reshape(-1)[:count]
    return _unit(_words(key, counter, count), dtype).reshape(-1)[:count]


def _normal_pairs(words: Array, dtype: np.dtype[Any]) -> Array:
    """Box-Muller: rows of four words as rows of four numbers, or of two doubles."""
    if dtype == np.float64:
        radius, turn = (
            _unit_double(words[:, :1], words[:, 1:2]),
            _unit_double(words[:, 2:3], words[:, 3:]),
        )
        turn = 2.0 * np.pi * turn
    else:
        single = np.dtype(np.float32)
        radius, turn = _unit(words[:, 0::2], single), _unit(words[:, 1::2], single)
        turn = np.float32(2.0) * np.float32(np.pi) * turn
    length = np.sqrt(radius.dtype.type(-2) * np.log(np.maximum(radius, radius.dtype.type(_TINY))))
    return np.stack([np.sin(turn) * length, np.cos(turn) * length], -1).reshape(len(words), -1)


def normal(key: int, counter: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Standard normal numbers that follow from a key and a counter."""
    row = 2 if dtype == np.float64 else 4
    words = _words(key, counter, -(-count // row) * 4)
    return _normal_pairs(words, dtype).reshape(-1)[:count].astype(dtype, copy=False)


def truncated(key: int, counter: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Each group of numbers draws from blocks of its own until all of it lies within the cut."""
    group = 2 if dtype == np.float64 else 4
    groups = -(-count // group)
    single = dtype if dtype == np.float64 else np.dtype(np.float32)
    out = np.empty((groups, group), single)
    filled = np.zeros(groups, np.int64)
    open_ = np.arange(groups)
    block = 0
    while open_.size:
        words = philox(key, counter, open_ * (group * _RESERVED // 4) + block)
        for drawn in _normal_pairs(words, dtype).T:
            take = (np.abs(drawn) < _CUT) & (filled[open_] < group)
            rows = open_[take]
            out[rows, filled[rows]] = drawn[take]
            filled[rows] += 1
        open_ = open_[filled[open_] < group]
        block += 1
    return out.reshape(-1)[:count].astype(dtype, copy=False)


_DRAWS: dict[str, Callable[[int, int, int, np.dtype[Any]], Array]] = {
    "RandomUniform": uniform, "RandomStandardNormal": normal, "TruncatedNormal": truncated,
}  # fmt: skip


@kernel(*_DRAWS)
def _random(node: Node) -> Kernel:
    draw, dtype = _DRAWS[node.op.name], node.attrs["dtype"].numpy

    def call(step: Step, shape: Array) -> Array:
        dims = tuple(shape.tolist())
        if min(dims, default=0) < 0:
            raise InvalidArgumentError(f"a dimension is negative in {list(dims)}")
        count = int(np.prod(dims, dtype=object)) if dims else 1
        stream = stream_of(step, node)
        if not count:
            return np.zeros(dims, dtype)
        return draw(stream.key, stream.reserved(count), count, dtype).reshape(dims)

    return Kernel(call, step=True)


@kernel("Multinomial")
def _multinomial(node: Node) -> Kernel:
    dtype = node.attrs["output_dtype"].numpy

    def call(step: Step, logits: Array, num_samples: Array) -> Array:
        if logits.ndim != 2:
            raise InvalidArgumentError(f"logits are a matrix, got shape {list(logits.shape)}")
        if num_samples.ndim:
            raise InvalidArgumentError(
                f"num_samples is a scalar, got shape {list(num_samples.shape)}"
            )
        rows, classes = logits.shape
        count = num_samples.item()
        if count < 0:
            raise InvalidArgumentError(f"num_samples is {count}")
        if not classes:
            raise InvalidArgumentError("there is no class to draw from")
        stream = stream_of(step, node)
        # two words a number, and room for a multiple of four numbers in each row
        counter = stream.reserved(rows * -(-count // 4) * 8)
        drawn = uniform(stream.key, counter, rows * count, np.dtype(np.float64)).reshape(
            rows, count
        )
        return classes_drawn(logits, drawn, dtype)

    return Kernel(call, step=True)


def classes_drawn(logits: Array, drawn: Array, dtype: np.dtype[Any]) -> Array:
    """The class that each uniform number falls on, a row of logits a row of numbers."""
    out = np.empty(drawn.shape, dtype)
    for row, (sums, total) in enumerate(map(_running_sums, logits)):
        out[row] = sums.searchsorted(drawn[row] * total, "right")
    return out


def _running_sums(logits: Array) -> tuple[Array, Any]:
    """Sums of the probabilities up to each class, not divided by the last; infinite ones are 0."""
    wide = logits.astype(np.float64)
    finite = np.isfinite(wide)
    wide[~finite] = -np.inf
    top = wide.max() if finite.any() else 0.0
    sums = np.exp(wide - top).cumsum()
    return sums, sums[-1]


@kernel("RandomShuffle")
def _random_shuffle(node: Node) -> Kernel:
    def call(step: Step, value: Array) -> Array:
        count = len(value) if getattr(value, "ndim", 0) else 0
        if count < 2:
            return value
        stream = stream_of(step, node)
        counter = stream.reserved_blocks(-(-(count - 1) // 4))
        words = _words(stream.key, counter, count - 1).reshape(-1)[: count - 1]
        order = list(range(count))
        picks = words % np.arange(count, 1, -1, dtype=np.uint64)
        for i, pick in enumerate(picks.tolist()):
            order[i], order[i + pick] = order[i + pick], order[i]
        result: Array = value[order]
        return result

    return Kernel(call, step=True, aliases=(0,))
