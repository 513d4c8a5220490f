"""Arguments that TensorFlow has two names for."""

from __future__ import annotations

from typing import Any


def either(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that may come under its old name.

    Raises:
        ValueError: it came under both.
    """
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"{name} and {old_name} are one argument: give only one of them")
    return old_value
