"""Cotangents: the forms they come in, how they add up, how they leave a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices, joined
from graphvm.rules.list_elements import OneElement, summed
from graphvm.rules.nodes import node, shape_held
from graphvm_runtime.shapes import is_known

# What is known of the derivative in one tensor; None: it is zero.
Cotangent: TypeAlias = "Tensor | IndexedSlices | OneElement | None"
Cotangents: TypeAlias = Sequence[Cotangent]


def dense(cotangent: Cotangent) -> Tensor:
    """A cotangent as a tensor."""
    if isinstance(cotangent, IndexedSlices | OneElement):
        return cotangent.dense()
    assert cotangent is not None
    return cotangent


def shown(cotangent: Cotangent) -> Tensor | IndexedSlices | None:
    """A cotangent as users see it."""
    return dense(cotangent) if isinstance(cotangent, OneElement) else cotangent


def aggregated(parts: Sequence[Cotangent]) -> Cotangent:
    """The sum of cotangents; IndexedSlices stay what they are among themselves."""
    terms = [p for p in parts if p is not None]
    if len(terms) < 2:
        return terms[0] if terms else None
    elements = [t for t in terms if isinstance(t, OneElement)]
    if elements:
        whole = aggregated([t for t in terms if not isinstance(t, OneElement)])
        return summed(None if whole is None else dense(whole), elements)
    slices = [t for t in terms if isinstance(t, IndexedSlices)]
    if len(slices) == len(terms):
        return joined(slices)
    return node("AddN", ([dense(t) for t in terms],))


def has_rows(cotangent: Cotangent) -> TypeGuard[IndexedSlices]:
    """Whether it is given by some rows, whose shape is known."""
    if not isinstance(cotangent, IndexedSlices):
        return False
    shape = cotangent.values.type.shape
    return shape is not None and is_known(shape[1:])


def leaving(cotangent: Cotangent) -> tuple[Tensor, ...]:
    """The tensors that carry a cotangent out of a body: values and indices, or the whole."""
    if isinstance(cotangent, IndexedSlices):
        return cotangent.values, cotangent.indices
    return (dense(cotangent),)


def arrived(tensors: Sequence[Tensor], primal: Tensor) -> Tensor | IndexedSlices:
    """The cotangent of `primal` that left a body as `tensors`."""
    if len(tensors) == 1:
        return tensors[0]
    values, indices = tensors
    return IndexedSlices(values, indices, shape_held(primal))
