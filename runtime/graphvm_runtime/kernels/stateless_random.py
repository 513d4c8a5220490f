"""Kernels of random numbers that follow from a seed alone, by the Philox generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.random import classes_drawn, normal, philox, truncated, uniform
from graphvm_runtime.kernels.registry import Kernel, kernel

_PHILOX, _AUTOMATIC = 1, 3  # members of TensorFlow's enumeration of algorithms
_MIXING_KEY = 0x02461E293EC8F720
_SIXTY_FOUR = 2**64 - 1
_HALF = np.uint64(32)

Draw = Callable[[int, int, int, np.dtype[Any]], Array]


def _start(seed: Array) -> tuple[int, int]:
    """The key and the counter that two seeds are scrambled to."""
    first, second = (int(s) & _SIXTY_FOUR for s in seed)
    words = philox(_MIXING_KEY, first | second << 64, np.arange(1))[0].tolist()
    return words[0] | words[1] << 32, (words[2] | words[3] << 32) << 64


def _given(key: Array, counter: Array, algorithm: Array) -> tuple[int, int]:
    """The key and the counter that a caller gives."""
    if int(algorithm) not in (_PHILOX, _AUTOMATIC):
        raise InvalidArgumentError(f"alg must be {_PHILOX} (Philox), got {int(algorithm)}")
    if len(counter) < 2:  # TensorFlow reads beyond its end
        raise InvalidArgumentError(f"counter must have 2 elements, got {len(counter)}")
    return key.item(), int(counter[0]) | int(counter[1]) << 64


def _filled(draw: Draw, start: tuple[int, int], shape: Array, dtype: np.dtype[Any]) -> Array:
    dims = tuple(shape.tolist())
    if min(dims, default=0) < 0:
        raise InvalidArgumentError(f"shape must have no negative dimension, got {list(dims)}")
    count = int(np.prod(dims, dtype=object)) if dims else 1
    return draw(*start, count, dtype).reshape(dims) if count else np.zeros(dims, dtype)


def _between(low: Array, high: Array) -> Draw:
    """Draws integers from `low` to below `high`."""
    if low.item() >= high.item():
        raise InvalidArgumentError(f"minval must be less than maxval, got {low} and {high}")

    def draw(key: int, counter: int, count: int, dtype: np.dtype[Any]) -> Array:
        wide = dtype.itemsize == 8
        words = philox(key, counter, np.arange(-(-count // (2 if wide else 4))))
        if wide:
            words = words[:, 0::2] | words[:, 1::2] << _HALF
        offsets = words.reshape(-1)[:count] % np.uint64(high.item() - low.item())
        result: Array = (offsets + low.astype(np.uint64)).astype(dtype)
        return result

    return draw


_DRAWS: dict[str, Draw] = {
    "StatelessRandomUniform": uniform, "StatelessRandomNormal": normal,
    "StatelessTruncatedNormal": truncated,
}  # fmt: skip


@kernel("StatelessRandomUniform", "StatelessRandomNormal")
def _seeded(node: Node) -> Kernel:
    draw, dtype = _DRAWS[node.op.name], node.attrs["dtype"].numpy
    return Kernel(lambda shape, seed: _filled(draw, _start(seed), shape, dtype))


@kernel("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2")
def _keyed(node: Node) -> Kernel:
    draw, dtype = _DRAWS[node.op.name.removesuffix("V2")], node.attrs["dtype"].numpy
    return Kernel(
        lambda shape, key, counter, alg: _filled(draw, _given(key, counter, alg), shape, dtype)
    )


@kernel("StatelessRandomUniformInt")
def _integers(node: Node) -> Kernel:
    dtype = node.attrs["dtype"].numpy
    return Kernel(
        lambda shape, seed, low, high: _filled(_between(low, high), _start(seed), shape, dtype)
    )


@kernel("StatelessRandomUniformIntV2")
def _keyed_integers(node: Node) -> Kernel:
    dtype = node.attrs["dtype"].numpy

    def call(
        shape: Array, key: Array, counter: Array, alg: Array, low: Array, high: Array
    ) -> Array:
        return _filled(_between(low, high), _given(key, counter, alg), shape, dtype)

    return Kernel(call)


@kernel("StatelessMultinomial")
def _multinomial(node: Node) -> Kernel:
    dtype = node.attrs["output_dtype"].numpy

    def call(logits: Array, num_samples: Array, seed: Array) -> Array:
        rows, classes = logits.shape
        count = num_samples.item()
        if count < 0:
            raise InvalidArgumentError(f"num_samples must not be negative, got {count}")
        if not classes:
            raise InvalidArgumentError("logits must have a class to draw, got none")
        drawn = uniform(*_start(seed), rows * count, np.dtype(np.float64))
        return classes_drawn(logits, drawn.reshape(rows, count), dtype)

    return Kernel(call)


@kernel("StatelessRandomGetKeyCounter")
def _key_and_counter(node: Node) -> Kernel:
    def call(seed: Array) -> tuple[Array, Array]:
        key, counter = _start(seed)
        return np.array([key], np.uint64), np.array(
            [counter & _SIXTY_FOUR, counter >> 64], np.uint64
        )

    return Kernel(call)


@kernel("StatelessRandomGetAlg")
def _algorithm(node: Node) -> Kernel:
    return Kernel(lambda: np.array(_PHILOX, np.int32))
