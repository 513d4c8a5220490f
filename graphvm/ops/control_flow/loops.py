"""Loops: a body runs as long as a condition holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm import nest
from graphvm.functions.function import FuncGraph
from graphvm.graph.conversion import constant_node, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor, get_default_graph
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import as_plain_shape
from graphvm.ops.control_flow.bodies import (
    aligned,
    body_name,
    check_callable,
    control_of,
    flat,
    identities,
    is_stateful,
    like,
    result_of,
    scalar_of,
)
from graphvm.ops.tensor_array import TensorArray
from graphvm_runtime import dtypes
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError, clipped
from graphvm_runtime.ir.derivatives.saved import RECOMPUTE
from graphvm_runtime.ir.graph import source_text
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.shapes import Shape, is_subshape, shape_text

__all__ = ["while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: Any = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
    recompute: int | str | None = None,
) -> Any:
    """Runs `body` as long as `cond` holds.

    Of the body only what its results need runs: an assignment in it must be returned, or be a
    control input of something that is.

    Args:
        cond: takes the loop variables, gives a scalar bool.
        body: takes the loop variables, gives their next values in the same structure.
        loop_vars: list or tuple of the first values, which may be nested structures.
        shape_invariants: a static shape for each loop variable that holds in every iteration;
            the shape of the first value otherwise.
        parallel_iterations: how many iterations may run at once on several devices.
        back_prop: False stops derivatives.
        swap_memory: not looked at: there is no second memory.
        name: name of the operation.
        maximum_iterations: scalar integer, stop after so many.
        return_same_structure: give a list or tuple also for one loop variable.
        recompute: what derivatives compute again instead of keeping it from every iteration:
            None or "none", nothing; "all", whatever follows from the loop variables, which are
            kept; an integer k, the same, with the loop variables kept at every k-th iteration
            only (`cond` is asked once more for each k iterations). Outputs of stateful operations
            in `body` are always kept, so random numbers are the same in both directions; with k,
            then, nothing is saved by it.

    Returns:
        The last values in the structure of `loop_vars`; of one loop variable, its value, unless
        `return_same_structure` is set.

    Raises:
        DTypeError: `body` changes an element type, `cond` gives no bool, or one of them is no
            function.
        ShapeError: `body` changes a shape, or a first value does not have its invariant shape.
        ValueError: `body` changes the structure, or `recompute` is none of these.

    Source: `tf.while_loop`, in the functional form of TF ops `While` and `StatelessWhile`.
    """
    del swap_memory
    check_callable("while_loop", cond=cond, body=body)
    if not isinstance(loop_vars, list | tuple):
        raise TypeError(f"loop_vars is a list or tuple, not {clipped(loop_vars)}")
    if not loop_vars:
        raise ValueError("a loop has at least one variable: loop_vars is empty")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError(
            f"parallel_iterations is an integer of at least 1, not {clipped(parallel_iterations)}"
        )
    every = _recomputed_every(recompute)
    if every > 1:
        return _in_segments(
            cond, body, loop_vars, shape_invariants, every,
            parallel_iterations=parallel_iterations, back_prop=back_prop, name=name,
            maximum_iterations=maximum_iterations, return_same_structure=return_same_structure,
        )  # fmt: skip
    first = [convert_to_tensor(v) for v in nest.flatten(flat(loop_vars))]
    loop = _Loop(body, loop_vars, first, _invariants(loop_vars, first, shape_invariants))
    with op_scope(name or "while", first) as scope:
        if maximum_iterations is not None:
            loop.count_to(_limit(maximum_iterations))
        test = loop.traced_cond(body_name(scope, "cond"), cond)
        step = loop.traced_body(body_name(scope, "body"), body)
        captures = aligned((part.graph, part.results) for part in (test, step))
        passed = [inner for _, inner in step.graph.captures]
        attrs = {
            "cond": FuncRef(test.graph.finish(test.results).name),
            "body": FuncRef(step.graph.finish([*step.results, *passed]).name),
            "output_shapes": (*loop.shapes, *(t.type.shape for t in captures)),
            "parallel_iterations": parallel_iterations,
        }
        if every:
            attrs[RECOMPUTE] = True
        graphs = [test.graph, step.graph]
        op = "While" if is_stateful(graphs) else "StatelessWhile"
        inputs = [*loop.first, *captures]
        made = get_default_graph().add_node(op, (inputs,), attrs, scope, control_of(graphs))
    results = made.outputs[len(loop.first) - len(first) : len(loop.first)]
    # TensorFlow's loops have a counter and a limit before the user's variables, and results are
    # named after their places; so are ours, which have a counter only where it is needed.
    results = identities(results, scope, first=2)
    if not back_prop:
        results = [output("StopGradient", (t,)) for t in results]
    packed = like(loop.after, results)
    return packed[0] if len(packed) == 1 and not return_same_structure else packed


def _recomputed_every(recompute: int | str | None) -> int:
    """At how many iterations' distance the loop variables are kept; 0 where nothing is redone."""
    if recompute is None or recompute == "none":
        return 0
    if recompute == "all":
        return 1
    if isinstance(recompute, int) and not isinstance(recompute, bool) and recompute > 0:
        return recompute
    raise ValueError(
        f"recompute is None, 'none', 'all' or a positive integer, not {clipped(recompute)}"
    )


def _in_segments(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    every: int,
    *,
    maximum_iterations: Any,
    return_same_structure: bool,
    **options: Any,
) -> Any:
    """The loop as a loop over loops of `every` iterations; derivatives redo the inner one."""
    limit = None if maximum_iterations is None else _limit(maximum_iterations)
    zero = convert_to_tensor(0, dtypes.int32 if limit is None else limit.dtype)

    def go_on(count: Any, variables: Sequence[Any]) -> Any:
        asked = cond(*variables)
        if isinstance(asked, list | tuple) and len(asked) == 1:
            (asked,) = asked
        return asked if limit is None else output("LogicalAnd", (count < limit, asked))

    def segment(count: Any, variables: Sequence[Any]) -> Any:
        def within(at: Any, count: Any, variables: Sequence[Any]) -> Any:
            return output("LogicalAnd", (at < every, go_on(count, variables)))

        def step(at: Any, count: Any, variables: Sequence[Any]) -> Any:
            after = _same_structure(variables, body(*variables))
            return at + 1, count if limit is None else count + 1, after

        shapes = None if shape_invariants is None else ((), (), shape_invariants)
        return while_loop(within, step, (0, count, variables), shapes)[1:]

    shapes = None if shape_invariants is None else ((), shape_invariants)
    _, results = while_loop(go_on, segment, (zero, loop_vars), shapes, recompute="all", **options)
    return results[0] if len(results) == 1 and not return_same_structure else results


class _Traced:
    """A traced body and its results."""

    def __init__(self, graph: FuncGraph, results: list[Tensor]) -> None:
        self.graph = graph
        self.results = results


class _Loop:
    """The variables of a loop while its bodies are traced.

    Attributes:
        first: first values, the counter before the user's where there is one.
        shapes: what holds of their shapes in every iteration.
        after: the user's variables after an iteration, with what is known of arrays then.
        limit: the greatest number of iterations.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        structure: Sequence[Any],
        first: list[Tensor],
        shapes: list[Shape],
    ) -> None:
        self.structure = structure
        self.after: Any = structure
        self.first = [output("Identity", (t,)) if t.dtype.is_ref else t for t in first]
        self.shapes = shapes
        self.labels = _labels(body, structure)
        self.limit: Tensor | None = None

    def count_to(self, limit: Tensor) -> None:
        """Adds a counter, which stops the loop at `limit`."""
        self.limit = limit
        counter = constant_node(np.array(0, limit.dtype.numpy), limit.dtype.base, "loop_counter")
        self.first.insert(0, counter)
        self.shapes.insert(0, ())
        self.labels.insert(0, "loop_counter")

    def _entered(self, graph: FuncGraph) -> tuple[list[Tensor], list[Any]]:
        """Parameters of a body; the user's of them in their structure."""
        params = []
        for tensor, shape, label in zip(self.first, self.shapes, self.labels, strict=True):
            held = None
            if tensor.dtype in (dtypes.resource, dtypes.variant):
                held = tensor.graph.handle_of(tensor)
            params.append(graph.add_arg(tensor.dtype, shape, label, held))
        own = params if self.limit is None else params[1:]
        return params, list(like(self.structure, own))

    def traced_cond(self, name: str, cond: Callable[..., Any]) -> _Traced:
        """The body of the condition."""
        graph = FuncGraph(name)
        with graph.as_default():
            params, variables = self._entered(graph)
            given = cond(*variables)
            if isinstance(given, list | tuple):
                if len(given) != 1:
                    raise TypeError(
                        f"the condition of a loop gives one bool, not {len(given)} values"
                    )
                (given,) = given
            holds = scalar_of(graph.capture(convert_to_tensor(given)), "cond")
            if not holds.dtype.is_bool:
                raise DTypeError(
                    f"the condition of a loop gives {holds.dtype.name}, not bool",
                    node=holds.op.node.signature(),
                    made=user_line(),
                )
            if self.limit is not None:
                within = output("Less", (params[0], self.limit))
                holds = output("LogicalAnd", (within, holds))
        return _Traced(graph, [holds])

    def traced_body(self, name: str, body: Callable[..., Any]) -> _Traced:
        """The body of an iteration."""
        graph = FuncGraph(name)
        with graph.as_default():
            params, variables = self._entered(graph)
            given = nest.flatten(_same_structure(self.structure, body(*variables)))
            self.after = nest.pack_sequence_as(self.structure, self._arrays(given))
            results = [result_of(graph, leaf) for leaf in flat(given)]
            if self.limit is not None:
                results.insert(0, output("AddV2", (params[0], 1), None, "add"))
        for place, tensor in enumerate(results):
            self._check(place, tensor)
        return _Traced(graph, results)

    def _arrays(self, given: list[Any]) -> list[Any]:
        """Arrays stay arrays: those after an iteration, or those before it."""
        return [
            (b if isinstance(b, TensorArray) else a) if isinstance(a, TensorArray) else None
            for a, b in zip(nest.flatten(self.structure), given, strict=True)
        ]

    def _check(self, place: int, tensor: Tensor) -> None:
        start, shape, label = self.first[place], self.shapes[place], self.labels[place]
        node = tensor.op.node
        if tensor.dtype.base is not start.dtype.base:
            raise DTypeError(
                f"loop variable {label!r} enters as {start.dtype.base.name} and is "
                f"{tensor.dtype.base.name} after an iteration",
                node=node.signature(),
                made=source_text(node.source),
                do="cast it in the body, or give the first value that type",
            )
        if not is_subshape(tensor.type.shape, shape):
            raise ShapeError(
                f"loop variable {label!r} has the shape {shape_text(shape)} in every iteration, "
                f"but {shape_text(tensor.type.shape)} after one",
                node=node.signature(),
                made=source_text(node.source),
                do="give shape_invariants that leave unknown what changes",
            )


def _same_structure(structure: Sequence[Any], given: Any) -> Any:
    """What a body gave, in a list or tuple; its structure is that of the loop variables."""
    options = [given] if isinstance(given, list | tuple) else [[given]]
    if len(structure) == 1 and isinstance(given, list | tuple):
        options.append([given])
    problem: Exception | None = None
    for option in options:
        try:
            nest.assert_same_structure(list(structure), list(option), check_types=False)
        except (TypeError, ValueError) as error:
            problem = problem or error
        else:
            return option
    raise GraphError(
        f"the body of a loop gives another structure than it takes: {problem}",
        made=user_line(),
        do="return a next value for each loop variable",
    ) from None


def _limit(value: Any) -> Tensor:
    limit = convert_to_tensor(value, name="maximum_iterations")
    if limit.dtype.base not in dtypes.INDICES:
        raise DTypeError(
            f"maximum_iterations is an integer, not {limit.dtype.name}", made=user_line()
        )
    if limit.shape.rank not in (0, None):
        raise ShapeError(
            f"maximum_iterations is a scalar, not a tensor of shape {limit.shape}",
            made=user_line(),
            do="pick one element",
        )
    return limit


def _invariants(loop_vars: Any, first: list[Tensor], given: Any) -> list[Shape]:
    if given is None:
        return [t.type.shape for t in first]
    try:
        pairs = zip(nest.flatten(loop_vars), nest.flatten_up_to(loop_vars, given), strict=True)
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"shape_invariants are not built like loop_vars: {error}",
            made=user_line(),
            do="give a shape for each loop variable, in the structure of loop_vars",
        ) from None
    shapes = [() if isinstance(v, TensorArray) else as_plain_shape(s) for v, s in pairs]
    for tensor, shape in zip(first, shapes, strict=True):
        if not is_subshape(tensor.type.shape, shape):
            raise ShapeError(
                f"the first value {tensor.name!r} has the shape {shape_text(tensor.type.shape)}, "
                f"which is not of the invariant shape {shape_text(shape)}",
                node=tensor.op.node.signature(),
                made=user_line(),
            )
    return shapes


def _labels(body: Callable[..., Any], structure: Sequence[Any]) -> list[str]:
    """A name for each loop variable: that of the parameter of `body`."""
    try:
        parameters = [
            p.name
            for p in inspect.signature(body).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        parameters = []
    out = []
    for place, part in enumerate(structure):
        stem = parameters[place] if place < len(parameters) else f"var_{place}"
        stem = stem.lstrip("_") or f"var_{place}"
        count = len(nest.flatten(part))
        out.extend([stem] if count == 1 else [f"{stem}_{i}" for i in range(count)])
    return out
