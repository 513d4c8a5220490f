"""Derivatives of arrays behind handles: arrays of gradients, or of tangents, beside them.

A flow stands for the array as it is then, so the cotangent of a flow is the flow of the array of
gradients, and its tangent that of the array of tangents. What a derivative writes it adds, and
what nobody wrote is zero. Other arrays start with a flow of their own; from there on derivatives
of derivatives find their way along it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents, dense
from graphvm.rules.nodes import node
from graphvm.rules.registry import Both, NotDifferentiable, Rule, Site, Tangents, Transform


def _beside(site: Site, flow: Tensor, source: str) -> tuple[Tensor, Tensor]:
    """The other array and its flow."""
    made = node.of("TensorArrayGradV3", (site.inputs[0], flow), {"source": source.encode()})
    return made.outputs[0], made.outputs[1]


def _reads(op: str, back: str, inputs: int, attrs: tuple[str, ...] = ()) -> Rule:
    """Of an op that gives elements: what comes back is written by another op.

    Args:
        op: the op.
        back: the op that writes.
        inputs: how many inputs it has; the first is the handle, the last the flow.
        attrs: its attributes.
    """

    def pull(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        g = cotangents[0]
        none: list[Tensor | None] = [None] * inputs
        if g is None:
            return none
        array, flow = _beside(site, site.inputs[-1], f"{transform.label}/gradients")
        value = dense(g)
        if op == "TensorArrayConcatV3":
            given = (array, value, site.outputs[1], flow)
        else:
            given = (array, site.inputs[1], value, flow)
        none[-1] = node(back, given)
        return none

    def push(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        t = tangents[-1]
        rest = [None] * (len(site.node.outputs) - 1)
        if t is None:
            return [None, *rest]
        # shapes of what was never written are those of the elements, which must be there
        both = node("AddV2", (t, site.inputs[-1]))
        array, _ = _beside(site, both, f"{transform.label}/tangents")
        kept = {k: site.node.attrs[k] for k in attrs}
        found = node(op, (array, *site.inputs[1:-1], t), kept)
        found.set_shape(site.output_type(0).shape)
        return [found, *rest]

    return Both(pull, push)


def _writes(op: str, value: int, back: Callable[[Site, Tensor, Tensor], Tensor]) -> Rule:
    """Of an op that sets elements: what comes back is read by another op.

    Args:
        op: the op.
        value: which input holds the elements.
        back: `back(site, array, flow)` reads them.
    """

    def pull(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        g = cotangents[0]
        out: list[Any] = [None] * len(site.node.inputs)
        if g is None:
            return out
        out[-1] = dense(g)
        if site.wanted[value]:
            array, _ = _beside(site, out[-1], f"{transform.label}/gradients")
            out[value] = back(site, array, out[-1])
            out[value].set_shape(site.input_type(value).shape)
        return out

    def push(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        t, before = tangents[value], tangents[-1]
        if t is None:
            return [before]
        start = site.inputs[-1] if before is None else before
        array, flow = _beside(site, start, f"{transform.label}/tangents")
        given = [array, *site.inputs[1:-1], flow if before is None else before]
        given[value] = t
        return [node(op, given)]

    return Both(pull, push)


def _read(site: Site, array: Tensor, flow: Tensor) -> Tensor:
    attrs = {"dtype": site.node.attrs["T"]}
    return node("TensorArrayReadV3", (array, site.inputs[1], flow), attrs)


def _gather(site: Site, array: Tensor, flow: Tensor) -> Tensor:
    shape = site.input_type(2).shape
    attrs = {"dtype": site.node.attrs["T"], "element_shape": None if not shape else shape[1:]}
    return node("TensorArrayGatherV3", (array, site.inputs[1], flow), attrs)


def _concat(site: Site, array: Tensor, flow: Tensor) -> Tensor:
    shape = site.input_type(1).shape
    rest = None if not shape else shape[1:]
    attrs = {"dtype": site.node.attrs["T"], "element_shape_except0": rest}
    return node("TensorArrayConcatV3", (array, flow), attrs)


_MADE = NotDifferentiable("a new array depends on nothing")

TABLE: Mapping[str, Rule] = {
    "TensorArrayV3": _MADE,
    "TensorArrayGradV3": _MADE,
    "TensorArrayReadV3": _reads("TensorArrayReadV3", "TensorArrayWriteV3", 3, ("dtype",)),
    "TensorArrayGatherV3": _reads(
        "TensorArrayGatherV3", "TensorArrayScatterV3", 3, ("dtype", "element_shape")
    ),
    "TensorArrayConcatV3": _reads(
        "TensorArrayConcatV3", "TensorArraySplitV3", 2, ("dtype", "element_shape_except0")
    ),
    "TensorArrayWriteV3": _writes("TensorArrayWriteV3", 2, _read),
    "TensorArrayScatterV3": _writes("TensorArrayScatterV3", 2, _gather),
    "TensorArraySplitV3": _writes("TensorArraySplitV3", 1, _concat),
    "TensorArraySizeV3": NotDifferentiable("depends on lengths only"),
    "TensorArrayCloseV3": NotDifferentiable("has no outputs"),
}
