"""Base of the values behind handles and variants."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from graphvm_runtime.errors import InvalidArgumentError


class HandleValue:
    """A value that a register holds as it is: a resource, or the value of a variant."""

    __slots__ = ()

    kind: ClassVar[str]  # for messages

    @classmethod
    def of(cls, value: Any) -> Self:
        """The value, which has to be of this kind.

        Raises:
            InvalidArgumentError: it is of another.
        """
        if not isinstance(value, cls):
            raise InvalidArgumentError(f"the value is not {cls.kind} but {value!r}")
        return value


class Variant(HandleValue):
    """The value of a variant, to shapes a scalar."""

    __slots__ = ()

    shape: tuple[int, ...] = ()
    ndim = 0
