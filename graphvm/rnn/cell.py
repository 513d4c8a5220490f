"""What every cell of a recurrent network shares: its variables, its scope, its first state."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Graph, Tensor, get_default_graph
from graphvm.graph.scopes import name_scope
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape
from graphvm.ops import math, nn
from graphvm.ops.array import shape
from graphvm.rnn.sizes import zeros_of
from graphvm.variables.variable import Variable
from graphvm.variables.variable_scope import VariableScope, get_variable, variable_scope
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError

_NAMES = ("graphvm/cell_names",)  # collection of one, not text so that files leave it out
_SCOPED = frozenset({"_reuse", "_scope"})


class RNNCell:
    """One step of a recurrent network: `output, next_state = cell(input, state)`.

    A subclass has the properties `state_size` and `output_size`, and `call(inputs, state)`;
    `build(shape of the inputs)`, where it has one, makes its variables before the first call, with
    `add_variable`. Variables that `call` gets with `get_variable` are the cell's as well.

    The first call decides where the variables are: in a scope of the class's name (`BasicLSTMCell`:
    `basic_lstm_cell`) inside the scope of that call. Later calls use the same variables.

    Args:
        trainable: whether optimizers change its variables.
        name: the name in place of the class's.
        dtype: element type of its variables; that of the first inputs otherwise.
        **kwargs: `_reuse`, as `variable_scope` takes it; `_scope`, in place of the first call's.

    Raises:
        TypeError: another argument is given.

    Source: `tf.compat.v1.nn.rnn_cell.RNNCell`.
    """

    built = False
    trainable = True
    _reuse: Any = None
    _dtype: Any = None
    _name: str | None = None
    _own_name: str | None = None
    _scope: VariableScope | None = None
    _entered_in: Graph | None = None

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: object = None, **kwargs: Any
    ) -> None:
        unknown = set(kwargs) - _SCOPED
        if unknown:
            raise TypeError(f"{type(self).__name__} takes no argument {min(unknown)!r}")
        self.trainable = trainable
        self._reuse = kwargs.get("_reuse")
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._own_name = name
        if kwargs.get("_scope") is not None:
            self._enter_scope(kwargs["_scope"])

    # ------------------------------------------------------------------------------------- sizes

    @property
    def state_size(self) -> Any:
        """Sizes of the state: an integer or a TensorShape, or a structure of them."""
        raise NotImplementedError(f"{type(self).__name__} has no state_size")

    @property
    def output_size(self) -> Any:
        """Sizes of the output, likewise."""
        raise NotImplementedError(f"{type(self).__name__} has no output_size")

    def zero_state(self, batch_size: Any, dtype: object) -> Any:
        """A first state of zeros.

        Args:
            batch_size: integer, or scalar tensor.
            dtype: element type.

        Returns:
            Tensors of shape [batch_size, size] in the structure of `state_size`.
        """
        with name_scope(type(self).__name__ + "ZeroState"):
            return zeros_of(self.state_size, batch_size, dtype)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: object = None
    ) -> Any:
        """A first state of zeros for a batch of inputs.

        Args:
            inputs: the batch, which gives the other two arguments.
            batch_size: integer, or scalar tensor.
            dtype: element type.

        Returns:
            See `zero_state`.

        Raises:
            ValueError: neither the inputs nor both of the others are given, or they differ.
        """
        if inputs is not None:
            tensor = convert_to_tensor(inputs, name="inputs")
            static = tensor.type.shape[0] if tensor.type.shape else None
            if isinstance(batch_size, int) and static not in (None, batch_size):
                raise ValueError(f"the batch has {static} entries, not {batch_size}")
            if dtype is not None and as_dtype(dtype) is not tensor.dtype.base:
                raise ValueError(f"the inputs are of {tensor.dtype.base.name}, not {dtype}")
            if batch_size is None:
                batch_size = static if static is not None else shape(tensor)[0]
            dtype = tensor.dtype.base
        if batch_size is None or dtype is None:
            raise ValueError("a first state needs the batch, or its size and element type")
        return self.zero_state(batch_size, dtype)

    # --------------------------------------------------------------------------------- variables

    def build(self, inputs_shape: Any) -> None:
        """Makes the variables. Nothing to do here: `call` may make them as well."""

    def add_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: object = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
        use_resource: bool | None = None,
        partitioner: None = None,
    ) -> Any:
        """A variable of the cell.

        Args:
            name: inside the cell's scope; may have slashes.
            shape: static shape.
            dtype: element type; the cell's otherwise.
            initializer: as `get_variable` takes it.
            regularizer: likewise.
            trainable: whether optimizers change it.
            constraint: as `get_variable` takes it.
            use_resource: likewise.
            partitioner: must be None: variables are whole.

        Returns:
            A Variable.
        """
        with self._in_scope(None, named=False):
            return get_variable(
                name, shape, dtype or self.dtype, initializer, regularizer,
                trainable and self.trainable, constraint=constraint, use_resource=use_resource,
                partitioner=partitioner,
            )  # fmt: skip

    add_weight = add_variable

    @property
    def _variables(self) -> list[Any]:
        """The variables in the order in which they were made."""
        found: list[Any] = self.__dict__.setdefault("_made", [])
        return found

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_weights(self) -> list[Any]:
        """Variables that optimizers change."""
        return [v for v in self._variables if self.trainable and v.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        return [v for v in self._variables if not (self.trainable and v.trainable)]

    @property
    def variables(self) -> list[Any]:
        """All variables."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        """Variables that optimizers change."""
        return self.trainable_weights

    # ------------------------------------------------------------------------------------- names

    @property
    def dtype(self) -> Any:
        """Element type of the variables; None before the first call where it was not given."""
        return self._dtype

    @property
    def name(self) -> str:
        """Its name, in a graph of its own."""
        if self._own_name is not None:
            return self._own_name
        if self._name is None:
            self._name = _unique(get_default_graph(), _snake_case(type(self).__name__))
        return self._name

    @property
    def scope_name(self) -> str:
        """Name of the scope of its variables. Raises ValueError before the first call."""
        if self._scope is None:
            raise ValueError(f"{type(self).__name__} has no scope before its first call")
        return self._scope.name

    # ----------------------------------------------------------------------------------- calling

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output and the next state, in the cell's scope."""
        raise NotImplementedError(f"{type(self).__name__} has no call")

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Adds one step to the graph.

        Args:
            inputs: shape [batch, size], or a structure of such tensors.
            state: in the structure of `state_size`.
            scope: scope of the variables, in place of one of the class's name; only the first
                call looks at it.
            **kwargs: handed to `call`.

        Returns:
            The output and the next state.

        Raises:
            ValueError: the size of the inputs is not known, or a variable is there already.
        """
        leaves = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        inputs = nest.pack_sequence_as(inputs, leaves)
        if self._dtype is None and leaves:
            self._dtype = leaves[0].dtype.base
        with self._in_scope(scope):
            if not self.built:
                self.build(nest.map_structure(lambda x: x.shape, inputs))
                self.built = True
            return self.call(inputs, state, **kwargs)

    def _enter_scope(self, scope: Any) -> None:
        """Finds the scope of the variables, once and for all."""
        if self._scope is not None:
            return
        base = self._own_name or _snake_case(type(self).__name__)
        if self._reuse and scope is None:
            scope = base
        with variable_scope(scope, base) as found:
            self._scope = found
        self._entered_in = get_default_graph()

    def _in_scope(self, scope: Any, named: bool = True) -> ExitStack:
        """Enters the scope of the variables; `named`: and a name scope for operations."""
        self._enter_scope(scope)
        assert self._scope is not None
        reuse = True if self.built else self._reuse
        with ExitStack() as stack:
            inner = variable_scope(
                self._scope, reuse=reuse, auxiliary_name_scope=False, custom_getter=self._noted
            )
            stack.enter_context(inner)
            if named:
                stack.enter_context(name_scope(self._label()))
            return stack.pop_all()

    def _label(self) -> str:
        """Name scope of a step: the first call's, or in another body one like it."""
        assert self._scope is not None
        if self._scope.original_name_scope and self._entered_in is get_default_graph():
            return self._scope.original_name_scope
        return self._scope.name.rpartition("/")[2] or _snake_case(type(self).__name__)

    def _noted(self, get: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A variable, noted as one of the cell's."""
        found = get(*args, **kwargs)
        if isinstance(found, Variable) and all(found is not v for v in self._variables):
            self._variables.append(found)
        return found


def _snake_case(name: str) -> str:
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return "private" + words if words.startswith("_") else words


def _unique(graph: Graph, base: str) -> str:
    kept = graph.outermost.get_collection_ref(_NAMES)
    if not kept:
        kept.append({})
    counts: dict[str, int] = kept[0]
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


def like_a_cell(cell: Any, what: str = "cell") -> None:
    """Checks that something can be used as a cell.

    Raises:
        TypeError: it lacks what cells have.
    """
    missing = [n for n in ("output_size", "state_size") if not hasattr(cell, n)]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        missing.append("zero_state")
    if not callable(cell):
        missing.append("__call__")
    if missing:
        raise DTypeError(
            f"{what} is no RNNCell: {cell!r} has no {', no '.join(missing)}", made=user_line()
        )


def width_of(shape: Any) -> int:
    """Size of inputs of that shape. Raises ValueError where it is not known."""
    dims = TensorShape(shape).tuple
    width = dims[-1] if dims else None
    if width is None:
        raise ShapeError(
            f"the last dimension of the inputs must be known, not {TensorShape(shape)}",
            made=user_line(),
            do="set_shape on the inputs",
        )
    return width


def activation_of(given: Any, default: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    """An activation by its function or its name; the default for None.

    Raises:
        ValueError: there is none of that name.
    """
    if given is None:
        return default
    if callable(given):
        found: Callable[[Any], Tensor] = given
        return found
    if given == "linear":
        return lambda x: convert_to_tensor(x)
    named = getattr(nn, str(given), None) or getattr(math, str(given), None)
    if named is None or str(given).startswith("_"):
        raise ValueError(f"there is no activation {given!r}")
    by_name: Callable[[Any], Tensor] = named
    return by_name


def whole(shards: Any, name: str) -> None:
    """Checks that variables are not asked for in several parts. Raises GraphError."""
    if shards not in (None, 1):
        raise GraphError(f"variables are whole: {name} must be None or 1", made=user_line())


__all__ = ["RNNCell", "activation_of", "like_a_cell", "whole", "width_of"]
