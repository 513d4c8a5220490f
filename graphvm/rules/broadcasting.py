"""Undoing and redoing NumPy's broadcasting in derivatives."""

from __future__ import annotations

from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import integers, node, reshape, shape_of, total
from graphvm.rules.site import Site
from graphvm_runtime.shapes import Shape, is_known


def reduced_like(g: Tensor, site: Site, index: int, by_output: bool = True) -> Tensor:
    """A cotangent, summed to the shape of an input that was broadcast.

    Args:
        g: the cotangent, of the shape of the output.
        site: where the input is.
        index: which input.
        by_output: `g` has the shape of the output; otherwise only its own counts.
    """
    want = site.input_type(index).shape
    if is_known(want) and want == g.type.shape:
        return g
    if by_output and (
        (is_known(want) and want == site.output_type(0).shape) or _is_whole(site, index)
    ):
        return g
    have = g.type.shape
    if want is not None and have is not None and is_known(want) and is_known(have):
        return _static(g, want, have)
    shape = integers(want) if is_known(want) else node("Shape", (site.inputs[index],))
    axes = node("BroadcastGradientArgs", (shape, shape_of(g)))
    return reshape(total(g, axes), shape)


def _is_whole(site: Site, index: int) -> bool:
    """Whether an input has the output's shape because all others are scalars, or itself."""
    mine = site.node.inputs[index]
    return all(
        end == mine or site.input_type(i).shape == () for i, end in enumerate(site.node.inputs)
        if i != index
    )  # fmt: skip


def _static(g: Tensor, want: tuple[int | None, ...], have: tuple[int | None, ...]) -> Tensor:
    lead = len(have) - len(want)
    axes = [i for i, d in enumerate(have) if i < lead or (want[i - lead] == 1 and d != 1)]
    if axes:
        g = total(g, integers(axes))
    return g if g.type.shape == want else reshape(g, integers(want))


def broadcast_like(t: Tensor, site: Site, index: int = 0) -> Tensor:
    """A tangent in the full shape of an output."""
    want: Shape = site.output_type(index).shape
    if is_known(want):
        return t if t.type.shape == want else node("BroadcastTo", (t, integers(want)))
    if len(site.node.inputs) == 1:
        return t
    return node("BroadcastTo", (t, node("Shape", (site.outputs[index],))))
