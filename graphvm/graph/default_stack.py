"""Defaults that `with` blocks set, innermost last: default graphs, default sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from graphvm_runtime.errors import GraphError

T = TypeVar("T")


class DefaultStack(threading.local, Generic[T]):
    """A stack of defaults; each thread has its own."""

    def __init__(self) -> None:
        self.items: list[T] = []

    def top(self) -> T | None:
        """The innermost default, None without one."""
        return self.items[-1] if self.items else None

    @contextmanager
    def holding(self, item: T, enforce_nesting: bool = True) -> Iterator[T]:
        """Makes `item` the default inside the block.

        Raises:
            GraphError: blocks were left in another order than they nest.
        """
        self.items.append(item)
        try:
            yield item
        finally:
            if self.items and self.items[-1] is item:
                self.items.pop()
            elif enforce_nesting:
                raise GraphError("default scopes must be left in the order in which they nest")
            elif item in self.items:
                self.items.reverse()
                self.items.remove(item)
                self.items.reverse()


SESSIONS: DefaultStack[Any] = DefaultStack()
