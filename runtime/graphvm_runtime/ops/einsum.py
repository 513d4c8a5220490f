"""Einstein sums: products of tensors whose axes have names, summed over what is not asked for."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import refused
from graphvm_runtime.shapes import Dim, Shape, broadcast, shape_text

MOST_INPUTS = 2


def terms(equation: str) -> tuple[list[str], str]:
    """The names of the axes of each input and of the output, with `.` for an ellipsis.

    Raises:
        ShapeError: it is no equation `ab...,bc->ac...`.
    """
    bare = equation.replace(" ", "")
    if bare.count("->") != 1:
        raise refused(f"the equation {equation!r} has no single '->'")
    left, right = bare.split("->")
    inputs = [term.replace("...", ".") for term in left.split(",")]
    output = right.replace("...", ".")
    for term in (*inputs, output):
        letters = term.replace(".", "")
        if term.count(".") > 1 or (letters and not (letters.isascii() and letters.isalpha())):
            raise refused(f"{term.replace('.', '...')!r} in {equation!r} names no axes")
    new = set(output) - set("".join(inputs)) - {"."}
    if new:
        raise refused(f"the axis {min(new)!r} of the output of {equation!r} is of no input")
    return inputs, output


def named_sizes(
    inputs: Sequence[str], output: str, shapes: Sequence[Shape]
) -> tuple[dict[str, Dim], Shape]:
    """Lengths of the named axes, and the shape that the ellipses broadcast to.

    Raises:
        ShapeError: ranks or lengths do not fit.
    """
    sizes: dict[str, Dim] = {}
    rest: Shape = ()
    for term, shape in zip(inputs, shapes, strict=True):
        names = term.replace(".", "")
        if shape is None:
            rest = None if "." in term else rest
            sizes.update({name: sizes.get(name) for name in names})
            continue
        extra = len(shape) - len(names)
        if extra < 0 or (extra and "." not in term):
            raise refused(f"{term.replace('.', '...')!r} for the shape {shape_text(shape)}")
        at = term.index(".") if "." in term else len(names)
        for name, size in zip(names, (*shape[:at], *shape[at + extra :]), strict=True):
            known = sizes.get(name)
            if known is not None and size is not None and known != size:
                raise refused(f"axis {name!r} has lengths {known} and {size}")
            sizes[name] = size if known is None else known
        if rest is not None:
            try:
                rest = broadcast(rest, shape[at : at + extra])
            except ShapeError as error:
                raise refused(error.what) from None
    if rest and "." not in output:
        raise refused(f"the axes {shape_text(rest)} of '...' are not in the output")
    return sizes, rest


def _einsum(ctx: ShapeContext) -> Sequence[Shape]:
    equation: bytes = ctx.attrs["equation"]
    inputs, output = terms(equation.decode("utf-8", "replace"))
    if len(inputs) != len(ctx.shapes) or len(inputs) > MOST_INPUTS:
        raise refused(
            f"{equation.decode(errors='replace')!r} for {len(ctx.shapes)} inputs; it takes 1 or 2",
        )
    sizes, rest = named_sizes(inputs, output, ctx.shapes)
    out: list[Dim] = []
    for name in output:
        if name != ".":
            out.append(sizes[name])
        elif rest is None:
            return (None,)
        else:
            out.extend(rest)
    return (tuple(out),)


define("Einsum", shape=_einsum, doc="products summed over the axes that the output does not name")
