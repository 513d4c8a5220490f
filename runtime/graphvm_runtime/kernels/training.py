"""Kernels that apply gradients to variables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel, plain
from graphvm_runtime.values.resources import Variable

_BLOCK = 16384  # elements of an update done at a time, so that they stay in the cache

plain(
    "ResourceApplyGradientDescent",
    lambda variable, alpha, delta: variable.update(np.subtract, delta * alpha),
)


@kernel("ResourceApplyAdam")
def _adam(node: Node) -> Callable[..., Any]:
    nesterov = node.attrs["use_nesterov"]
    one = node.attrs["T"].numpy.type(1)

    def call(
        variable: Variable,
        first: Variable,
        second: Variable,
        power1: Array,
        power2: Array,
        rate: Array,
        beta1: Array,
        beta2: Array,
        epsilon: Array,
        gradient: Array,
    ) -> None:
        held = (variable, first, second)
        with ExitStack() as stack:
            # in one order everywhere, so that two updates never wait for each other
            for each in sorted(set(held), key=id):
                stack.enter_context(each.lock)
                each.busy = True
            try:
                arrays = [_writable(each, gradient.shape) for each in held]
                step = rate * np.sqrt(one - power2) / (one - power1)
                _update(arrays, gradient, step, beta1, beta2, epsilon, one, nesterov)
                for each, array in zip(held, arrays, strict=True):
                    each.value = array
            finally:
                for each in held:
                    each.busy = False

    return call


def _writable(variable: Variable, shape: tuple[int, ...]) -> Array:
    """The variable's own array where nobody else holds it, else a copy."""
    private = variable.is_private()
    value = variable.value
    if value is None:
        raise variable.uninitialised(updated=True)
    if value.shape != shape:
        raise InvalidArgumentError(
            f"variable {variable.name!r} of shape {list(value.shape)} cannot take a gradient of "
            f"shape {list(shape)}"
        )
    if private and value.ndim and value.flags.writeable and value.flags.c_contiguous:
        return value
    return np.array(value, order="C")


def _update(
    arrays: list[Array],
    gradient: Array,
    step: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    one: Any,
    nesterov: bool,
) -> None:
    flat = [a.reshape(-1) for a in arrays]
    gradients = gradient.reshape(-1)
    rest1, rest2 = one - beta1, one - beta2
    for start in range(0, gradients.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        value, m, v = (a[part] for a in flat)
        g = gradients[part]
        m += (g - m) * rest1
        v += (g * g - v) * rest2
        moved = g * rest1 + beta1 * m if nesterov else m
        value -= moved * step / (np.sqrt(v) + epsilon)
