"""Python's operators on tensors, and on what acts as one; installed once on Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm.graph.conversion import apply
from graphvm.graph.graph import Tensor
from graphvm.ops import math
from graphvm.ops.array import subscript
from graphvm.ops.math.binary import is_text
from graphvm_runtime.errors import DTypeError, GraphvmError

__all__ = ["OPERATORS", "install"]

Binary = Callable[[Any, Any, str], Tensor]


def _op(op: str) -> Binary:
    def made(x: Any, y: Any, name: str) -> Tensor:
        return apply(op, (x, y), None, name).outputs[0]

    return made


def _logical(op: str, function: Callable[..., Tensor]) -> Binary:
    def made(x: Any, y: Any, name: str) -> Tensor:
        tensor = x if isinstance(x, Tensor) else y
        dtype = getattr(tensor, "dtype", None)
        if dtype is not None and not dtype.is_bool:
            raise DTypeError(
                f"{op} is for tensors of bool, not of {dtype.name}",
                node=tensor.op.node.signature() if isinstance(tensor, Tensor) else "",
            )
        return function(x, y, name)

    return made


def _plus(x: Any, y: Any, name: str) -> Tensor:
    tensor = x if isinstance(x, Tensor) else y
    op = "Add" if is_text(tensor) else "AddV2"
    return apply(op, (x, y), None, name).outputs[0]


# Python's name -> how it is made, and the name of the operation
_ARITHMETIC: dict[str, tuple[Binary, str]] = {
    "add": (_plus, "add"),
    "sub": (_op("Sub"), "sub"),
    "mul": (_op("Mul"), "mul"),
    "truediv": (math.truediv, "truediv"),
    "floordiv": (_op("FloorDiv"), "floordiv"),
    "mod": (_op("FloorMod"), "mod"),
    "pow": (_op("Pow"), "pow"),
    "matmul": (lambda x, y, name: math.matmul(x, y, name=name), "matmul"),
    "and": (_logical("&", math.logical_and), "and"),
    "or": (_logical("|", math.logical_or), "or"),
    "xor": (_logical("^", math.logical_xor), "xor"),
}
_COMPARISONS = {"lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}


def _forward(make: Binary, name: str, reflected: str) -> Callable[[Any, Any], Any]:
    def method(x: Any, y: Any) -> Any:
        try:
            return make(x, y, name)
        except (TypeError, ValueError) as error:
            # another type that knows what to do with a tensor may try
            own = getattr(type(y), reflected, None)
            if isinstance(y, Tensor) or own is None or not _foreign(own, error):
                raise
            return NotImplemented

    return method


def _foreign(method: Any, error: Exception) -> bool:
    module = getattr(method, "__module__", None)
    return not isinstance(error, GraphvmError) or (
        module is not None and not module.startswith(("graphvm", "numpy", "builtins"))
    )


def _reflected(make: Binary, name: str) -> Callable[[Any, Any], Any]:
    def method(y: Any, x: Any) -> Any:
        return make(x, y, name)

    return method


def _operators() -> dict[str, Callable[..., Any]]:
    out: dict[str, Callable[..., Any]] = {}
    for python, (make, name) in _ARITHMETIC.items():
        out[f"__{python}__"] = _forward(make, name, f"__r{python}__")
        out[f"__r{python}__"] = _reflected(make, name)
    for python, op in _COMPARISONS.items():
        swapped = python.translate(str.maketrans("lg", "gl"))
        out[f"__{python}__"] = _forward(_op(op), op, f"__{swapped}__")
    out["__neg__"] = lambda x: math.negative(x)
    out["__abs__"] = lambda x: math.abs(x)
    out["__invert__"] = lambda x: math.logical_not(x)
    out["__getitem__"] = lambda x, key: subscript(x, key)
    return out


OPERATORS = _operators()


def install(cls: type, through: Callable[[Any], Tensor] | None = None) -> None:
    """Gives a class Python's operators.

    Args:
        cls: Tensor, or a class whose objects convert to one.
        through: converts an object to the tensor that the operator acts on.
    """
    for method, function in OPERATORS.items():
        setattr(cls, method, function if through is None else _through(function, through))


def _through(function: Callable[..., Any], convert: Callable[[Any], Tensor]) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return function(convert(self), *others)

    return method


install(Tensor)
