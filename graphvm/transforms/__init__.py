"""Transformations of graphs: derivatives in both modes."""

from graphvm.transforms.custom import (
    NoGradient,
    NotDifferentiable,
    RegisterGradient,
    custom_gradient,
)
from graphvm.transforms.forward import jvp
from graphvm.transforms.reverse import AggregationMethod, UnconnectedGradients, gradients, vjp

__all__ = [
    "AggregationMethod",
    "NoGradient",
    "NotDifferentiable",
    "RegisterGradient",
    "UnconnectedGradients",
    "custom_gradient",
    "gradients",
    "jvp",
    "vjp",
]
