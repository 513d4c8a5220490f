"""Rectifiers with a slope, a limit or an exponential below zero; softened ones."""

from __future__ import annotations

from graphvm_runtime.dtypes import FLOATS, REALS, float32
from graphvm_runtime.ops.registry import define, real, types
from graphvm_runtime.ops.shape_functions import SAME_SHAPES, agreeing, unchanged

_FLOAT = types(*FLOATS)
_BACK = "-> backprops: T"
_LEAKY = {"alpha": real(float.fromhex("0x1.99999ap-3")), "T": types(*FLOATS, default=float32)}
define("LeakyRelu", "features: T -> activations: T", _LEAKY, shape=unchanged)
define("LeakyReluGrad", f"gradients: T, features: T {_BACK}", _LEAKY, shape=agreeing,
       constraints=[SAME_SHAPES])  # fmt: skip
define("Relu6", "features: T -> activations: T", {"T": types(*REALS)}, shape=unchanged)
define("Relu6Grad", f"gradients: T, features: T {_BACK}", {"T": types(*REALS)}, shape=agreeing,
       constraints=[SAME_SHAPES])  # fmt: skip
for _name in ("Elu", "Selu"):
    define(_name, "features: T -> activations: T", {"T": _FLOAT}, shape=unchanged)
    define(f"{_name}Grad", f"gradients: T, outputs: T {_BACK}", {"T": _FLOAT}, shape=agreeing,
           constraints=[SAME_SHAPES])  # fmt: skip
for _name in ("Softplus", "Softsign"):
    define(_name, "features: T -> activations: T", {"T": _FLOAT}, shape=unchanged)
    define(f"{_name}Grad", f"gradients: T, features: T {_BACK}", {"T": _FLOAT}, shape=agreeing,
           constraints=[SAME_SHAPES])  # fmt: skip
