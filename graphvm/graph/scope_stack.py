"""The stacks of one graph that `with` blocks act on: names, devices, control edges.

Each thread has its own stacks, so scopes that one thread opens never touch the nodes of another.
"""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from typing import Any, Generic, TypeAlias, TypeVar

from graphvm_runtime.device_spec import ANY, DeviceSpec, parsed
from graphvm_runtime.errors import GraphError, clipped

T = TypeVar("T")

DeviceFunction: TypeAlias = Callable[[Any], "str | DeviceSpec | None"]
_AT_ROOT = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*").fullmatch
_IN_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*").fullmatch

# None ends the search: entries further out do not count.
DeviceEntry: TypeAlias = "DeviceSpec | DeviceFunction | None"


class UniqueNames:
    """Names of a graph as TensorFlow hands them out: `x`, `x_1`, `x_2`, whatever their case."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        # lower-case name -> the suffix to try next. Names are never given back, so the search
        # for a free suffix goes on where it last stopped, and is flat.
        self._next: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._next

    def __len__(self) -> int:
        return len(self._next)

    def take(self, name: str) -> str:
        """`name`, with a suffix if it is taken; takes it."""
        used = self._next
        key = name.lower()
        suffix = used.get(key)
        if suffix is None:
            used[key] = 1
            return name
        numbered = f"{key}_{suffix}"
        while numbered in used:
            suffix += 1
            numbered = f"{key}_{suffix}"
        used[numbered] = 1
        used[key] = suffix + 1
        return f"{name}_{suffix}"

    def next(self, name: str) -> str:
        """The name that `take` would give."""
        key = name.lower()
        suffix = self._next.get(key)
        if suffix is None:
            return name
        while f"{key}_{suffix}" in self._next:
            suffix += 1
        return f"{name}_{suffix}"

    def mark(self, name: str) -> None:
        """Takes `name` as it is."""
        self._next.setdefault(name.lower(), 1)

    def mark_all(self, names: Iterable[str]) -> None:
        """Takes many names as they are."""
        used = self._next
        for name in names:
            used.setdefault(name.lower(), 1)


class Controls:
    """One `control_dependencies` block.

    Attributes:
        names: the nodes that must have run before.
        fresh: whether blocks further out do not count.
        seen: nodes made inside; what takes one of their outputs already waits.
    """

    __slots__ = ("fresh", "names", "seen")

    def __init__(self, names: Iterable[str], fresh: bool) -> None:
        self.names = tuple(names)
        self.fresh = fresh
        self.seen: set[str] = set()


class Scopes:
    """The stacks of one thread in one graph, innermost last."""

    __slots__ = ("colocation", "container", "controls", "devices", "name", "overrides")

    def __init__(self) -> None:
        self.name = ""
        self.devices: list[DeviceEntry] = []
        self.controls: list[Controls] = []
        self.colocation: list[Any] = []
        self.container = ""
        self.overrides: dict[str, str] = {}  # gradient to ask for, by name of op

    def within(self, name: str) -> str:
        """`name` under the name scope."""
        return f"{self.name}/{name}" if self.name else name

    def active_controls(self) -> list[Controls]:
        """Blocks that count, outermost first."""
        for at in range(len(self.controls) - 1, -1, -1):
            if self.controls[at].fresh:
                return self.controls[at:]
        return self.controls

    def control_names(self, inputs: set[str]) -> list[str]:
        """Control inputs that a node with these inputs still needs."""
        out: dict[str, None] = {}
        for block in self.active_controls():
            # An input made inside the block came after its nodes already.
            if block.seen.isdisjoint(inputs):
                out.update(dict.fromkeys(n for n in block.names if n not in inputs))
        return list(out)

    def saw(self, name: str) -> None:
        """Notes a new node for every block around it."""
        for block in self.active_controls():
            block.seen.add(name)


class ThreadScopes(threading.local):
    """One `Scopes` a thread."""

    def __init__(self) -> None:
        self.now = Scopes()


def device_entry(device: object) -> DeviceEntry:
    """What `device(...)` puts on the stack. Raises GraphError for no device name."""
    if device is None or isinstance(device, DeviceSpec):
        return device
    if isinstance(device, str):
        return parsed(device)
    if callable(device):
        return device
    raise GraphError(f"{device!r} is no device: a name, a function or None")


def as_device(value: object) -> DeviceSpec:
    """A device given as text, as a spec or as None."""
    if value is None:
        return ANY
    if isinstance(value, DeviceSpec):
        return value
    if isinstance(value, str):
        return parsed(value)
    raise GraphError(f"{value!r} is no device name")


class Stack(threading.local, Generic[T]):
    """A stack of defaults, one a thread: default graphs, default sessions."""

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


SESSIONS: Stack[Any] = Stack()


def check_name(name: Any, at_root: bool, what: str) -> None:
    """Raises TypeError where a name is no text, GraphError where it is no name of `what`."""
    if not isinstance(name, str):
        raise TypeError(f"a name is text, not {clipped(name)}")
    if name.isalnum() and name.isascii():
        return  # most of them, and fast
    if not name or not (_AT_ROOT if at_root else _IN_SCOPE)(name):
        raise GraphError(
            f"{name!r} is no name of {what}",
            do="use letters, digits and _ . / > -, the first of them a letter or digit",
        )


class _NameScope(ContextDecorator):
    """One `name_scope` block; a class because every second function of the API opens one."""

    def __init__(self, graph: Scoped, name: str | None) -> None:
        self._graph = graph
        self._name: Any = name
        self._around: list[tuple[Scopes, str]] = []  # one for each time that it is entered

    def _recreate_cm(self) -> _NameScope:
        return _NameScope(self._graph, self._name)  # each call of what it decorates has its own

    def __enter__(self) -> str:
        name, scopes = self._name, self._graph._local.now
        if not name:
            scope = ""
        elif isinstance(name, str) and name.endswith("/"):
            check_name(name, not scopes.name, "a scope")
            scope = name[:-1]
        else:
            scope = self._graph._new_scope(name, scopes)
        self._around.append((scopes, scopes.name))
        scopes.name = scope
        return scope + "/" if scope else ""

    def __exit__(self, *error: object) -> None:
        scopes = self._graph._local.now
        # the innermost of this thread's: others may be inside the same block
        at = max(i for i, (entered, _) in enumerate(self._around) if entered is scopes)
        scopes.name = self._around.pop(at)[1]


class Scoped(ABC):
    """The part of a graph that `with` statements act on.

    Source: `tf.Graph.name_scope`, `device`, `control_dependencies`, `colocate_with`, `container`.
    """

    _lock: threading.RLock  # keeps the threads that add to it apart

    def __init__(self) -> None:
        self._names = UniqueNames()
        self._local = ThreadScopes()

    @abstractmethod
    def _control_names(self, items: Iterable[Any]) -> list[str]:
        """Names of the nodes that control inputs stand for."""

    @abstractmethod
    def _colocation_target(self, op: Any) -> Any:
        """The operation that something stands for."""

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the scope, with a suffix if it is taken.

        Args:
            name: what to start from; scopes differ only by more than case.
            mark_as_used: False only asks.
        """
        full = self._local.now.within(name)
        with self._lock:
            return self._names.take(full) if mark_as_used else self._names.next(full)

    def _new_scope(self, name: str, scopes: Scopes) -> str:
        """The final name of a scope; takes it. Raises GraphError where it is no name."""
        check_name(name, not scopes.name, "a scope")
        with self._lock:
            return self._names.take(scopes.within(name))

    def get_name_scope(self) -> str:
        """The scope around, without the slash at its end."""
        return self._local.now.name

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Puts names made inside under `name/`.

        Args:
            name: made unique; ending in `/` it is an earlier scope, entered again; None or empty
                leads back to the root.

        Returns:
            A context manager that gives the scope with its slash, empty at the root.

        Raises:
            GraphError: it is no name.
        """
        return _NameScope(self, name)

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Asks for a device for the nodes made inside.

        Args:
            device_name_or_function: a partial name (blocks further in win, part by part), a
                function from an operation to a name, or None: blocks further out do not count.
        """
        scopes = self._local.now
        scopes.devices = [*scopes.devices, device_entry(device_name_or_function)]
        try:
            yield
        finally:
            scopes.devices = scopes.devices[:-1]

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Makes the nodes made inside run after `control_inputs`.

        Args:
            control_inputs: operations or tensors; None: blocks further out do not count.
        """
        scopes = self._local.now
        names = () if control_inputs is None else self._control_names(control_inputs)
        scopes.controls = [*scopes.controls, Controls(names, control_inputs is None)]
        try:
            yield
        finally:
            scopes.controls = scopes.controls[:-1]

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Puts the nodes made inside on the device of `op`; `device` blocks around do not count.

        Args:
            op: an operation or tensor; None only with `ignore_existing`.
            ignore_existing: `colocate_with` blocks around do not count either.

        Raises:
            GraphError: there is no `op`.
        """
        if op is None and not ignore_existing:
            raise GraphError("colocate_with needs an operation, or ignore_existing=True")
        scopes = self._local.now
        before = scopes.devices, scopes.colocation
        scopes.devices = []
        around = [] if ignore_existing else scopes.colocation
        scopes.colocation = around if op is None else [*around, self._colocation_target(op)]
        try:
            yield
        finally:
            scopes.devices, scopes.colocation = before

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Puts the resources of stateful nodes made inside into a named container."""
        scopes = self._local.now
        before, scopes.container = scopes.container, container_name
        try:
            yield container_name
        finally:
            scopes.container = before

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Makes the nodes made inside ask for registered gradients instead of their ops' own.

        Args:
            op_type_map: names given to `RegisterGradient`, by name of op.
        """
        scopes = self._local.now
        before, scopes.overrides = scopes.overrides, {**scopes.overrides, **op_type_map}
        try:
            yield
        finally:
            scopes.overrides = before
