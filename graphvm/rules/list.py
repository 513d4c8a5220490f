"""Derivatives of tensor lists: all are linear, and the cotangent of a list is a list."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.list_elements import OneElement, zero_cotangent
from graphvm.rules.nodes import cast, integers, known_value, node, shape_of, zeros_like
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site, Tangents
from graphvm_runtime.dtypes import DType, int32


def _element(site: Site) -> dict[str, DType]:
    return {"element_dtype": site.node.attrs["element_dtype"]}


def _push_back(site: Site, g: Tensor) -> Cotangents:
    popped = node.of("TensorListPopBack", (g, shape_of(site.inputs[1])), _element(site))
    return popped.outputs


def _pop_back(site: Site, rest: Tensor | None, last: Tensor | None) -> Cotangents:
    if rest is None:
        rest = zero_cotangent(site.outputs[0])
    if last is None:
        last = zeros_like(site.outputs[1])
    return node("TensorListPushBack", (rest, last), _element(site)), None


def _get_item(site: Site, g: Tensor) -> Cotangents:
    found = OneElement(lambda: site.inputs[0], site.inputs[1], g, site.node.attrs["element_dtype"])
    return found, None, None


def _set_item(site: Site, g: Tensor) -> Cotangents:
    index, value = site.inputs[1], site.inputs[2]
    shape = shape_of(value)
    rest, _, item = site.wanted
    back = None
    if rest:
        back = node("TensorListSetItem", (g, index, zeros_like(value)), _element(site))
        if site.node.attrs["resize_if_index_out_of_bounds"]:
            length = node("TensorListLength", (site.inputs[0],))
            back = node("TensorListResize", (back, length))
    return (
        back,
        None,
        node("TensorListGetItem", (g, index, shape), _element(site)) if item else None,
    )


def _stack(site: Site, g: Tensor) -> Cotangents:
    rows = shape_of(g)
    made = node(
        "TensorListFromTensor",
        (g, _captured_tensors(rows)),
        {**_element(site), "shape_type": int32},
    )
    return made, None


def _from_tensor(site: Site, g: Tensor) -> Cotangents:
    shape = shape_of(site.inputs[0])
    return node("TensorListStack", (g, cast(_captured_tensors(shape), int32)), _element(site)), None


def _captured_tensors(shape: Tensor) -> Tensor:
    """A shape without its first dimension."""
    return node("Slice", (shape, integers([1]), integers([-1])))


def _gather(site: Site, g: Tensor) -> Cotangents:
    # rows that are read more than once get the sum
    list_, indices, _ = site.inputs
    length = node("TensorListLength", (list_,))
    rows = node("UnsortedSegmentSum", (g, indices, length))
    attrs = {**_element(site), "shape_type": int32}
    return node("TensorListFromTensor", (rows, _captured_tensors(shape_of(g))), attrs), None, None


def _read_back(site: Site, g: Tensor, indices: Tensor, tensor: Tensor) -> Tensor:
    """What came from each row that was scattered: of those of one place only the last is there."""
    rows = node(
        "TensorListGather", (g, indices, _captured_tensors(shape_of(tensor))), _element(site)
    )
    known = known_value(indices)
    if known is not None and len(set(known.tolist())) == known.size:
        return rows
    order = node("Range", (integers(0), node("Size", (indices,)), integers(1)))
    attrs = {"element_dtype": int32, "shape_type": int32}
    last = node("TensorListScatterV2", (order, indices, integers([]), integers(-1)), attrs)
    got = node("TensorListGather", (last, indices, integers([])), {"element_dtype": int32})
    ones = node("OnesLike", (_captured_tensors(shape_of(tensor)),))
    there = node("ConcatV2", ([shape_of(indices), ones], integers(0)))
    factor = node("Reshape", (cast(node("Equal", (got, order)), tensor.type.dtype), there))
    return node("Mul", (rows, factor))


def _scatter(site: Site, g: Tensor) -> Cotangents:
    tensor, indices, _, _ = site.inputs
    return _read_back(site, g, indices, tensor), None, None, None


def _scatter_into(site: Site, g: Tensor) -> Cotangents:
    tensor, indices = site.inputs[1], site.inputs[2]
    rest, row, _ = site.wanted
    back = None
    if rest:
        zeros = (g, zeros_like(tensor), indices)
        back = node("TensorListScatterIntoExistingList", zeros, _element(site))
        length = node("TensorListLength", (site.inputs[0],))
        back = node("TensorListResize", (back, length))
    return back, _read_back(site, g, indices, tensor) if row else None, None


def _parts_of(tensor: Tensor) -> Tensor:
    """Shape of parts of a tensor whose lengths differ."""
    return node("ConcatV2", ([integers([-1]), _captured_tensors(shape_of(tensor))], integers(0)))


def _split(site: Site, g: Tensor) -> Cotangents:
    tensor, _, lengths = site.inputs
    attrs = {**_element(site), "shape_type": int32}
    return node("TensorListConcatV2", (g, _parts_of(tensor), lengths), attrs), None, None


def _concat(site: Site, g: Tensor | None, _: Tensor | None) -> Cotangents:
    if g is None:
        return None, None, None
    attrs = {**_element(site), "shape_type": int32}
    return node("TensorListSplit", (g, _parts_of(g), site.outputs[1]), attrs), None, None


def _push_concat(site: Site, tangents: Tangents) -> Tangents:
    t = tangents[0]
    if t is None:
        return None, None
    inputs = (t, site.inputs[1], site.outputs[1])
    return node(
        "TensorListConcatV2",
        inputs,
        {**_element(site), "shape_type": site.node.attrs["shape_type"]},
    ), None


def _resize(site: Site, g: Tensor) -> Cotangents:
    return node("TensorListResize", (g, node("TensorListLength", (site.inputs[0],)))), None


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
    "TensorListGather": Linear(_gather, [0]),
    "TensorListScatterV2": Linear(_scatter, [0]),
    "TensorListScatterIntoExistingList": Linear(_scatter_into, [0, 1]),
    "TensorListSplit": Linear(_split, [0]),
    "TensorListConcatV2": Linear(_concat, [0], _push_concat),
    "TensorListElementShape": NotDifferentiable("depends on shapes only"),
    "TensorListResize": Linear(_resize, [0]),
}
