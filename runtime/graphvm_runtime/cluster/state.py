"""Who decides what in a cluster, as pure machines: events in, actions out.

Nothing here waits, sends or reads a clock. `StepState` is a master's view of one step that
several tasks run, `TaskState` a task's view of all the steps that it takes part in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from graphvm_runtime.errors import CancelledError, GraphvmError, InternalError

REMEMBERED = 4096  # steps that have ended, of which late values may still come


class Phase(Enum):
    """Where a step is."""

    RUNNING = "running"
    STOPPING = "stopping"  # it has failed; those that still run were told to stop
    ENDED = "ended"


# ------------------------------------------------------------------------ events of a master


@dataclass(frozen=True, slots=True)
class Ended:
    """A task has run its share."""

    task: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A task's share raised, or the task is gone."""

    task: str
    error: GraphvmError


@dataclass(frozen=True, slots=True)
class Stopped:
    """The caller no longer wants the step: it took too long, Ctrl-C, the session was closed."""

    error: GraphvmError


@dataclass(frozen=True, slots=True)
class GraceOver:
    """Those that were told to stop have had their time."""


StepEvent: TypeAlias = Ended | Failed | Stopped | GraceOver

# ----------------------------------------------------------------------- actions of a master


@dataclass(frozen=True, slots=True)
class Cancel:
    """Tell a task to stop its share."""

    task: str
    error: GraphvmError


@dataclass(frozen=True, slots=True)
class AwaitGrace:
    """Send GraceOver after a while."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Tell the caller: all is done, or the error."""

    error: GraphvmError | None


StepAction: TypeAlias = Cancel | AwaitGrace | Finish


class StepState:
    """One step of a master.

    Every task either ends, fails, or is given up after a grace period: so the step always
    finishes, exactly once. The caller hears of the first error, but never of a cancellation
    where something else was the reason for it.

    Attributes:
        phase: where the step is.
        waiting: tasks of which nothing was heard yet.
        error: why the step fails, None as long as it does not.
        story: what happened so far.
    """

    def __init__(self, tasks: Iterable[str]) -> None:
        self.phase = Phase.RUNNING
        self.tasks = frozenset(tasks)
        self.waiting = set(self.tasks)
        self.error: GraphvmError | None = None
        self.story: list[StepEvent] = []

    def handle(self, event: StepEvent) -> list[StepAction]:
        """What to do about an event.

        Raises:
            InternalError: the event comes from a task that has no share; tells the story.
        """
        self.story.append(event)
        if self.phase is Phase.ENDED:
            return []
        match event:
            case Ended(task):
                self._heard(task)
                return self._finish_if_all_heard()
            case Failed(task, error):
                self._heard(task)
                return self._fail(error)
            case Stopped(error):
                return self._fail(error)
            case GraceOver():
                if self.phase is Phase.STOPPING:
                    return self._finish()
                return []

    def _heard(self, task: str) -> None:
        if task not in self.tasks:
            told = "; ".join(map(repr, self.story))
            raise InternalError(f"task {task!r} has no share in the step: {told}")
        self.waiting.discard(task)

    def _fail(self, error: GraphvmError) -> list[StepAction]:
        if self.error is None or (
            isinstance(self.error, CancelledError) and not isinstance(error, CancelledError)
        ):
            self.error = error
        if not self.waiting:
            return self._finish()
        if self.phase is Phase.STOPPING:
            return []
        self.phase = Phase.STOPPING
        return [*(Cancel(task, error) for task in sorted(self.waiting)), AwaitGrace()]

    def _finish_if_all_heard(self) -> list[StepAction]:
        return [] if self.waiting else self._finish()

    def _finish(self) -> list[StepAction]:
        self.phase = Phase.ENDED
        return [Finish(self.error)]


# ------------------------------------------------------------------------ a task's own steps


@dataclass(frozen=True, slots=True)
class ValueArrived:
    """A value came from a peer for a step."""

    step: int
    peer: Hashable


@dataclass(frozen=True, slots=True)
class StepStarted:
    """An owner wants a step run that exchanges values with these peers."""

    step: int
    owner: Hashable
    peers: frozenset[Hashable]


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step has run to its end, or failed."""

    step: int


@dataclass(frozen=True, slots=True)
class StepCancelled:
    """The owner wants a step stopped; perhaps it was never begun here."""

    step: int
    error: GraphvmError


@dataclass(frozen=True, slots=True)
class PeerLost:
    """Someone who owns steps or sends values to them cannot be reached any more."""

    who: Hashable
    error: GraphvmError


TaskEvent: TypeAlias = ValueArrived | StepStarted | StepFinished | StepCancelled | PeerLost


@dataclass(frozen=True, slots=True)
class Open:
    """Keep values for a step."""

    step: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop what runs of a step."""

    step: int
    error: GraphvmError


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop what is kept for a step."""

    step: int


TaskAction: TypeAlias = Open | Stop | Forget


@dataclass(slots=True)
class _Known:
    """A step that is open at a task."""

    owner: Hashable = None  # None until it has begun
    peers: Collection[Hashable] = field(default_factory=set)  # until it begins: who sent something


class TaskState:
    """The steps of one task.

    A step opens when the first value for it comes or when it begins, whichever is first. Once it
    is over nothing opens it again, so values that come late leave no trace.
    """

    def __init__(self) -> None:
        self.open: dict[int, _Known] = {}
        self._over: set[int] = set()
        self._order: deque[int] = deque()

    def handle(self, event: TaskEvent) -> list[TaskAction]:
        """What to do about an event."""
        match event:
            case ValueArrived(step, peer):
                known = self.open.get(step)
                if known is None:
                    if step in self._over:
                        return []
                    self.open[step] = _Known(peers={peer})
                    return [Open(step)]
                if known.owner is None and isinstance(known.peers, set):
                    known.peers.add(peer)
                return []
            case StepStarted(step, owner, peers):
                if step in self._over:
                    return [Stop(step, CancelledError("the step was cancelled before it began"))]
                fresh = step not in self.open
                self.open[step] = _Known(owner, peers)
                return [Open(step)] if fresh else []
            case StepFinished(step):
                return self._close(step)
            case StepCancelled(step, error):
                known = self.open.get(step)
                if known is None or known.owner is None:
                    return self._close(step)
                return [Stop(step, error)]
            case PeerLost(who, error):
                return self._without(who, error)

    def _without(self, who: Hashable, error: GraphvmError) -> list[TaskAction]:
        actions: list[TaskAction] = []
        for step, known in list(self.open.items()):
            if known.owner is None:
                if who in known.peers:
                    actions += self._close(step)
            elif known.owner == who or who in known.peers:
                actions.append(Stop(step, error))
        return actions

    def _close(self, step: int) -> list[TaskAction]:
        was_open = self.open.pop(step, None) is not None
        if step not in self._over:
            self._over.add(step)
            self._order.append(step)
            if len(self._order) > REMEMBERED:
                self._over.discard(self._order.popleft())
        return [Forget(step)] if was_open else []
