"""Derivatives of tensor lists: all are linear, and the cotangent of a list is a list."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph import Tensor
from graphvm.rules.nodes import cast, integers, node, shape_of, zeros_like
from graphvm.rules.registry import Cotangents, Linear, NotDifferentiable, Rule, Site
from graphvm_runtime.dtypes import DType, int32


def _element(site: Site) -> dict[str, DType]:
    return {"element_dtype": site.node.attrs["element_dtype"]}


def _push_back(site: Site, g: Tensor) -> Cotangents:
    popped = node.of("TensorListPopBack", (g, shape_of(site.inputs[1])), _element(site))
    return popped.outputs


def _pop_back(site: Site, rest: Tensor | None, last: Tensor | None) -> Cotangents:
    if rest is None:
        rest = zeros_like(site.outputs[0])
    if last is None:
        last = zeros_like(site.outputs[1])
    return node("TensorListPushBack", (rest, last), _element(site)), None


def _get_item(site: Site, g: Tensor) -> Cotangents:
    list_, index, _ = site.inputs
    zeros = zeros_like(list_)
    return node("TensorListSetItem", (zeros, index, g), _element(site)), None, None


def _set_item(site: Site, g: Tensor) -> Cotangents:
    _, index, value = site.inputs
    shape = shape_of(value)
    rest, _, item = site.wanted
    return (
        node("TensorListSetItem", (g, index, zeros_like(value)), _element(site)) if rest else None,
        None,
        node("TensorListGetItem", (g, index, shape), _element(site)) if item else None,
    )


def _stack(site: Site, g: Tensor) -> Cotangents:
    rows = shape_of(g)
    shape = node("Slice", (rows, integers([1]), integers([-1])))
    made = node("TensorListFromTensor", (g, shape), {**_element(site), "shape_type": int32})
    return made, None


def _from_tensor(site: Site, g: Tensor) -> Cotangents:
    shape = shape_of(site.inputs[0])
    rows = node("Slice", (shape, integers([1]), integers([-1])))
    return node("TensorListStack", (g, cast(rows, int32)), _element(site)), None


_EMPTY = NotDifferentiable("an empty list depends on nothing")

TABLE: Mapping[str, Rule] = {
    "EmptyTensorList": _EMPTY,
    "TensorListReserve": _EMPTY,
    "TensorListLength": NotDifferentiable("depends on lengths only"),
    "TensorListPushBack": Linear(_push_back),
    "TensorListPopBack": Linear(_pop_back, [0]),
    "TensorListGetItem": Linear(_get_item, [0]),
    "TensorListSetItem": Linear(_set_item, [0, 2]),
    "TensorListStack": Linear(_stack, [0]),
    "TensorListFromTensor": Linear(_from_tensor, [0]),
}
