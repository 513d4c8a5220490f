"""Functions that a user defines: `Defun`, and `Declare` for those that come later.

Source: `tensorflow.python.framework.function` of TensorFlow 1; for a script that used that module:
`import graphvm.functions.defun as function`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphvm.functions.function import FuncGraph, copied
from graphvm.graph.conversion import convert_to_tensor, op_scope
from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm.graph.source import user_line
from graphvm.rules.registry import Registered
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.calls import call_op
from graphvm_runtime.ir.effects import SideEffects
from graphvm_runtime.ir.graph import GRADIENT, Function
from graphvm_runtime.ops.registry import OpDef, lookup
from graphvm_runtime.ops.signature import AttrValue, FuncRef

__all__ = ["Declare", "DefinedFunction", "Defun"]

# what a keyword of a definition or a call is called in a FunctionDef or NodeDef
_ATTRS = {"noinline": "_noinline", "compiled": "_XlaCompile"}


class Defun:
    """Makes a Python function a function of the graph, whose body is built once.

    Its calls are nodes. Tensors of the graph around that the body uses become arguments that each
    call passes by itself. All ops with side effects in the body run, in an order that only their
    control inputs decide.

    Args:
        *input_types: element types of the arguments. Without any, each call takes the types of
            its arguments, and each combination of types is a function of its own.
        func_name: name of the function in the graph; follows from the Python function otherwise.
        grad_func: a defined function of the arguments and the cotangents of the results that gives
            the cotangents of the arguments; instead of the derivative.
        python_grad_func: `python_grad_func(op, *cotangents)`, likewise, a Python function that
            builds nodes. Only a graph in memory has it.
        out_names: names of the results.
        shape_func: `shape_func(op)` gives the static shapes of the results of a call.
        capture_by_value: copy what makes captured tensors into the body instead.
        **kwargs: `noinline=True` keeps the call a call when the graph is optimised.

    Source: TensorFlow 1's `function.Defun`.
    """

    def __init__(
        self,
        *input_types: Any,
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[[Operation], Sequence[Any]] | None = None,
        capture_by_value: bool = False,
        **kwargs: Any,
    ) -> None:
        self._types = tuple(map(as_dtype, input_types))
        self._options: dict[str, Any] = {
            "func_name": func_name, "grad_func": grad_func, "python_grad_func": python_grad_func,
            "out_names": None if out_names is None else tuple(out_names),
            "shape_func": shape_func, "capture_by_value": capture_by_value,
            "attrs": _attrs(kwargs),
        }  # fmt: skip

    def __call__(self, func: Callable[..., Any]) -> Any:
        """The function of the graph.

        Raises:
            GraphError: the Python function takes another number of arguments, or has defaults.
        """
        if not callable(func):
            raise TypeError(f"Defun decorates a function, not {func!r}")
        names, many = _parameters(func)
        count = len(self._types)
        if count and (count < len(names) or (count > len(names) and not many)):
            raise GraphError(
                f"{func.__name__} takes {len(names)} arguments, Defun names {count} types",
                made=user_line(),
            )
        if count or not (names or many):
            return DefinedFunction(func, self._types, names, **self._options)
        return _ByTypes(func, names, self._options)


class _ByTypes:
    """A function for each combination of argument types that it is called with."""

    def __init__(
        self, func: Callable[..., Any], names: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        self._func = func
        self._names = names
        self._options = options
        self._made: dict[tuple[DType, ...], DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """The function of arguments of these types."""
        types = tuple(as_dtype(t).base for t in input_types)
        if types not in self._made:
            options = dict(self._options)
            if options["func_name"]:
                options["func_name"] += "".join(f"_{t.name}" for t in types)
            self._made[types] = DefinedFunction(self._func, types, self._names, **options)
        return self._made[types]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function of the types of the arguments."""
        tensors = [convert_to_tensor(a) for a in args]
        return self.instantiate([t.dtype for t in tensors])(*tensors, **kwargs)


class DefinedFunction:
    """A function of the graph; calling it adds a call. Made by `Defun`."""

    def __init__(
        self,
        func: Callable[..., Any],
        types: Sequence[DType],
        names: Sequence[str],
        *,
        func_name: str | None,
        grad_func: Any,
        python_grad_func: Callable[..., Any] | None,
        out_names: Sequence[str] | None,
        shape_func: Callable[[Operation], Sequence[Any]] | None,
        capture_by_value: bool,
        attrs: Mapping[str, AttrValue],
    ) -> None:
        if grad_func is not None and python_grad_func is not None:
            raise ValueError("the gradient is defined twice: give grad_func or python_grad_func")
        self._func = func
        self._types = tuple(types)
        self._names = [*names, *(f"arg{i}" for i in range(len(names), len(types)))]
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._shape_func = shape_func
        self._by_value = capture_by_value
        self._attrs = attrs
        self.__name__ = getattr(func, "__name__", "function")
        self.__doc__ = func.__doc__

    @property
    def name(self) -> str:
        """Its name in the default graph."""
        return self._built().function.name

    @property
    def definition(self) -> Any:
        """Its `FunctionDef`."""
        from graphvm_runtime.ir.graphdef.write import write_function  # protobuf is slow to import

        return write_function(self._built().function)

    @property
    def declared_input_types(self) -> tuple[DType, ...]:
        """Element types of the arguments, captures aside."""
        return self._types

    @property
    def captured_inputs(self) -> list[Tensor]:
        """Tensors of the graph around that each call passes by itself."""
        return list(self._built().captured)

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """Name and type of each op with side effects in the body."""
        nodes = self._built().function.body.nodes
        left_by = SideEffects(get_default_graph().library).left_by
        return [(n.name, n.op.name) for n in nodes if left_by(n)]

    @property
    def grad_func_name(self) -> str | None:
        """Name of the function that is its gradient; None without one."""
        return None if self._grad_func is None else str(self._grad_func.name)

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The Python function that is its gradient."""
        return self._python_grad_func

    def set_grad_func(self, grad_func: Any) -> None:
        """Gives it a gradient, before it is used.

        Raises:
            GraphError: it is in a graph already.
        """
        if self in get_default_graph().functions.defined:
            raise GraphError(f"{self.__name__} is in the graph: its gradient comes too late")
        self._grad_func = grad_func

    def add_to_graph(self, g: Graph | None = None) -> None:
        """Puts it into a graph, the default one otherwise, as a call would."""
        with (g or get_default_graph()).as_default():
            self._built()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call.

        Args:
            *args: a tensor for each argument.
            **kwargs: `name` of the node, and `noinline` as for `Defun`.

        Returns:
            A tensor, a tuple of them where the function gives several, the operation where it
            gives none.

        Raises:
            GraphError: the number of arguments is another one, or the function calls itself
                without being declared.
        """
        built = self._built()
        graph = get_default_graph()
        captured = [graph.capture(t) for t in built.captured]
        signature = _Signature.of(built.function, self._types)
        op = _add_call(signature, args, captured, kwargs, self._own_gradient(built.function))
        if self._shape_func is not None:
            for tensor, shape in zip(op.outputs, self._shape_func(op), strict=True):
                tensor.set_shape(shape)
        return _results(op)

    def _own_gradient(self, function: Function) -> dict[str, AttrValue]:
        """The attribute that names a Python gradient function, which the graph keeps."""
        if self._python_grad_func is None:
            return {}
        return {"_gradient_op_type": _gradient_name(function).encode()}

    def _built(self) -> _Built:
        around = get_default_graph().outermost
        if self not in around.functions.defined:
            around.functions.defined[self] = None  # begun
            try:
                around.functions.defined[self] = self._build(around)
            except BaseException:
                del around.functions.defined[self]
                raise
        found: _Built | None = around.functions.defined[self]
        if found is None:
            raise GraphError(
                f"{self.__name__} calls itself while its body is built",
                made=user_line(),
                do=f"give it a func_name and call Declare({self._label()!r}, inputs, outputs)",
            )
        return found

    def _label(self) -> str:
        return self._func_name or self.__name__.strip("<>") or "function"

    def _build(self, around: Graph) -> _Built:
        attrs = dict(self._attrs)
        if self._grad_func is not None:
            attrs[GRADIENT] = FuncRef(self._grad_func.name)
        graph = (_ByValue if self._by_value else FuncGraph)(self._label(), around)
        with around.as_default(), graph.as_default():
            args = [
                graph.add_arg(t, None, n) for t, n in zip(self._types, self._names, strict=True)
            ]
            given = self._func(*args)
            if given is None:
                given = ()
            values = given if isinstance(given, list | tuple) else (given,)
            results = [graph.capture(convert_to_tensor(v)) for v in values]
        left_by = SideEffects(graph.library).left_by
        control = [graph.operation_named(n.name) for n in graph.nodes_since(0) if left_by(n)]
        graph.keep_only(results, control)
        names = self._out_names
        if names is not None and len(names) != len(results):
            raise GraphError(f"{len(results)} results with {len(names)} out_names")
        exact = self._func_name is not None
        function = graph.finish(results, names, control, attrs, exact=exact)
        if graph.captures and function.name in around.functions.declared:
            raise GraphError(
                f"{function.name!r} was declared with its arguments alone, but takes "
                f"{graph.captures[0][0].name!r} from the graph around it",
                do="pass that as an argument",
            )
        if self._python_grad_func is not None:
            around.functions.gradients[_gradient_name(function)] = Registered(
                self._python_grad_func
            )
        return _Built(function, [outer for outer, _ in graph.captures])


@dataclass(frozen=True, slots=True)
class _Built:
    """A function in a graph, and the tensors around that its calls pass."""

    function: Function
    captured: Sequence[Tensor]


def _gradient_name(function: Function) -> str:
    """What calls of a function ask for that has a Python gradient function."""
    return f"Defun-{function.name}"


class Declare:
    """A function that is defined later, with its types: so functions can call themselves.

    Args:
        func_name: the name that the definition gives as `func_name`.
        inputs: names and element types of the arguments.
        outputs: names and element types of the results.

    Calling it adds a call, as calling the definition does. Source: TensorFlow 1's
    `function.Declare`.
    """

    def __init__(
        self, func_name: str, inputs: Sequence[tuple[str, Any]], outputs: Sequence[tuple[str, Any]]
    ) -> None:
        self._signature = _Signature(
            func_name,
            tuple(as_dtype(t) for _, t in inputs),
            tuple(as_dtype(t) for _, t in outputs),
            lookup("StatefulPartitionedCall"),  # nobody knows yet
        )

    @property
    def name(self) -> str:
        """Name of the function."""
        return self._signature.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call; see `DefinedFunction`. Whether the function is there shows when it runs."""
        get_default_graph().functions.declared.add(self.name)
        return _results(_add_call(self._signature, args, (), kwargs, {}))


@dataclass(frozen=True, slots=True)
class _Signature:
    """What a call must know of a function: its name, its types without captures, and its op."""

    name: str
    takes: tuple[DType, ...]
    gives: tuple[DType, ...]
    op: OpDef

    @classmethod
    def of(cls, function: Function, takes: tuple[DType, ...]) -> _Signature:
        """That of a function that is there."""
        gives = tuple(t.dtype.base for t in function.result_types)
        return cls(function.name, takes, gives, call_op(function))


def _add_call(
    signature: _Signature,
    args: Sequence[Any],
    captured: Sequence[Tensor],
    kwargs: Mapping[str, Any],
    attrs: Mapping[str, AttrValue],
) -> Operation:
    options = dict(kwargs)
    label = options.pop("name", None)
    name, takes = signature.name, signature.takes
    if len(args) != len(takes):
        raise GraphError(f"{name} takes {len(takes)} arguments, got {len(args)}", made=user_line())
    with op_scope(label or name, args) as scope:
        tensors = [convert_to_tensor(a, t) for a, t in zip(args, takes, strict=True)]
        full = {**_attrs(options), **attrs, "f": FuncRef(name), "Tout": signature.gives}
        return get_default_graph().add_node(signature.op, ([*tensors, *captured],), full, scope)


def _results(op: Operation) -> Any:
    outputs = op.outputs
    if not outputs:
        return op
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


class _ByValue(FuncGraph):
    """A body that copies the ops that make captured tensors."""

    copies_captures = True

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """See `FuncGraph`.

        Raises:
            GraphError: what makes the tensor is fed, or is a variable, random or other state.
        """
        if tensor.graph is self:
            return tensor
        if tensor.graph.outermost is not self.outermost:
            return super().capture(tensor, name)  # which refuses it
        return copied(tensor, self, self._captured, do="pass it as an argument")


def _attrs(given: Mapping[str, Any]) -> dict[str, AttrValue]:
    """Keywords as attributes. Raises TypeError where one is not known."""
    out: dict[str, AttrValue] = {}
    for key, value in given.items():
        if key not in _ATTRS:
            raise TypeError(f"a function takes no keyword {key!r}")
        out[_ATTRS[key]] = bool(value)
    return out


def _parameters(func: Callable[..., Any]) -> tuple[list[str], bool]:
    """Names of the positional parameters, and whether there may be more."""
    names, many = [], False
    for parameter in inspect.signature(func).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            many = True
        elif parameter.kind is parameter.VAR_KEYWORD or parameter.default is not parameter.empty:
            raise GraphError(
                f"{getattr(func, '__name__', func)} has a default or keywords: a function of the "
                "graph takes tensors alone",
                made=user_line(),
            )
        else:
            names.append(parameter.name)
    return names, many
