"""Tensor and Operation: views of the nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from graphvm.graph.default_stack import SESSIONS
from graphvm.graph.source import user_source
from graphvm.graph.tensor_shape import TensorShape, as_plain_shape
from graphvm_runtime import shapes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import GraphError, OperatorNotAllowedInGraphError, ShapeError
from graphvm_runtime.ir.graph import Endpoint, Node, source_text
from graphvm_runtime.shapes import TensorType

if TYPE_CHECKING:
    from graphvm_runtime.protos.node_def_pb2 import NodeDef
    from graphvm_runtime.protos.op_def_pb2 import OpDef as OpDefProto


class Operators:
    """Python's operators, as type checkers see them; `graphvm.ops` installs them on subclasses."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...


class Tensor(Operators):
    """One output of an operation.

    Attributes:
        graph: the graph that it is in.
        endpoint: what names it in the IR.
        type: element type and static shape.

    Source: `tf.Tensor` in graph mode.
    """

    # The operation is looked up, not kept: graphs have many tensors, and the garbage collector
    # walks all that they hold.
    __slots__ = ("__weakref__", "_unplaced", "endpoint", "graph", "type")

    # NumPy leaves `array + tensor` to the tensor.
    __array_priority__: ClassVar[int] = 100

    def __init__(
        self, graph: Any, type_: TensorType, end: Endpoint, draft: Operation | None = None
    ) -> None:
        # a Graph of graphvm.graph.graph, which stands on this file
        self.graph: Any = graph
        self.type = type_
        self.endpoint = end
        self._unplaced = draft  # the operation where it is not in the graph

    @property
    def op(self) -> Operation:
        """The operation that makes it."""
        if self._unplaced is not None:
            return self._unplaced
        made: Operation = self.graph.operation_named(self.endpoint[0])
        return made

    @property
    def value_index(self) -> int:
        """Which output of the operation it is."""
        return self.endpoint[1]

    @property
    def name(self) -> str:
        """`node:index`."""
        return f"{self.endpoint.node}:{self.endpoint.index}"

    @property
    def dtype(self) -> DType:
        """Element type; a `_ref` type for the output of a ref variable."""
        return self.type.dtype

    @property
    def shape(self) -> TensorShape:
        """Static shape."""
        return TensorShape.of(self.type.shape)

    def get_shape(self) -> TensorShape:
        """Static shape."""
        return self.shape

    @property
    def device(self) -> str:
        """Device of the operation."""
        return self.op.device

    def set_shape(self, shape: Any) -> None:
        """Adds what is known of the static shape.

        Raises:
            ShapeError: it contradicts what is known already.
        """
        try:
            merged = shapes.merged(self.type.shape, as_plain_shape(shape))
        except ShapeError as error:
            error.located(self.op.node.signature(), source_text(self.op.node.source))
            raise
        if merged != self.type.shape:
            self.graph.refine(self, merged)

    def consumers(self) -> list[Operation]:
        """Operations that take it."""
        found: list[Operation] = self.graph.consumers(self.endpoint)
        return found

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Its value in `session`, or in the default one. Raises GraphError without a session."""
        return _session(session, self.graph).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    def __copy__(self) -> Tensor:
        return self

    def __bool__(self) -> bool:
        raise self._no_value(
            "its truth is not known while the graph is built: `if`, `while`, `and`, `or` and "
            "`not` of Python cannot use it",
            "use cond or while_loop, logical_and, logical_or or logical_not; "
            "`is not None` to ask whether it is there",
        )

    def __iter__(self) -> Iterator[Tensor]:
        raise self._no_value(
            "Python cannot iterate over it while the graph is built",
            "use while_loop or map_fn; unstack where its length is known",
        )

    def __len__(self) -> int:
        raise self._no_value(
            "its length is not known to Python", "use shape(x)[0], or x.shape[0] where it is known"
        )

    def __index__(self) -> int:
        raise self._no_value(
            "Python cannot use it as an integer while the graph is built",
            "use operations of the graph, or x.shape where a length is meant",
        )

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        raise self._no_value(
            "Python cannot use it as a number while the graph is built", "run it in a session"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._no_value(
            "NumPy cannot look into it while the graph is built",
            "use operations of the graph, or run it in a session",
        )

    def _no_value(self, what: str, do: str) -> OperatorNotAllowedInGraphError:
        return OperatorNotAllowedInGraphError(
            f"{self.name!r} is a tensor of a graph: {what}",
            node=self.op.node.signature(),
            made=source_text(user_source()),
            do=do,
        )


class Operation:
    """One node of a graph, with the tensors that it makes.

    Attributes:
        graph: the graph that it is in.
        node: what it is a view of, in the IR.

    Source: `tf.Operation`.
    """

    __slots__ = ("__weakref__", "_tensors", "graph", "node")

    def __init__(self, graph: Any, node: Node, first: Tensor | None = None) -> None:
        """A view of `node`; `first` stands for its first output already, in a graph."""
        self.graph = graph
        self.node = node
        self._tensors: tuple[Tensor, ...] | None = (first,) if first is not None else None

    def looked_at(self) -> Operation:
        """Itself, looked at before its node is in the graph."""
        outputs = enumerate(self.node.outputs)
        name = self.node.name
        self._tensors = tuple(Tensor(self.graph, t, Endpoint(name, i), self) for i, t in outputs)
        return self

    @property
    def outputs(self) -> list[Tensor]:
        """Tensors that it makes."""
        tensors = self._tensors
        if tensors is None:
            tensors = self.graph.outputs_of(self)
        return list(tensors)

    @property
    def name(self) -> str:
        """Its name, scopes included."""
        return self.node.name

    @property
    def type(self) -> str:
        """Name of the op."""
        return self.node.op.name

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Tensors that it takes, lists laid out flat."""
        find = self.graph.tensor_at
        return tuple(find(e) for e in self.node.inputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """Operations that must have run before."""
        return [self.graph.operation_named(n) for n in self.node.after]

    @property
    def device(self) -> str:
        """The device asked for, `/job:worker/task:1/device:CPU:0`; empty for any."""
        return str(self.node.device)

    @property
    def node_def(self) -> NodeDef:
        """The node as a message."""
        from graphvm_runtime.ir.graphdef.write import write_node

        return write_node(self.node)

    @property
    def op_def(self) -> OpDefProto:
        """The declaration of the op as a message."""
        from graphvm_runtime.ir.graphdef.write import write_op_def

        return write_op_def(self.node.op)

    @property
    def traceback(self) -> str:
        """The user's own line that made it, `model.py:42, in layer`."""
        return source_text(self.node.source)

    def get_attr(self, name: str) -> Any:
        """Value of an attribute, as TensorFlow gives it: shapes, tensors and functions as messages.

        Raises:
            GraphError: it has no such attribute.
        """
        from graphvm_runtime.ir.graphdef.write import face_of_attr

        if name not in self.node.attrs:
            raise GraphError(
                f"operation {self.name!r} has no attribute {name!r}", node=self.node.signature()
            )
        return face_of_attr(self.node.attrs[name])

    def colocation_groups(self) -> list[bytes]:
        """Groups of operations that it shares a device with, `loc:@name`; its own at least."""
        own = b"loc:@" + self.name.encode()
        given = self.node.attrs.get("_class", ())
        return [c for c in given if c.startswith(b"loc:@")] or [own]

    def values(self) -> tuple[Tensor, ...]:
        """Its outputs."""
        return tuple(self.outputs)

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Runs it in `session`, or in the default one. Raises GraphError without a session."""
        _session(session, self.graph).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


def _session(session: Any, graph: Any) -> Any:
    session = session or SESSIONS.top()
    if session is None:
        raise GraphError(
            "there is no default session", do="use `with Session():`, or pass session="
        )
    if session.graph is not graph:
        raise GraphError("the session runs another graph than the one that this belongs to")
    return session
