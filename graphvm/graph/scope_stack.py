"""What `with` blocks ask of the nodes made inside: names, devices, control edges.

Scopes belong to a thread: those that one thread opens never touch the nodes of another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from typing import Any, TypeAlias

from graphvm_runtime.device_spec import ANY, DeviceSpec, parsed
from graphvm_runtime.errors import GraphError, clipped
from graphvm_runtime.ir.names import legal_in_scope, legal_name

DeviceFunction: TypeAlias = Callable[[Any], "str | DeviceSpec | None"]

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
    """What the `with` blocks of one thread ask of one graph, innermost last."""

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


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.scopes = Scopes()


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


def check_name(name: Any, at_root: bool, what: str) -> None:
    """Raises TypeError where a name is no text, GraphError where it is no name of `what`."""
    if not isinstance(name, str):
        raise TypeError(f"a name is text, not {clipped(name)}")
    if name.isalnum() and name.isascii():
        return  # most of them, and fast
    if not name or not (legal_name if at_root else legal_in_scope)(name):
        raise GraphError(
            f"{name!r} is no name of {what}",
            do="use letters, digits and _ . / > -, the first of them a letter or digit",
        )


class _NameScope(ContextDecorator):
    """One `name_scope` block; a class because every second function of the API opens one."""

    def __init__(self, stack: ScopeStack, name: str | None) -> None:
        self._stack = stack
        self._name: Any = name
        self._around: list[tuple[Scopes, str]] = []  # one for each time that it is entered

    def _recreate_cm(self) -> _NameScope:
        return _NameScope(self._stack, self._name)  # each call of what it decorates has its own

    def __enter__(self) -> str:
        name, scopes = self._name, self._stack.current
        if not name:
            scope = ""
        elif isinstance(name, str) and name.endswith("/"):
            check_name(name, not scopes.name, "a scope")
            scope = name[:-1]
        else:
            scope = self._stack.new_scope(name)
        self._around.append((scopes, scopes.name))
        scopes.name = scope
        return scope + "/" if scope else ""

    def __exit__(self, *error: object) -> None:
        scopes = self._stack.current
        # the innermost of this thread's: others may be inside the same block
        at = max(i for i, (entered, _) in enumerate(self._around) if entered is scopes)
        scopes.name = self._around.pop(at)[1]


class ScopeStack:
    """The scopes of one graph, and the names that are taken in it.

    Args:
        lock: keeps the threads that add to the graph apart.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._names = UniqueNames()
        self._threads = _PerThread()

    @property
    def current(self) -> Scopes:
        """The scopes of this thread."""
        return self._threads.scopes

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the scope, with a suffix if it is taken; see `Graph.unique_name`."""
        full = self.current.within(name)
        with self._lock:
            return self._names.take(full) if mark_as_used else self._names.next(full)

    def reserve(self, name: str) -> str:
        """The final name of an operation; ending in `/` it is taken as it is.

        Raises:
            GraphError: it is no name of an operation.
            TypeError: it is not text.
        """
        scopes = self.current
        is_final = str(name).endswith("/")  # what is not text is refused below
        if is_final:
            name = name[:-1]
        check_name(name, not (scopes.name or is_final), "an operation")
        with self._lock:
            if not is_final:
                return self._names.take(scopes.within(name))
            self._names.mark(name)
        return name

    def reserve_inside(self, name: str) -> str:
        """A full name, with a suffix if it is taken; takes it."""
        with self._lock:
            return self._names.take(name)

    def mark_all(self, names: Iterable[str]) -> None:
        """Takes many full names as they are."""
        with self._lock:
            self._names.mark_all(names)

    def new_scope(self, name: str) -> str:
        """The final name of a scope; takes it. Raises GraphError where it is no name."""
        scopes = self.current
        check_name(name, not scopes.name, "a scope")
        with self._lock:
            return self._names.take(scopes.within(name))

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """See `Graph.name_scope`."""
        return _NameScope(self, name)

    @contextmanager
    def device(self, entry: DeviceEntry) -> Iterator[None]:
        """A device for the nodes made inside; see `Graph.device`."""
        scopes = self.current
        scopes.devices = [*scopes.devices, entry]
        try:
            yield
        finally:
            scopes.devices = scopes.devices[:-1]

    @contextmanager
    def control_dependencies(self, names: Iterable[str] | None) -> Iterator[None]:
        """The nodes made inside run after those of these names; None forgets blocks around."""
        scopes = self.current
        scopes.controls = [*scopes.controls, Controls(names or (), names is None)]
        try:
            yield
        finally:
            scopes.controls = scopes.controls[:-1]

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool) -> Iterator[None]:
        """Colocates the nodes made inside with `op`, if any; see `Graph.colocate_with`."""
        scopes = self.current
        before = scopes.devices, scopes.colocation
        scopes.devices = []
        around = [] if ignore_existing else scopes.colocation
        scopes.colocation = around if op is None else [*around, op]
        try:
            yield
        finally:
            scopes.devices, scopes.colocation = before

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """See `Graph.container`."""
        scopes = self.current
        before, scopes.container = scopes.container, container_name
        try:
            yield container_name
        finally:
            scopes.container = before

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """See `Graph.gradient_override_map`."""
        scopes = self.current
        before, scopes.overrides = scopes.overrides, {**scopes.overrides, **op_type_map}
        try:
            yield
        finally:
            scopes.overrides = before

    @contextmanager
    def at_root(self) -> Iterator[None]:
        """Nodes made inside are in no name scope, on no device, and wait for nothing."""
        scopes = self.current
        before = scopes.name, scopes.controls, scopes.devices, scopes.colocation
        scopes.name, scopes.controls, scopes.devices, scopes.colocation = "", [], [], []
        try:
            yield
        finally:
            scopes.name, scopes.controls, scopes.devices, scopes.colocation = before

    @contextmanager
    def inheriting(self, outer: Scopes) -> Iterator[None]:
        """Devices, colocation and gradients asked for are those of another graph's scopes."""
        scopes = self.current
        before = scopes.devices, scopes.colocation, scopes.overrides
        scopes.devices = list(outer.devices)
        scopes.colocation = list(outer.colocation)
        scopes.overrides = outer.overrides
        try:
            yield
        finally:
            scopes.devices, scopes.colocation, scopes.overrides = before
