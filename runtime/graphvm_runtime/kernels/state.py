"""Kernels of variables, as resources; references become resources before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.shapes import TensorType, is_compatible, is_known, shape_text
from graphvm_runtime.values.resources import ResourceManager, Step, Variable


def resource_name(node: Node) -> tuple[str, str]:
    """Container and name of the resource that a node stands for.

    Both are bytes in the graph; those that are no UTF-8 are spelled out, so that they can be shown.
    """
    name = node.attrs["shared_name"] or node.name.encode()
    container: bytes = node.attrs["container"]
    return container.decode(errors="backslashreplace"), name.decode(errors="backslashreplace")


@kernel("VarHandleOp", "_Reference")
def _handle(node: Node) -> Kernel:
    container, name = resource_name(node)
    type_ = TensorType(node.attrs["dtype"].base, node.attrs["shape"])
    is_reference = node.op.name == "_Reference"

    def make() -> Variable:
        return Variable(name, type_, is_reference)

    last: tuple[ResourceManager | None, int, Variable | None] = (None, 0, None)

    def call(step: Step) -> Variable:
        nonlocal last
        manager = step.resources
        owner, generation, variable = last
        if owner is manager and generation == manager.generation and variable is not None:
            return variable
        generation = manager.generation
        variable = manager.find_or_make(Variable, container, name, make)
        last = (manager, generation, variable)
        return variable

    return Kernel(call, step=True)


@kernel("ReadVariableOp")
def _read(node: Node) -> Kernel:
    return Kernel(Variable.read, borrowed=True, expression="{0}.read()")


# values that are read are never written to, so there is no copying to turn off
plain("DisableCopyOnRead", Variable.of)


def kept(value: Any) -> Any:
    """The array as a variable keeps it: one that it may write, and no part of a greater one."""
    if not value.ndim:
        return value
    whole = value.base is None or getattr(value.base, "nbytes", 0) <= value.nbytes
    return value if whole and value.flags.c_contiguous and value.flags.writeable else value.copy()


@kernel("AssignVariableOp")
def _assign(node: Node) -> Kernel:
    validate = node.attrs["validate_shape"]

    def call(variable: Variable, value: Array) -> None:
        if validate and not is_compatible(variable.type.shape, value.shape):
            raise InvalidArgumentError(
                f"a value of shape {list(value.shape)} for variable {variable.name!r} of shape "
                f"{shape_text(variable.type.shape)}"
            )
        variable.assign(kept(value))

    return Kernel(call, keeps=(1,))


plain("AssignAddVariableOp", lambda variable, value: variable.update(np.add, value))
plain("AssignSubVariableOp", lambda variable, value: variable.update(np.subtract, value))
plain("VarIsInitializedOp", lambda variable: np.bool_(variable.value is not None))


@kernel("_TemporaryVariable")
def _temporary(node: Node) -> Callable[..., Any]:
    dtype, shape = node.attrs["dtype"].base, node.attrs["shape"]
    if not is_known(shape):
        raise InvalidArgumentError(
            f"the shape of a temporary variable must be known whole, got {shape_text(shape)}"
        )
    name = _temporary_name(node.attrs["var_name"] or node.name.encode())

    def call() -> Variable:
        variable = Variable(name, TensorType(dtype, shape), is_reference=True)
        variable.assign(np.zeros(shape, dtype.numpy))  # in TensorFlow, whatever is there
        return variable

    return call


@kernel("_DestroyTemporaryVariable")
def _destroy_temporary(node: Node) -> Kernel:
    name = _temporary_name(node.attrs["var_name"])

    def call(variable: Any) -> Array:
        if Variable.of(variable).name != name:
            raise NotFoundError(
                f"the name of a temporary variable must be {variable.name!r}, got {name!r}"
            )
        found: Array = variable.read()
        return found

    return Kernel(call, borrowed=True)


def _temporary_name(name: bytes) -> str:
    return name.decode(errors="backslashreplace")


@kernel("DestroyResourceOp")
def _destroy(node: Node) -> Kernel:
    ignores: bool = node.attrs["ignore_lookup_error"]

    def call(step: Step, held: Any) -> None:
        # to TensorFlow a variable is not there before it is initialised
        is_there = not isinstance(held, Variable) or held.value is not None
        if not (step.resources.forget(held) and is_there) and not ignores:
            raise NotFoundError(f"a resource must be there to be destroyed, got {held!r}")

    return Kernel(call, step=True)


@kernel("VariableShape")
def _variable_shape(node: Node) -> Callable[..., Any]:
    to = node.attrs["out_type"].numpy
    return lambda variable: np.array(variable.read().shape, to)


@kernel("ResourceCountUpTo")
def _count_up_to(node: Node) -> Callable[..., Any]:
    limit, dtype = node.attrs["limit"], node.attrs["T"].numpy

    def call(variable: Variable) -> Any:
        with variable.lock:
            value = variable.value
            if value is None:
                raise variable.uninitialised(updated=True)
            if value.ndim:
                raise InvalidArgumentError(f"the counter {variable.name!r} is no scalar")
            if value >= limit:
                raise OutOfRangeError(f"{variable.name!r} has reached the limit of {limit}")
            before = dtype.type(value)
            variable.value = before + dtype.type(1)
            return before

    return call
