"""Rectifiers with a slope, a limit or an exponential below zero; softened ones."""

from __future__ import annotations

from graphvm_runtime.ops.registry import define
from graphvm_runtime.ops.shape_functions import agreeing, unchanged

define("LeakyRelu", shape=unchanged)
define("LeakyReluGrad", shape=agreeing)
define("Relu6", shape=unchanged)
define("Relu6Grad", shape=agreeing)
for _name in ("Elu", "Selu"):
    define(_name, shape=unchanged)
    define(f"{_name}Grad", shape=agreeing)
for _name in ("Softplus", "Softsign"):
    define(_name, shape=unchanged)
    define(f"{_name}Grad", shape=agreeing)
