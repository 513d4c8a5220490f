"""Graph, Operation and Tensor: the builder of programs.

A graph is an append-only list of frozen nodes (`graphvm_runtime.ir.graph.Node`); Operation and
Tensor, of `graphvm.graph.tensor`, are views of it. Its parts: `builder` makes nodes,
`node_table` finds them, `scope_stack` holds what `with` blocks put around them, `function_library`
the functions, `collections` the collections.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from graphvm.graph.builder import NodeBuilder, element_types
from graphvm.graph.collections import CollectionStore
from graphvm.graph.default_stack import DefaultStack
from graphvm.graph.function_library import FunctionLibrary
from graphvm.graph.node_table import NodeTable, wrong_graph_error
from graphvm.graph.scope_stack import ScopeStack, device_entry
from graphvm.graph.source import user_source
from graphvm.graph.tensor import Operation, Tensor
from graphvm_runtime import shapes
from graphvm_runtime.dtypes import Array, DType, as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, clipped
from graphvm_runtime.ir import graph as ir
from graphvm_runtime.ir.graph import PRODUCER, Endpoint, Function, Node
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ops.registry import OpDef, lookup
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import TensorType

if TYPE_CHECKING:
    from graphvm_runtime.protos.graph_pb2 import GraphDef
    from graphvm_runtime.protos.versions_pb2 import VersionDef

__all__ = [
    "Graph", "Operation", "Tensor", "get_default_graph", "reset_default_graph", "user_source",
]  # fmt: skip


class Graph(CollectionStore):
    """An append-only graph of operations; safe to build from several threads.

    Attributes:
        outer: the graph around, where this is the body of a function.
        functions: the functions that it carries.

    Source: `tf.Graph`.
    """

    outer: Graph | None = None

    def __init__(self) -> None:
        super().__init__()
        self._table = NodeTable(self)
        self._scopes = ScopeStack(self._table.lock)
        self._builder = NodeBuilder(self, self._table, self._scopes)
        self.functions = FunctionLibrary()
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._producer = PRODUCER
        self._min_consumer = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._table)} operations>"

    def __str__(self) -> str:
        from graphvm_runtime.ir.text import print_graph

        return print_graph(self.ir(), limit=16)

    def __contains__(self, name: str) -> bool:
        """Whether it has an operation of that name."""
        return name in self._table

    # -- making nodes ----------------------------------------------------------------------

    def add_node(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None = None,
        name: str | None = None,
        control_inputs: Iterable[Any] = (),
    ) -> Operation:
        """Makes a node.

        Args:
            op: the op, or its name.
            inputs: one item for each declared input: a tensor, or a sequence for a list.
            attrs: attributes in the runtime's form, where they do not follow from the inputs.
            name: of the node, made unique; ending in `/` it is taken as it is.
            control_inputs: operations or tensors that must have run before, besides those of the
                `control_dependencies` blocks around.

        Raises:
            ShapeError: the shapes of the inputs do not fit.
            DTypeError: their types do not fit.
            GraphError: an attribute or the name does not, or an input is of another graph.
            FinalizedError: the graph is closed.
        """
        return self._table.operation_at(self._builder.add(op, inputs, attrs, name, control_inputs))

    def add_tensor(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Makes a node as `add_node` does, and gives its first output."""
        return self._table.first_output_at(self._builder.add(op, inputs, attrs, name))

    def add_constant(self, array: Array, dtype: DType, name: str | None = None) -> Tensor:
        """Makes a `Const` as `add_node` does, without working out what its array says.

        Args:
            array: its value, of `dtype`; it becomes read-only.
            dtype: the element type.
            name: of the node, made unique; ending in `/` it is taken as it is.

        Raises:
            GraphError: the name is none, or taken.
            FinalizedError: the graph is closed.
        """
        return self._builder.add_constant(array, dtype, name)

    def add_with_constants(
        self,
        op: OpDef,
        inputs: Sequence[Tensor | tuple[Array, DType]],
        attrs: Attrs,
        name: str,
    ) -> Tensor:
        """Makes a node as `add_tensor` does, and constants for those of its inputs that are arrays.

        Args:
            op: the op; none of its inputs is a list.
            inputs: tensors, and arrays with their element types; these become read-only.
            attrs: attributes in the runtime's form, where they do not follow from the inputs.
            name: of the node, made unique; the constants lie in a scope of that name.

        Raises:
            ShapeError, DTypeError, GraphError, FinalizedError: see `add_node`.
        """
        return self._builder.add_with_constants(op, inputs, attrs, name)

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Makes a node, as TensorFlow names this.

        Args:
            op_type: name of the op.
            inputs: its inputs, lists laid out flat.
            dtypes: types of the outputs; checked where given.
            input_types: not looked at: they follow from the inputs.
            name: of the node.
            attrs: attributes as AttrValue messages; all that do not follow from the inputs must
                be given where a list is among them.
            op_def: not looked at.
            compute_shapes: not looked at.
            compute_device: not looked at.

        Raises:
            GraphError: see `add_node`; also when an output has another type than asked for.
        """
        from graphvm_runtime.ir.graphdef.node_reader import read_attrs

        del input_types, op_def, compute_shapes, compute_device
        declared = lookup(op_type)
        given = read_attrs(declared, attrs or {})
        groups: list[Any] = []
        at = 0
        for arg in declared.inputs:
            if not arg.is_list:
                groups.extend(inputs[at : at + 1])
                at += 1
                continue
            key = arg.list_attr or arg.number_attr
            if key not in given:
                raise GraphError(f"{op_type} needs the attribute {key!r} to be made this way")
            count = len(given[key]) if arg.list_attr else given[key]
            groups.append(list(inputs[at : at + count]))
            at += count
        if at != len(inputs):
            raise GraphError(f"{op_type} takes {at} inputs, got {len(inputs)}")
        if dtypes is not None:
            made = declared.output_dtypes(declared.completed(element_types(groups), given))
            if [as_dtype(d).base for d in dtypes] != [d.base for d in made]:
                raise DTypeError(f"{op_type} gives {[d.name for d in made]}, not {dtypes}")
        return self.add_node(declared, groups, given, name)

    def append(self, nodes: Iterable[Node]) -> None:
        """Takes ready-made nodes, whose names are new, in topological order: all or none.

        Raises:
            GraphError: a name is taken.
            FinalizedError: the graph is closed.
        """
        self._builder.append(nodes)

    def place(self, nodes: Iterable[Node]) -> None:
        """Gives nodes that were appended what the blocks around ask for.

        Devices, by functions that may look at their inputs, and control inputs. A colocated node
        gets the device of the node that it is colocated with.
        """
        self._builder.place(nodes)

    def refine(self, tensor: Tensor, shape: shapes.Shape) -> None:
        """Gives a tensor a more precise static shape, for all that is made from now on."""
        self._builder.refine(tensor, shape)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Keeps other threads from adding to it, for what must be added as one."""
        with self._table.lock:
            yield

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor, or what stands in this graph for one of a graph around.

        Raises:
            GraphError: it is of another graph.
            TypeError: it is no tensor.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"an input of an operation must be a tensor, not {clipped(tensor)}")
        if tensor.graph is not self:
            raise wrong_graph_error(tensor)
        return tensor

    def control_input(self, item: Any) -> Operation | None:
        """The operation of this graph that a control input stands for; None where it has none.

        Raises:
            GraphError, TypeError: see `as_graph_element`.
        """
        element = self._table.element(_control_element(item))
        return element.op if isinstance(element, Tensor) else element

    def control_names(self, items: Iterable[Any]) -> list[str]:
        """Names of the nodes that control inputs stand for. Raises as `control_input` does."""
        names: dict[str, None] = {}
        for item in [items] if isinstance(items, (Tensor, Operation)) else items:
            operation = self.control_input(item)
            if operation is not None:
                names[operation.name] = None
        return list(names)

    # -- scopes ----------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the scope, with a suffix if it is taken.

        Args:
            name: what to start from; scopes differ only by more than case.
            mark_as_used: False only asks.
        """
        return self._scopes.unique_name(name, mark_as_used)

    def reserve_names(self, names: Iterable[str]) -> None:
        """Takes full names as they are, so that no node made later has them."""
        self._scopes.mark_all(names)

    def get_name_scope(self) -> str:
        """The scope around, without the slash at its end."""
        return self._scopes.current.name

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
        return self._scopes.name_scope(name)

    def device(self, device_name_or_function: Any) -> AbstractContextManager[None]:
        """Asks for a device for the nodes made inside.

        Args:
            device_name_or_function: a partial name (blocks further in win, part by part), a
                function from an operation to a name, or None: blocks further out do not count.
        """
        return self._scopes.device(device_entry(device_name_or_function))

    def control_dependencies(
        self, control_inputs: Iterable[Any] | None
    ) -> AbstractContextManager[None]:
        """Makes the nodes made inside run after `control_inputs`.

        Args:
            control_inputs: operations or tensors; None: blocks further out do not count.
        """
        names = None if control_inputs is None else self.control_names(control_inputs)
        return self._scopes.control_dependencies(names)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
        """Puts the nodes made inside on the device of `op`; `device` blocks around do not count.

        Args:
            op: an operation or tensor; None only with `ignore_existing`.
            ignore_existing: `colocate_with` blocks around do not count either.

        Raises:
            GraphError: there is no `op`.
        """
        if op is None and not ignore_existing:
            raise GraphError("colocate_with needs an operation, or ignore_existing=True")
        if op is not None:
            element = self._table.element(_control_element(op))
            op = element.op if isinstance(element, Tensor) else element
        return self._scopes.colocate_with(op, ignore_existing)

    def container(self, container_name: str) -> AbstractContextManager[str]:
        """Puts the resources of stateful nodes made inside into a named container."""
        return self._scopes.container(container_name)

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> AbstractContextManager[None]:
        """Makes the nodes made inside ask for registered gradients instead of their ops' own.

        Args:
            op_type_map: names given to `RegisterGradient`, by name of op.
        """
        return self._scopes.gradient_override_map(op_type_map)

    # -- functions and seeds ---------------------------------------------------------------

    @property
    def library(self) -> dict[str, Function]:
        """The functions that it carries, by name."""
        return self.functions.by_name

    @property
    def seed(self) -> int | None:
        """The seed of the graph, None without one; its bodies share it."""
        return self.functions.seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self.functions.seed = value

    # -- finding what it holds -------------------------------------------------------------

    def node(self, name: str) -> Node:
        """The node of that name. Raises NameNotFoundError."""
        return self._table.node(name)

    def outputs_of(self, op: Operation) -> tuple[Tensor, ...]:
        """The outputs of one of its operations."""
        return self._table.outputs_of(op)

    def get_operations(self) -> list[Operation]:
        """All operations in the order in which they were made."""
        return self._table.operations()

    def operation_of(self, node: Node) -> Operation:
        """The operation of one of its nodes."""
        return self._table.operation_named(node.name)

    def operation_named(self, name: str) -> Operation:
        """The operation of a name that is known to be there."""
        return self._table.operation_named(name)

    def tensor_at(self, end: Endpoint) -> Tensor:
        """The tensor that an endpoint of the IR names."""
        return self._table.tensor_at(end)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            NameNotFoundError: there is none; also a KeyError.
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"an operation's name is text, not {clipped(name)}")
        return self.as_graph_element(name, allow_tensor=False)  # type: ignore[no-any-return]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor called `node:index`.

        Raises:
            NameNotFoundError: there is none; also a KeyError.
            GraphError: the name is an operation's.
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"a tensor's name is text, not {clipped(name)}")
        return self.as_graph_element(name, allow_operation=False)  # type: ignore[no-any-return]

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The tensor or operation that `obj` names or stands for.

        Raises:
            NameNotFoundError: the graph has nothing of that name; also a KeyError.
            GraphError: it is in another graph, or the name is not of the form that is allowed.
            TypeError: it is nothing of the kind.
        """
        return self._table.element(obj, allow_tensor, allow_operation)

    @property
    def version(self) -> int:
        """Number of nodes made so far."""
        return len(self._table)

    @property
    def outermost(self) -> Graph:
        """The graph in which the bodies around this one lie; itself outside of bodies."""
        return self

    @property
    def building_function(self) -> bool:
        """Whether it is the body of a function."""
        return False

    @property
    def graph_def_versions(self) -> VersionDef:
        """TensorFlow's version numbers that a file of it carries."""
        from graphvm_runtime.protos.versions_pb2 import VersionDef

        return VersionDef(producer=self._producer, min_consumer=self._min_consumer)

    def ir(self) -> ir.Graph:
        """What it holds now, frozen."""
        with self._table.lock:
            nodes = tuple(self._table.nodes)
            return ir.Graph(nodes, dict(self.library), self._producer, self._min_consumer)

    def nodes_since(self, version: int) -> list[Node]:
        """Nodes made since it had that version."""
        with self._table.lock:
            return self._table.nodes[version:]

    @property
    def resolution(self) -> Resolution:
        """What is known of the values and handles of its tensors."""
        return self._builder.resolution

    def handle_of(self, tensor: Tensor) -> TensorType | None:
        """Type of what a resource or list holds, None when it is not known."""
        return self._builder.resolution.handle(tensor.endpoint)

    def constant_of(self, tensor: Tensor) -> Array | None:
        """The value of a tensor that is constant, None when it is not known."""
        return self._builder.resolution.constant(tensor.endpoint)

    def consumers(self, end: Endpoint) -> list[Operation]:
        """Operations that take what an endpoint names, once for each input, as in TensorFlow."""
        return self._table.consumers(end)

    # -- the graph as a whole --------------------------------------------------------------

    def merge_versions(self, producer: int, min_consumer: int) -> None:
        """Notes that nodes of a file of these versions were added."""
        self._producer = min(self._producer, producer)
        self._min_consumer = max(self._min_consumer, min_consumer)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes it the default graph inside the block."""
        with _GRAPHS.holding(self):
            yield self

    def finalize(self) -> None:
        """Closes it: nothing can be added any more."""
        self._table.finalized = True

    @property
    def finalized(self) -> bool:
        """Whether it is closed."""
        return self._table.finalized

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbids to feed a tensor."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a tensor may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbids to fetch an operation and its outputs."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Whether a tensor or operation may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def as_graph_def(
        self,
        from_version: int | None = None,
        add_shapes: bool = False,
        *,
        control_flow: str = "functional",
        sources: bool = False,
    ) -> GraphDef:
        """The graph as TensorFlow's message.

        Args:
            from_version: only the nodes made since the graph had that version.
            add_shapes: write static shapes as `_output_shapes`.
            control_flow: "functional", or "v1" for programs of TensorFlow 1's time: branches and
                loops as Switch, Merge, Enter, Exit and NextIteration.
            sources: write the user's own lines too.

        Raises:
            GraphError: `control_flow` is neither, or the graph has something that TensorFlow's
                files cannot say.
        """
        from graphvm_runtime.ir.graphdef.write import file_form, write_graph

        if control_flow not in ("functional", "v1"):
            raise GraphError(f"control_flow is functional or v1, not {clipped(control_flow)}")
        graph = file_form(self.ir(), self.functions.derived)
        if control_flow == "v1":
            # loaded late: few files are for programs of that time
            from graphvm_runtime.ir.control_flow.lower import loose_ends, lower

            graph = lower(graph, keep=loose_ends(graph))
        message = write_graph(graph, shapes=add_shapes, sources=sources)
        if from_version is not None:
            old = {n.name for n in self._table.nodes[:from_version]}
            kept = [n for n in message.node if n.name not in old]
            del message.node[:]
            message.node.extend(kept)
        return message


def _control_element(item: Any) -> Any:
    """What a control input stands for: variables and IndexedSlices name an operation."""
    element = getattr(item, "_control_element", None)
    return item if element is None else element()


_GRAPHS: DefaultStack[Graph] = DefaultStack()
_default_lock = threading.Lock()
_default: list[Graph] = []


def get_default_graph() -> Graph:
    """The innermost default graph of this thread, or the one of the process.

    Source: `tf.get_default_graph`.
    """
    items = _GRAPHS.items
    if items:
        return items[-1]
    with _default_lock:
        if not _default:
            _default.append(Graph())
        return _default[0]


def reset_default_graph() -> None:
    """Puts a new graph in place of the default one of the process.

    Raises:
        GraphError: called inside `graph.as_default()`.

    Source: `tf.reset_default_graph`.
    """
    if _GRAPHS.items:
        raise GraphError("the default graph cannot be reset inside `graph.as_default()`")
    with _default_lock:
        _default[:] = [Graph()]
