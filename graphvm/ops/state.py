"""Assignments to variables, as functions."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import TensorLike, apply, output
from graphvm.graph.graph import Tensor

__all__ = ["assign", "assign_add", "assign_sub", "count_up_to", "is_variable_initialized"]


def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Gives a variable a new value.

    Args:
        ref: the variable.
        value: of its element type and shape.
        validate_shape: False lets a reference variable change its shape; True by default.
        use_locking: for reference variables, whether the assignment is atomic; it always is here.
        name: name of the operation.

    Returns:
        The variable after the assignment: what uses it runs after it.

    Raises:
        DTypeError: the element types differ.
        ShapeError: the shapes do not fit.

    Source: TF ops `Assign` and `AssignVariableOp`.
    """
    if _is_resource(ref):
        return ref.assign(value, name=name)
    attrs = {
        "validate_shape": True if validate_shape is None else validate_shape,
        "use_locking": True if use_locking is None else use_locking,
    }
    return _on_reference("Assign", ref, value, attrs, name)


def assign_add(
    ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Adds to a variable.

    Args:
        ref: the variable, numeric.
        value: of its element type and shape.
        use_locking: see `assign`.
        name: name of the operation.

    Returns:
        The variable after the addition: what uses it runs after it.

    Raises:
        DTypeError: the element types differ.
        ShapeError: the shapes do not fit.

    Source: TF ops `AssignAdd` and `AssignAddVariableOp`.
    """
    if _is_resource(ref):
        return ref.assign_add(value, name=name)
    return _on_reference("AssignAdd", ref, value, {"use_locking": bool(use_locking)}, name)


def assign_sub(
    ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtracts from a variable.

    Args:
        ref: the variable, numeric.
        value: of its element type and shape.
        use_locking: see `assign`.
        name: name of the operation.

    Returns:
        The variable after the subtraction: what uses it runs after it.

    Raises:
        DTypeError: the element types differ.
        ShapeError: the shapes do not fit.

    Source: TF ops `AssignSub` and `AssignSubVariableOp`.
    """
    if _is_resource(ref):
        return ref.assign_sub(value, name=name)
    return _on_reference("AssignSub", ref, value, {"use_locking": bool(use_locking)}, name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Adds one to a variable that is below a limit.

    Args:
        ref: the variable, a scalar of int32 or int64.
        limit: a Python integer.
        name: name of the operation.

    Returns:
        The variable as it was before. Where it has reached the limit, running it is an
        `OutOfRangeError`.

    Raises:
        DTypeError: the variable has another element type.
        ShapeError: it is no scalar.

    Source: TF ops `CountUpTo` and `ResourceCountUpTo`.
    """
    attrs: dict[str, Any] = {"limit": limit}
    if _is_resource(ref):
        attrs["T"] = ref.dtype.base
        return output("ResourceCountUpTo", (ref.handle,), attrs, name)
    tensor = reference_of(ref)
    with tensor.graph.colocate_with(tensor.op):
        return output("CountUpTo", (tensor,), attrs, name)


def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Whether a variable has a value.

    Args:
        ref: the variable.
        name: name of the operation.

    Returns:
        Scalar bool.

    Source: TF ops `IsVariableInitialized` and `VarIsInitializedOp`.
    """
    if _is_resource(ref):
        return output("VarIsInitializedOp", (ref.handle,), None, name)
    tensor = reference_of(ref)
    with tensor.graph.colocate_with(tensor.op):
        return output("IsVariableInitialized", (tensor,), {"dtype": tensor.dtype.base}, name)


def reference_of(ref: Any) -> Tensor:
    """The reference tensor of a variable; a tensor stands for itself."""
    found = getattr(ref, "reference", ref)
    if not isinstance(found, Tensor):
        raise TypeError(f"an assignment needs a variable, not {ref!r}")
    return found


def _is_resource(ref: Any) -> bool:
    return hasattr(ref, "handle")


def _on_reference(
    op: str, ref: Any, value: TensorLike, attrs: dict[str, Any], name: str | None
) -> Tensor:
    tensor = reference_of(ref)
    # the assignment runs where the variable is; a Python value may be made anywhere
    with tensor.graph.colocate_with(tensor.op):
        return apply(op, (tensor, value), attrs, name).outputs[0]
