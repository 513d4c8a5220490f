"""What the values of variants have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from graphvm_runtime.errors import InvalidArgumentError


class Held:
    """A value of a variant: a register holds it as it is, and to shapes it is a scalar."""

    __slots__ = ()

    kind: ClassVar[str] = "a variant"  # for messages
    shape: tuple[int, ...] = ()
    ndim = 0

    @classmethod
    def of(cls, value: Any) -> Self:
        """The value of a variant, which has to be of this kind.

        Raises:
            InvalidArgumentError: it is of another.
        """
        if not isinstance(value, cls):
            raise InvalidArgumentError(f"the variant is not {cls.kind} but {value!r}")
        return value
