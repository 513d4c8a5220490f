"""Ops that apply gradients to variables: on references and on handles, dense and sparse.

An op's inputs say which it is: variables come first, a gradient is `grad` or `delta`, its rows go
to `indices`, all else is a rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import resource
from graphvm_runtime.ops.registry import STATEFUL, ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, refused, with_rank
from graphvm_runtime.shapes import Shape, shape_text

GRADIENTS = ("grad", "delta")


def _applied(ctx: ShapeContext) -> Sequence[Shape]:
    inputs = ctx.op.inputs
    held: Shape = None
    gradient: Shape = None
    rows: int | None = None
    is_sparse = False
    for i, arg in enumerate(inputs):
        if arg.is_ref:
            held = agreed((held, ctx.shapes[i]))
        elif arg.dtype is resource:
            known = ctx.handle(i)
            held = agreed((held, None if known is None else known.shape))
        elif arg.name in GRADIENTS:
            gradient = ctx.shapes[i]
        elif arg.name == "indices":
            (rows,) = with_rank(ctx, i, 1)
            is_sparse = True
        else:
            with_rank(ctx, i, 0)
    if not is_sparse:
        held = agreed((held, gradient))
    elif held == ():
        raise refused(f"a variable must have rows to be updated by, got {shape_text(held)}")
    elif held is not None:
        agreed(((rows, *held[1:]), gradient))
    return (held,) if inputs[0].is_ref else ()


_DENSE = (
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "AdagradDA",
    "AdagradV2",
    "Adam",
    "AddSign",
    "CenteredRMSProp",
    "Ftrl",
    "FtrlV2",
    "GradientDescent",
    "Momentum",
    "PowerSign",
    "ProximalAdagrad",
    "ProximalGradientDescent",
    "RMSProp",
)
_WITHOUT_SPARSE = ("AdaMax", "Adam", "AddSign", "GradientDescent", "PowerSign")
for _name in _DENSE:
    for _form in ("Apply",) if _name in _WITHOUT_SPARSE else ("Apply", "SparseApply"):
        define(f"{_form}{_name}", f"Resource{_form}{_name}", shape=_applied, effects=STATEFUL)
