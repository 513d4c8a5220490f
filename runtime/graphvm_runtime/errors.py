"""Every exception of GraphVM, each with TensorFlow's status code.

GraphvmError                      anything that GraphVM raises itself
OpError                         tied to a node; TensorFlow's `tf.errors`
CancelledError             1
UnknownError               2
InvalidArgumentError       3  (also ValueError)
DeadlineExceededError      4  (also TimeoutError)
NotFoundError              5
AlreadyExistsError         6
PermissionDeniedError      7
ResourceExhaustedError     8
FailedPreconditionError    9
AbortedError              10
OutOfRangeError           11
UnimplementedError        12
InternalError             13
UnavailableError          14
DataLossError             15
UnauthenticatedError      16
ShapeError                   3  (also ValueError)   building, importing, feeding
DTypeError                   3  (also TypeError)    building, importing, feeding
GraphError                   3  (also ValueError)   malformed graphs and names
NameNotFoundError          5  (also KeyError)     the graph has nothing of that name
FinalizedError               9  (also RuntimeError) the graph is closed to additions
OperatorNotAllowedInGraphError 3 (also TypeError)   Python `if`, `while`, iteration on a tensor
RuleError                   12  (also LookupError)  no derivative rule
PassError                   13  a compiler pass failed; names the pass
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from graphvm_runtime.frames import user_level

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


def warned(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns, at the innermost line that is not GraphVM's."""
    warnings.warn(text, category, stacklevel=user_level())


def clipped(value: object, limit: int = 200) -> str:
    """The repr of a value on one line, cut at `limit` characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


class GraphvmError(Exception):
    """Anything that GraphVM raises itself.

    Args:
        what: what is wrong, in one line. TensorFlow's three arguments do as well: a node, an
            operation, and what is wrong.
        node: the node at fault as text, `name = Op(x: f32[3], ...)`.
        made: the user's own line that made the node, `model.py:42, in layer`.
        do: what to do about it.
        task: the task that ran the node, where that was another process.
    """

    error_code: ClassVar[int] = UNKNOWN

    def __init__(
        self,
        what: Any,
        *tensorflows: Any,
        node: str = "",
        made: str = "",
        do: str = "",
        task: str = "",
    ) -> None:
        if tensorflows:  # TensorFlow's arguments are (node_def, op, message)
            node_def, (op, what) = what, tensorflows
            node = node or getattr(op, "name", "") or getattr(node_def, "name", "")
        super().__init__(what)
        self.what = str(what)
        self.node = node
        self.made = made
        self.do = do
        self.task = task

    @property
    def code(self) -> int:
        """TensorFlow's status code of this class."""
        return self.error_code

    @property
    def message(self) -> str:
        """What is wrong, without the story around it."""
        return self.what

    def located(self, node: str, made: str = "", task: str = "") -> GraphvmError:
        """This error, tied to a node where it was not yet; the innermost place wins."""
        self.node = self.node or node
        self.made = self.made or made
        self.task = self.task or task
        return self

    def __str__(self) -> str:
        lines = [self.what]
        for label in ("node", "made", "task", "do"):
            value = getattr(self, label)
            if value:
                lines.append(f"  {label}  {value}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _rebuilt, (type(self), self.what, self.node, self.made, self.do, self.task)


def _rebuilt(
    cls: type[GraphvmError], what: str, node: str, made: str, do: str, task: str
) -> GraphvmError:
    return cls(what, node=node, made=made, do=do, task=task)


class OpError(GraphvmError):
    """An error of a running node.

    Attributes:
        op: the operation at fault, where it is in the session's graph; None otherwise.

    Source: `tf.errors.OpError`.
    """

    op: Any = None

    @property
    def node_def(self) -> Any:
        """The operation at fault as a NodeDef, None where there is none."""
        return None if self.op is None else self.op.node_def

    @property
    def node_name(self) -> str:
        """Name of the node at fault, empty where no node is."""
        return self.node.split(" = ", 1)[0]


class CancelledError(OpError):
    """The step or the operation was cancelled."""

    error_code = CANCELLED


class UnknownError(OpError):
    """An error of no known class."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An operation got a value, shape or type that it cannot take."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    """The step took longer than it was allowed."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, tensor, resource or function is not there."""

    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something of that name is there already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """Memory, a quota or a limit is used up."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the state that this needs, such as a variable not initialised."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """Stopped by another party, such as a worker that was restarted."""

    error_code = ABORTED


class OutOfRangeError(OpError):
    """Past the end: a closed queue that is empty, an iterator that ended."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """No kernel for this operation and these types."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """A fault of GraphVM itself."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """A task cannot be reached."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Data on disk or on the wire is corrupt or cut off."""

    error_code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller did not say who it is."""

    error_code = UNAUTHENTICATED


class ShapeError(GraphvmError, ValueError):
    """Shapes do not fit, found while building, importing or feeding."""

    error_code = INVALID_ARGUMENT


class DTypeError(GraphvmError, TypeError):
    """Element types do not fit, found while building, importing or feeding."""

    error_code = INVALID_ARGUMENT


class GraphError(GraphvmError, ValueError):
    """A graph, a name or an attribute is malformed."""

    error_code = INVALID_ARGUMENT


class NameNotFoundError(GraphError, KeyError):
    """The graph has no operation or tensor of that name."""

    error_code = NOT_FOUND

    __str__ = GraphvmError.__str__  # KeyError's would quote it


class FinalizedError(GraphvmError, RuntimeError):
    """The graph is finalized, and something was to be added to it."""

    error_code = FAILED_PRECONDITION


class OperatorNotAllowedInGraphError(GraphvmError, TypeError):
    """Python tried to look at the value of a symbolic tensor."""

    error_code = INVALID_ARGUMENT


class RuleError(GraphvmError, LookupError):
    """An operation on the path has no derivative rule."""

    error_code = UNIMPLEMENTED


class PassError(GraphvmError):
    """A compiler pass failed."""

    error_code = INTERNAL


_BY_CODE: dict[int, type[OpError]] = {cls.error_code: cls for cls in OpError.__subclasses__()}


def class_of_code(code: int) -> type[OpError]:
    """The OpError class of a status code; `UnknownError` for an unknown one."""
    return _BY_CODE.get(code, UnknownError)


def class_named(name: str) -> type[GraphvmError] | None:
    """The exception class of that name, for errors that crossed the wire."""
    found = globals().get(name)
    if isinstance(found, type) and issubclass(found, GraphvmError):
        return found
    return None
