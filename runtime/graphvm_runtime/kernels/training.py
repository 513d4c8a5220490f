"""Kernels that apply gradients to variables.

An optimizer is one function, its step: it updates a variable and its slots in place, element by
element, from a gradient and the rates that its op declares. Dense, sparse and reference forms
derive from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.dtypes import Array, resource
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.optimizers import STEPS
from graphvm_runtime.kernels.registry import kernel, plain
from graphvm_runtime.ops.training import GRADIENTS
from graphvm_runtime.values.resources import Variable

# step(variable, *slots, grad, **rates_and_options)
Step: TypeAlias = Callable[..., None]

_BLOCK = 16384  # elements of an update done at a time, so that they stay in the cache
_COMMON = ("T", "Tindices", "use_locking")  # attributes that change no number

plain(
    "ResourceApplyGradientDescent",
    lambda variable, alpha, delta: variable.update(np.subtract, delta * alpha),
)


def _maker(step: Step) -> Callable[[Node], Callable[..., Any]]:
    """The maker of an optimizer's kernels, dense and sparse, as the op's inputs say."""

    def make(node: Node) -> Callable[..., Any]:
        inputs = node.op.inputs
        count = sum(arg.dtype is resource for arg in inputs)
        names = [arg.name for arg in inputs[count:]]
        options = {k: v for k, v in node.attrs.items() if k in node.op.attrs and k not in _COMMON}
        kind = node.attrs["T"].numpy.type
        (name,) = (n for n in names if n in GRADIENTS)

        def call(*given: Any) -> None:
            held: Sequence[Variable] = given[:count]
            rest = dict(zip(names, given[count:], strict=True))
            gradient, indices = rest.pop(name), rest.pop("indices", None)
            rates = {k: kind(v) for k, v in rest.items()}
            with np.errstate(all="ignore"):
                _update(held, step, gradient, indices, {**rates, **options})

        return call

    return make


for _name, _step in STEPS.items():
    kernel(*_name)(_maker(_step))


def _update(
    held: Sequence[Variable], step: Step, gradient: Array, indices: Array | None, more: Any
) -> None:
    """One step of variables that are locked meanwhile."""
    with ExitStack() as stack:
        # in one order everywhere, so that two updates never wait for each other
        for each in sorted(set(held), key=id):
            stack.enter_context(each.lock)
            each.busy = True
        try:
            arrays = [_writable(each) for each in held]
            if indices is None:
                _dense(held, arrays, step, gradient, more)
            else:
                _sparse(held, arrays, step, gradient, indices, more)
            for each, array in zip(held, arrays, strict=True):
                each.value = array
        finally:
            for each in held:
                each.busy = False


def _writable(variable: Variable) -> Array:
    """The variable's own array where nobody else holds it, else a copy."""
    private = variable.is_private()
    value = variable.value
    if value is None:
        raise variable.uninitialised(updated=True)
    if private and value.ndim and value.flags.writeable and value.flags.c_contiguous:
        return value
    return np.array(value, order="C")


def _dense(
    held: Sequence[Variable], arrays: list[Array], step: Step, gradient: Array, more: Any
) -> None:
    for variable, array in zip(held, arrays, strict=True):
        if array.shape != gradient.shape:
            raise InvalidArgumentError(
                f"variable {variable.name!r} of shape {list(array.shape)} cannot take a gradient "
                f"of shape {list(gradient.shape)}"
            )
    flat = [a.reshape(-1) for a in arrays]
    gradients = gradient.reshape(-1)
    for start in range(0, gradients.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        step(*(a[part] for a in flat), gradients[part], **more)


def _sparse(
    held: Sequence[Variable],
    arrays: list[Array],
    step: Step,
    gradient: Array,
    indices: Array,
    more: Any,
) -> None:
    for variable, array in zip(held, arrays, strict=True):
        if not array.ndim or gradient.shape != (*indices.shape, *array.shape[1:]):
            raise InvalidArgumentError(
                f"variable {variable.name!r} of shape {list(array.shape)} cannot take a gradient "
                f"of shape {list(gradient.shape)} for {indices.size} rows"
            )
        wrong = np.flatnonzero((indices < 0) | (indices >= len(array)))
        if wrong.size:
            raise InvalidArgumentError(
                f"indices must be in [0, {len(array)}), got indices[{wrong[0]}] = "
                f"{indices[wrong[0]]} for variable {variable.name!r}"
            )
    for part in rounds(indices):
        rows = indices[part]
        taken = [a[rows] for a in arrays]
        step(*taken, gradient[part], **more)
        for array, updated in zip(arrays, taken, strict=True):
            array[rows] = updated


def rounds(indices: Array) -> Iterator[Any]:
    """Places in `indices`, in rounds without equal ones: what comes again is updated again."""
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    counts = np.diff(np.append(starts, len(ordered)))
    nth = np.empty(len(ordered), np.int64)
    nth[order] = np.arange(len(ordered)) - np.repeat(starts, counts)
    for k in range(int(counts.max(initial=0))):
        yield np.flatnonzero(nth == k)
