"""What computes an op: the table of NumPy kernels.

A kernel is *made* once for a node, when its program is compiled, so attributes are read once and
the call itself costs no more than the NumPy function.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphError, UnimplementedError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.ops.registry import OpDef, known, lookup

# What a register holds: an ndarray or a NumPy scalar, a resource object, a tensor list.
Register: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel made for one node.

    Attributes:
        call: `call(*inputs)`, or `call(step, *inputs)` where `step` is set. One output is
            returned bare, several as a sequence, none as anything. It never changes its inputs.
        step: takes the `Step` first (resources, random streams, cancellation).
        aliases: inputs whose memory an output may share (views, pass-through). An output that
            shares memory with anything else, such as a variable, is declared `borrowed`.
        borrowed: an output may share memory with something that outlives the step.
        keeps: inputs that are kept beyond the step or handed on (assign, enqueue, push); the
            program copies what it does not own before it gives it away.
        lends: inputs that are read until the step ends; like `keeps`, but what no instruction
            ever writes to (the value of a variable, a feed, a constant) is not copied.
        expression: Python expression that does the same, `{0} + {1}`; emitted in its place.
        out: `call(*inputs, out=array)` writes output 0 in place; the array has its exact
            shape and type.
        inplace: with `out`, the array may be one of the inputs.
        start: for blocking ops: `start(step, done, *inputs)` begins the work without waiting and
            calls `done(outputs, error)` once, perhaps at once, perhaps from another thread.
            `call` waits.
        calls: function attributes; `call` gets their programs first, as a tuple of
            `run(step, *inputs)`, each of which gives the results as a sequence.
    """

    call: Callable[..., Any]
    step: bool = False
    aliases: tuple[int, ...] = ()
    borrowed: bool = False
    keeps: tuple[int, ...] = ()
    lends: tuple[int, ...] = ()
    expression: str = ""
    out: bool = False
    inplace: bool = False
    start: Callable[..., None] | None = None
    calls: tuple[str, ...] = ()

    def bound(self, node: Node, program_for: Callable[[str], Callable[..., Any]]) -> Kernel:
        """The kernel with the programs that it calls, found by the names of their functions."""
        if not self.calls:
            return self
        programs = tuple(program_for(node.attrs[name].name) for name in self.calls)
        return replace(self, call=partial(self.call, programs), calls=())


Maker: TypeAlias = Callable[[Node], Kernel | Callable[..., Any]]

_MAKERS: dict[str, Maker] = {}
_PACKAGE = "graphvm_runtime.kernels"


def kernel(*ops: str) -> Callable[[Maker], Maker]:
    """Registers a maker, `maker(node) -> Kernel or plain function`, for one or more ops.

    Raises:
        GraphError: an op is not declared or has a kernel already.
    """

    def register(maker: Maker) -> Maker:
        for op in ops:
            lookup(op)
            if op in _MAKERS:
                raise GraphError(f"op {op!r} has a kernel already")
            _MAKERS[op] = maker
        return maker

    return register


def made(node: Node) -> Kernel:
    """The kernel of a node.

    Raises:
        UnimplementedError: there is none for its op.
    """
    maker = _MAKERS.get(node.op.name) or _loaded(node.op)
    if maker is None:
        raise UnimplementedError(
            f"no kernel for {node.op.name}",
            node=node.signature(),
            do="register one with graphvm_runtime.register",
        )
    result = maker(node)
    return result if isinstance(result, Kernel) else Kernel(result)


def has_kernel(op: str) -> bool:
    """Whether the op has a kernel."""
    return op in _MAKERS or (known(op) and _loaded(lookup(op)) is not None)


def load_all() -> None:
    """Loads all kernels, which are otherwise loaded by families when they are first needed."""
    package = import_module(_PACKAGE)
    for found in pkgutil.walk_packages(package.__path__, _PACKAGE + "."):
        import_module(found.name)


def _loaded(op: OpDef) -> Maker | None:
    """The maker for an op whose family was not loaded yet, None where it has none."""
    if op.family:
        name = f"{_PACKAGE}.{op.family}"
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # a family may have no kernels, but one that has must load
                raise
    return _MAKERS.get(op.name)


def ufunc(op: str, function: Callable[..., Any], expression: str = "") -> None:
    """Registers an element-wise NumPy function of one output as the kernel of an op."""
    found = Kernel(function, expression=expression, out=True, inplace=True)
    kernel(op)(lambda node: found)


def plain(op: str, function: Callable[..., Any], aliases: Sequence[int] = ()) -> None:
    """Registers a function that needs no attributes as the kernel of an op."""
    found = Kernel(function, aliases=tuple(aliases))
    kernel(op)(lambda node: found)


__all__ = [
    "Array",
    "Kernel",
    "Register",
    "has_kernel",
    "kernel",
    "load_all",
    "made",
    "plain",
    "ufunc",
]
