"""Variables by name: `get_variable`, and the scopes that share and configure them."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from graphvm.graph.behavior import resource_variables_enabled
from graphvm.graph.collections import GraphKeys
from graphvm.graph.graph import Graph, get_default_graph
from graphvm.graph.scopes import init_scope
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape
from graphvm.variables import initializers
from graphvm.variables.variable import Variable
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError
from graphvm_runtime.ir.graph import source_text

__all__ = [
    "AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable", "get_variable_scope",
    "variable_op_scope", "variable_scope",
]  # fmt: skip

_STORE = ("graphvm/variable_store",)  # collection of one, not text so that files leave it out


class _Reuse(enum.Enum):
    """Reuse a variable where there is one, make it otherwise."""

    AUTO = "AUTO_REUSE"


AUTO_REUSE = _Reuse.AUTO
Reuse: TypeAlias = "bool | _Reuse | None"


class _Store:
    """Variables of a graph by name, and the scopes that were opened in it."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.opened: dict[str, int] = {}
        self.current = VariableScope(False)

    @classmethod
    def of(cls, graph: Graph) -> _Store:
        """The store of a graph; its bodies share it."""
        kept = graph.outermost.get_collection_ref(_STORE)
        if not kept:
            kept.append(cls())
        store: _Store = kept[0]
        return store

    def open(self, name: str) -> None:
        """Counts a scope, so that default names go on from it."""
        self.opened[name] = self.opened.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        """Starts the count of the scopes inside a scope again."""
        for key in self.opened:
            if not name or key.startswith(name + "/"):
                self.opened[key] = 0

    def unique(self, prefix: str) -> str:
        """A default name that no open scope has."""
        stem = f"{self.current.name}/{prefix}" if self.current.name else prefix
        if not self.opened.get(stem):
            return prefix
        count = 1
        while self.opened.get(f"{stem}_{count}"):
            count += 1
        return f"{prefix}_{count}"


class VariableScope:
    """What `get_variable` takes from the scopes around it.

    Attributes:
        name: prefix of the names of variables.
        original_name_scope: the name scope that was opened with it.
        reuse: whether `get_variable` gives variables that are there (True), makes them (False),
            or does either (AUTO_REUSE).
        initializer: default initializer.
        regularizer: default regularizer.
        dtype: default element type.
        use_resource: default kind of variable.
        constraint: default constraint.
        custom_getter: called in place of `get_variable`, with it as its first argument.
        caching_device: kept, and not looked at.

    Source: `tf.compat.v1.VariableScope`.
    """

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: object = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self.reuse = reuse
        self.name = name
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.custom_getter = custom_getter
        self.original_name_scope = name_scope
        self.dtype = as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint

    def changed(self, **fields: Any) -> VariableScope:
        """A copy with some fields changed, those that are None left as they are."""
        copy = VariableScope.__new__(VariableScope)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update({k: v for k, v in fields.items() if v is not None})
        return copy

    def reuse_variables(self) -> None:
        """Sets `reuse`."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the default regularizer."""
        self.regularizer = regularizer

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets what is called in place of `get_variable`."""
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: object) -> None:
        """Sets the default element type."""
        self.dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool) -> None:
        """Sets the default kind of variable."""
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """Items of a collection whose names lie in this scope."""
        prefix = self.name + "/" if self.name else None
        return get_default_graph().get_collection(name, prefix)

    def global_variables(self) -> list[Any]:
        """Global variables in this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Local variables in this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """Trainable variables in this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def get_variable(self, name: str, **arguments: Any) -> Any:
        """`graphvm.get_variable` with the defaults of this scope."""
        return _get(_Store.of(get_default_graph()), self, name, arguments)


def get_variable_scope() -> VariableScope:
    """The scope that `get_variable` looks at now.

    Source: `tf.compat.v1.get_variable_scope`.
    """
    return _Store.of(get_default_graph()).current


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: None = None,
    custom_getter: Any = None,
    reuse: Reuse = None,
    dtype: object = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Puts variables that `get_variable` makes under a name, with defaults.

    Args:
        name_or_scope: the name, inside the scope around; or a scope, entered again.
        default_name: the name where `name_or_scope` is None, made unique.
        values: tensors that the scope is about; their graph must be the default one.
        initializer: default initializer inside.
        regularizer: default regularizer inside.
        caching_device: not looked at.
        partitioner: must be None: variables are whole.
        custom_getter: called in place of `get_variable` inside.
        reuse: True gives variables that are there, AUTO_REUSE makes those that are not; None and
            False do what the scope around does.
        dtype: default element type inside.
        use_resource: default kind of variable inside.
        constraint: default constraint inside.
        auxiliary_name_scope: open a name scope too.

    Yields:
        The scope.

    Raises:
        GraphError: there is no name, or `reuse` is asked of a new one.

    Source: `tf.compat.v1.variable_scope`.
    """
    del values
    if partitioner is not None:
        raise GraphError("variables are whole: partitioner must be None")
    graph = get_default_graph()
    store = _Store.of(graph)
    around = store.current
    defaults = {
        "initializer": initializer,
        "regularizer": regularizer,
        "caching_device": caching_device,
        "dtype": None if dtype is None else as_dtype(dtype),
        "use_resource": use_resource,
        "constraint": constraint,
    }
    before = None
    label: str
    if isinstance(name_or_scope, VariableScope):
        full = name_or_scope.name
        label = full.rpartition("/")[2]
        base = name_or_scope.changed(reuse=reuse or around.reuse or name_or_scope.reuse)
    else:
        if name_or_scope is None:
            if default_name is None:
                raise TypeError("variable_scope needs a name, or a default name")
            if reuse:
                raise GraphError("reuse needs a name: a default name is always a new one")
            label = store.unique(default_name)
        else:
            label = name_or_scope
        full = f"{around.name}/{label}" if around.name and label else around.name or label
        base = around.changed(name=full, reuse=reuse or around.reuse)
    scope = base.changed(**defaults)
    if custom_getter is not None:
        scope.custom_getter = _chained(custom_getter, base.custom_getter)
    with ExitStack() as stack:
        if auxiliary_name_scope and label:
            stem = label if name_or_scope is not None else default_name
            opened = stack.enter_context(graph.name_scope(stem))
            if not isinstance(name_or_scope, VariableScope):
                scope.original_name_scope = opened
        elif not isinstance(name_or_scope, VariableScope):
            now = graph.get_name_scope()
            scope.original_name_scope = now + "/" if now else ""
        store.open(full)
        if isinstance(name_or_scope, VariableScope):
            before = dict(store.opened)
        store.current = scope
        try:
            yield scope
        finally:
            store.close_below(full)
            if before is not None:
                store.opened = before
            store.current = around


@contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    initializer: Any = None,
    reuse: Reuse = None,
    dtype: object = None,
) -> Iterator[VariableScope]:
    """Old form of `variable_scope`.

    Source: `tf.compat.v1.variable_op_scope`.
    """
    with variable_scope(
        name_or_scope, default_name, values, initializer, reuse=reuse, dtype=dtype
    ) as scope:
        yield scope


def _chained(outer: Callable[..., Any], inner: Callable[..., Any] | None) -> Callable[..., Any]:
    """A getter inside another: the inner scope's is asked first."""
    if inner is None:
        return outer

    def getter(get: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return outer(lambda *a, **k: inner(get, *a, **k), *args, **kwargs)

    return getter


def get_variable(
    name: str,
    shape: Any = None,
    dtype: object = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    partitioner: None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
) -> Any:
    """The variable of a name, or a new one, as the scopes around say.

    Args:
        name: inside the scope.
        shape: static shape of a new variable; not given where the initializer is a value.
        dtype: element type; that of the scope otherwise.
        initializer: an initializer, a function of a shape, a function of nothing, or a value;
            the scope's, or Glorot's (zeros for integers), otherwise.
        regularizer: a function from the variable to a loss, which joins REGULARIZATION_LOSSES.
        trainable: whether optimizers change it; True by default.
        collections: names of the collections that it joins; GLOBAL_VARIABLES by default.
        caching_device: not looked at.
        partitioner: must be None: variables are whole.
        validate_shape: whether its shape is that of the initial value, for ever.
        use_resource: False for a reference variable.
        custom_getter: called in place of this function, with it as its first argument.
        constraint: a function that optimizers apply to the variable after an update.

    Returns:
        A Variable.

    Raises:
        GraphError: the variable is there and may not be reused, or is not and must be.
        ShapeError: its shape is another one, or is needed and not known.
        DTypeError: its element type is another one.

    Source: `tf.compat.v1.get_variable`.
    """
    arguments = dict(locals())
    arguments.pop("name")
    if arguments.pop("partitioner") is not None:
        raise GraphError("variables are whole: partitioner must be None")
    store = _Store.of(get_default_graph())
    return _get(store, store.current, name, arguments)


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """As `get_variable`, for the collection LOCAL_VARIABLES; not trainable.

    Source: `tf.compat.v1.get_local_variable`.
    """
    kwargs.setdefault("collections", [GraphKeys.LOCAL_VARIABLES])
    kwargs["trainable"] = False
    return get_variable(name, *args, **kwargs)


def _get(store: _Store, scope: VariableScope, name: str, arguments: dict[str, Any]) -> Any:
    full = f"{scope.name}/{name}" if scope.name else name
    given = dict(arguments)
    for key in ("initializer", "regularizer", "constraint", "use_resource", "caching_device"):
        if given.get(key) is None:
            given[key] = getattr(scope, key)
    if given.get("dtype") is None:
        value = given["initializer"]
        own = None if value is None or callable(value) else getattr(value, "dtype", None)
        given["dtype"] = scope.dtype if value is None or callable(value) else own
    getter = given.pop("custom_getter", None)
    if getter is not None and scope.custom_getter is not None:
        getter = _chained(getter, scope.custom_getter)
    getter = getter or scope.custom_getter
    given["reuse"] = scope.reuse
    # variables are named by their own scope alone
    with get_default_graph().name_scope(None):
        if getter is None:
            return _found_or_made(store, full, **given)
        return getter(lambda n, *a, **k: _found_or_made(store, n, *a, **k), full, **given)


def _found_or_made(
    store: _Store,
    name: str,
    shape: Any = None,
    dtype: object = None,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Reuse = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Variable:
    found = store.variables.get(name)
    static = None if shape is None else TensorShape(shape)
    if found is not None:
        if not reuse:
            raise GraphError(
                f"variable {name!r} exists already",
                node=found.op.node.signature(),
                made=source_text(found.op.node.source),
                do="set reuse=True or reuse=AUTO_REUSE in the variable_scope to share it",
            )
        if static is not None and not static.is_compatible_with(found.shape):
            raise ShapeError(
                f"variable {name!r} has the shape {found.shape}, not {static}", made=user_line()
            )
        if dtype is not None and as_dtype(dtype).base is not found.dtype.base:
            raise GraphError(
                f"variable {name!r} is of {found.dtype.base.name}, not {as_dtype(dtype).name}",
                made=user_line(),
            )
        return found
    if reuse is True:
        raise GraphError(
            f"variable {name!r} does not exist, or was not made with get_variable",
            made=user_line(),
            do="set reuse=AUTO_REUSE in the variable_scope to make it where it is not there",
        )
    if use_resource is None:
        use_resource = resource_variables_enabled()
    with init_scope(), get_default_graph().name_scope(None):
        variable = Variable(
            _initial_value(name, static, dtype, initializer),
            trainable,
            collections,
            validate_shape,
            name=name,
            dtype=dtype,
            constraint=constraint,
            use_resource=use_resource,
            shape=static if validate_shape else None,
        )
    store.variables[name] = variable
    if regularizer is not None:
        with init_scope(), get_default_graph().name_scope(name + "/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _initial_value(name: str, shape: TensorShape | None, dtype: object, initializer: Any) -> Any:
    if initializer is None:
        if shape is None:
            raise ShapeError(
                f"variable {name!r} needs a shape where it has no initializer", made=user_line()
            )
        kind = as_dtype(dtype)
        if kind.is_floating:
            initializer = initializers.GlorotUniform()
        elif kind.is_integer or kind.is_bool or kind is dtypes.string:
            initializer = initializers.Zeros()
        else:
            raise DTypeError(
                f"variable {name!r} of {kind.name} needs an initializer: there is no default one",
                made=user_line(),
            )
    if not callable(initializer):
        if shape is not None:
            raise ShapeError(
                f"variable {name!r} takes the shape of its initial value: do not give one",
                made=user_line(),
            )
        return initializer
    if isinstance(initializer, type):
        initializer = initializer()
    names = _parameters(initializer)
    if not names:
        return initializer
    if shape is None or not shape.is_fully_defined():
        raise ShapeError(
            f"variable {name!r} needs a whole shape for its initializer, not {shape}",
            made=user_line(),
        )
    dims = shape.as_list()
    arguments: dict[str, Any] = {"dtype": dtype} if "dtype" in names else {}
    if "partition_info" in names and not isinstance(initializer, initializers.Initializer):
        arguments["partition_info"] = None
    return lambda: initializer(dims, **arguments)


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ["shape", "dtype"]
