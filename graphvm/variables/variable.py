"""Variables: state of a session that a graph reads and writes.

A variable is a resource (a handle, and operations that read and write behind it) unless
`use_resource=False` asks for a reference, TensorFlow 1's older kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from weakref import WeakKeyDictionary

from graphvm.graph.behavior import resource_variables_enabled
from graphvm.graph.collections import GraphKeys
from graphvm.graph.conversion import (
    TensorLike,
    apply,
    convert_to_tensor,
    output,
    register_tensor_conversion_function,
)
from graphvm.graph.default_stack import SESSIONS
from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm.graph.scopes import init_scope
from graphvm.graph.source import user_line
from graphvm.graph.tensor import Operators
from graphvm.graph.tensor_shape import TensorShape, as_plain_shape
from graphvm.ops import overloads, state
from graphvm.ops.control_flow import cond
from graphvm.variables.initial_values import guarded
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import GraphError, ShapeError, clipped

if TYPE_CHECKING:
    from graphvm_runtime.protos.variable_pb2 import VariableDef

__all__ = ["RefVariable", "Variable"]


class Variable(Operators):
    """State of a session that a graph reads and writes.

    Args:
        initial_value: what the initializer assigns: a tensor, a Python value, or a function that
            makes one. Inside a body (of `cond`, `while_loop`) it must be no tensor of the body.
        trainable: whether optimizers change it; True by default.
        collections: names of the collections that it joins; GLOBAL_VARIABLES by default.
        validate_shape: of a reference variable: whether its shape is that of the initial value,
            for ever. The static shape of others is that of the initial value, known or not.
        caching_device: device, or function from an operation to one, of the reads.
        name: of the variable, made unique; `Variable` by default.
        variable_def: a VariableDef message: find the nodes of a variable that the graph has
            already.
        dtype: element type; follows from the initial value otherwise.
        expected_shape: not looked at.
        import_scope: name scope under which the nodes of `variable_def` are.
        constraint: a function that optimizers apply to the variable after an update.
        use_resource: False for a reference variable.
        shape: static shape, where that of the initial value says too much or too little.

    Raises:
        DTypeError: the initial value does not have the type.
        GraphError: neither an initial value nor a message is given, or a variable that is made
            inside a body has an initial value of the body.
        ShapeError: `shape` does not fit the initial value, or that of a reference variable is
            not known whole and `validate_shape` is set.

    Source: `tf.compat.v1.Variable`.
    """

    # NumPy leaves `array + variable` to the variable.
    __array_priority__: ClassVar[int] = 100

    _graph: Graph
    _handle: Tensor  # of the resource, or the reference
    _dtype: DType
    _initial_value: Tensor | None
    _initializer: Operation
    _read: Tensor  # a read of the variable that is fetched for it
    _trainable: bool
    _constraint: Callable[[Any], Any] | None
    _caching_device: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Variable:
        """The kind of variable that is asked for."""
        if cls is not Variable:
            return object.__new__(cls)
        wanted = kwargs.get("use_resource")
        message = kwargs.get("variable_def")
        if message is not None:
            wanted = message.is_resource
        elif wanted is None:
            wanted = resource_variables_enabled()
        return object.__new__(Variable if wanted else RefVariable)

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike] = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: VariableDef | None = None,
        dtype: object = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        shape: Any = None,
    ) -> None:
        del expected_shape, use_resource
        if constraint is not None and not callable(constraint):
            raise GraphError(
                f"constraint must be callable, got {clipped(constraint)}", made=user_line()
            )
        self._constraint = constraint
        self._caching_device = caching_device
        if variable_def is not None:
            if initial_value is not None:
                raise GraphError("a variable has an initial value or a message, not both")
            self._found(variable_def, import_scope)
            return
        if initial_value is None:
            raise GraphError(
                "a variable needs an initial value",
                made=user_line(),
                do="give a value, a tensor, or a function that makes one",
            )
        graph = getattr(initial_value, "graph", None)
        if isinstance(graph, Graph) and graph.building_function:
            raise GraphError(
                "the initial value of a variable that is made inside a body cannot be a tensor of "
                "the body: variables are made outside of it, once",
                made=user_line(),
                do="give a function that makes the initial value",
            )
        self._trainable = True if trainable is None else trainable
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        with init_scope():
            self._graph = get_default_graph()
            with self._graph.name_scope(name or "Variable") as scope:
                self._make(
                    initial_value,
                    scope,
                    None if dtype is None else as_dtype(dtype).base,
                    validate_shape,
                    TensorShape(shape) if shape is not None else None,
                )
            self._graph.add_to_collections(keys, self)

    def _make(
        self,
        initial_value: Any,
        scope: str,
        dtype: DType | None,
        validate_shape: bool,
        shape: TensorShape | None,
    ) -> None:
        graph = self._graph
        with graph.name_scope("Initializer"):
            made = initial_value() if callable(initial_value) else initial_value
            initial = guarded(convert_to_tensor(made, dtype, "initial_value"))
        self._initial_value = initial
        self._dtype = initial.dtype.base
        attrs = {
            "dtype": self._dtype,
            "shape": self._static_shape(initial, validate_shape, shape),
            "shared_name": scope[:-1].encode(),
        }
        self._handle = graph.add_node("VarHandleOp", (), attrs, scope).outputs[0]
        with graph.name_scope("IsInitialized"):
            output("VarIsInitializedOp", (self._handle,))
        kind = {"dtype": self._dtype}
        self._initializer = graph.add_node(
            "AssignVariableOp", (self._handle, initial), kind, "Assign"
        )
        with graph.name_scope("Read"), self._cached():
            self._read = output("ReadVariableOp", (self._handle,), kind)

    def _cached(self) -> AbstractContextManager[None]:
        """Where reads are, by `caching_device`."""
        where = self._caching_device
        return nullcontext() if where is None else get_default_graph().device(where)

    def _static_shape(
        self, initial: Tensor, validate: bool, given: TensorShape | None
    ) -> tuple[int | None, ...] | None:
        if given is not None:
            if not given.is_compatible_with(initial.shape):
                raise ShapeError(f"an initial value of shape {initial.shape}, not {given}")
            return as_plain_shape(given)
        if not isinstance(self, RefVariable):
            return initial.type.shape
        if not validate:
            return None
        if not initial.shape.is_fully_defined():
            raise ShapeError(
                f"the initial value {initial.name!r} has the shape {initial.shape}, which is not "
                "known whole",
                made=user_line(),
                do="set its shape, or pass validate_shape=False",
            )
        return initial.type.shape

    def _found(self, message: VariableDef, import_scope: str | None) -> None:
        graph = self._graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

        self._handle = element(message.variable_name)
        self._initializer = element(message.initializer_name)
        self._initial_value = (
            element(message.initial_value_name) if message.initial_value_name else None
        )
        self._trainable = message.trainable
        held = graph.handle_of(self._handle)
        self._dtype = self._handle.dtype if held is None else held.dtype
        if message.snapshot_name:
            self._read = element(message.snapshot_name)
        else:
            self._read = output("ReadVariableOp", (self._handle,), {"dtype": self._dtype})

    # -- what it is ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of its handle, `w:0`."""
        return self._handle.name

    @property
    def handle(self) -> Tensor:
        """The resource."""
        return self._handle

    @property
    def op(self) -> Operation:
        """The operation that makes its handle."""
        return self._handle.op

    @property
    def graph(self) -> Graph:
        """The graph that it is in."""
        return self._graph

    @property
    def device(self) -> str:
        """The device that it is on; empty for any."""
        return self._handle.device

    @property
    def dtype(self) -> DType:
        """Element type; a `_ref` type for a reference variable."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """Static shape."""
        held = self._graph.handle_of(self._handle)
        return self._read.shape if held is None else TensorShape.of(held.shape)

    def get_shape(self) -> TensorShape:
        """Static shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Adds what is known of the static shape. Raises ShapeError where it contradicts."""
        self._read.set_shape(shape)

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """What optimizers apply to it after an update."""
        return self._constraint

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its initial value."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor | None:
        """The tensor that the initializer assigns."""
        return self._initial_value

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __iter__(self) -> NoReturn:
        """Raises TypeError: Python cannot iterate over a variable."""
        raise TypeError("Python cannot iterate over a variable while the graph is built")

    def __bool__(self) -> bool:
        return bool(self.value())

    # -- its value -------------------------------------------------------------------------

    def value(self) -> Tensor:
        """A new read of it, in the current scope."""
        with self._cached():
            return output("ReadVariableOp", (self._handle,), {"dtype": self._dtype})

    def read_value(self) -> Tensor:
        """A new operation that reads it, where control edges put it."""
        with get_default_graph().name_scope("Read"):
            read = self.value()
        return output("Identity", (read,))

    def initialized_value(self) -> Tensor:
        """Its value, or its initial value where it has none yet.

        Source: `tf.compat.v1.Variable.initialized_value`.
        """
        with init_scope():
            return cond(  # type: ignore[no-any-return]  # branches give one tensor
                state.is_variable_initialized(self), self.read_value, lambda: self._initial_value
            )

    def eval(self, session: Any = None) -> Any:
        """Its value in `session`, or in the default one."""
        return self._read.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Gives it a value without a new node.

        Args:
            value: a number or an array.
            session: the default one otherwise.

        Raises:
            GraphError: there is no session.
        """
        session = session or SESSIONS.top()
        if session is None:
            raise GraphError("there is no session", do="use `with Session():`, or pass session=")
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Gives it a new value.

        Args:
            value: of its element type and shape.
            use_locking: not looked at: assignments are atomic.
            name: name of the operation.
            read_value: False: give the operation instead.

        Returns:
            The variable after the assignment.

        Raises:
            DTypeError: the element types differ.
            ShapeError: the shapes do not fit.
        """
        return self._change("Assign", value, name, read_value)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds to it; see `assign`."""
        return self._change("AssignAdd", delta, name, read_value)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from it; see `assign`."""
        return self._change("AssignSub", delta, name, read_value)

    def _change(self, op: str, value: TensorLike, name: str | None, read_value: bool) -> Any:
        tensor = convert_to_tensor(value, self._dtype)
        attrs: dict[str, Any] = {"dtype": self._dtype}
        if op == "Assign":
            attrs["validate_shape"] = True
        made = apply(f"{op}VariableOp", (self._handle, tensor), attrs, name)
        return UnreadVariable(self, made) if read_value else made

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether it has a value, as a scalar bool."""
        return state.is_variable_initialized(self, name)

    def _as_graph_element(self) -> Tensor:
        """What is fetched, fed and waited for in its place."""
        return self._read

    def _control_element(self) -> Operation:
        """What is waited for in its place; not a read, which would need a value."""
        return self.op

    # -- messages --------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """The message that finds it again in an imported graph.

        Args:
            export_scope: a name scope that is left off its names; None is given for a variable
                outside of it.
        """
        from graphvm_runtime.protos.variable_pb2 import VariableDef

        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None

        def short(name: str) -> str:
            return name.removeprefix(prefix)

        message = VariableDef(
            variable_name=short(self.name),
            initializer_name=short(self._initializer.name),
            snapshot_name=short(self._read.name),
            trainable=self._trainable,
            is_resource=not isinstance(self, RefVariable),
        )
        if self._initial_value is not None:
            message.initial_value_name = short(self._initial_value.name)
        return message

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """The variable that a message finds in the default graph.

        Raises:
            NameNotFoundError: the graph does not have its nodes.
        """
        return Variable(variable_def=variable_def, import_scope=import_scope)


class UnreadVariable(Variable):
    """A variable after an assignment: what reads it runs after that."""

    def __init__(self, variable: Variable, after: Operation) -> None:
        self.__dict__.update(variable.__dict__)
        self._after = after
        self._read = self.value()

    @property
    def op(self) -> Operation:
        """The assignment."""
        return self._after

    def value(self) -> Tensor:
        """A read that runs after the assignment."""
        with get_default_graph().control_dependencies([self._after]):
            return super().value()

    def read_value(self) -> Tensor:
        """A new operation that reads it after the assignment."""
        with get_default_graph().control_dependencies([self._after]):
            return super().read_value()

    def _change(self, op: str, value: TensorLike, name: str | None, read_value: bool) -> Any:
        with get_default_graph().control_dependencies([self._after]):
            return super()._change(op, value, name, read_value)


class RefVariable(Variable):
    """A variable that operations take by reference, TensorFlow 1's older kind; see `Variable`."""

    def _make(
        self,
        initial_value: Any,
        scope: str,
        dtype: DType | None,
        validate_shape: bool,
        shape: TensorShape | None,
    ) -> None:
        graph = self._graph
        if callable(initial_value):
            with graph.name_scope("Initializer"):
                made = convert_to_tensor(initial_value(), dtype, "initial_value")
        else:
            made = convert_to_tensor(initial_value, dtype, "initial_value")
        initial = self._initial_value = guarded(made)
        static = self._static_shape(initial, validate_shape, shape)
        attrs = {"dtype": initial.dtype.base, "shape": static}
        self._handle = graph.add_node("VariableV2", (), attrs, scope).outputs[0]
        self._dtype = self._handle.dtype
        checked = {"validate_shape": validate_shape}
        with graph.colocate_with(self._handle.op):
            self._initializer = graph.add_node("Assign", (self._handle, initial), checked, "Assign")
            # a device of reads wins over that of the variable
            alone = self._caching_device is not None
            anew = graph.colocate_with(None, True) if alone else nullcontext()
            with anew, self._cached():
                self._read = graph.add_node("Identity", (self._handle,), {}, "read").outputs[0]

    @property
    def handle(self) -> Tensor:
        """Raises AttributeError: a reference has no handle."""
        raise AttributeError("a reference variable has no handle")

    @property
    def reference(self) -> Tensor:
        """The reference that assignments take.

        A reference cannot enter a body; inside one a node of its own stands for the variable,
        found by the variable's name.
        """
        graph = get_default_graph()
        if graph is self._graph or graph.outermost is not self._graph:
            return self._handle
        bodies: WeakKeyDictionary[Graph, Tensor] = self.__dict__.setdefault(
            "_in_bodies", WeakKeyDictionary()
        )
        found = bodies.get(graph)
        if found is None:
            outer = self._handle.op.node
            attrs = dict(outer.attrs)
            attrs["shared_name"] = outer.attrs["shared_name"] or outer.name.encode()
            with graph.name_scope(None), graph.control_dependencies(None):
                found = graph.add_node("VariableV2", (), attrs, outer.name).outputs[0]
            bodies[graph] = found
        return found

    def value(self) -> Tensor:
        """The operation that reads it, one for all uses."""
        return self._read

    def read_value(self) -> Tensor:
        """A new operation that reads it, where control edges put it."""
        return output("Identity", (self.reference,), None, "read")

    def _change(self, op: str, value: TensorLike, name: str | None, read_value: bool) -> Any:
        functions: dict[str, Callable[..., Tensor]] = {
            "Assign": state.assign,
            "AssignAdd": state.assign_add,
            "AssignSub": state.assign_sub,
        }
        made = functions[op](self.reference, value, name=name)
        return made if read_value else made.op

    def _as_graph_element(self) -> Tensor:
        return self._handle


def _variable_to_tensor(
    value: Variable, dtype: DType | None, name: str | None, as_ref: bool
) -> Any:
    return value.reference if as_ref and isinstance(value, RefVariable) else value.value()


register_tensor_conversion_function(Variable, _variable_to_tensor)
# what users see is __init__, not the choice of a kind
Variable.__signature__ = inspect.signature(Variable.__init__)  # type: ignore[attr-defined]
overloads.install(Variable, lambda variable: variable.value())
