"""Branches: one of two bodies, or of many, runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from graphvm import nest
from graphvm.functions.function import FuncGraph
from graphvm.graph.conversion import apply, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Operation, Tensor, get_default_graph
from graphvm.graph.scopes import control_dependencies
from graphvm.graph.source import user_line
from graphvm.ops.arguments import either
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
from graphvm_runtime.dtypes import bool_, int32
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError, clipped
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import widened

__all__ = ["case", "cond", "switch_case"]


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What `true_fn` gives where the predicate holds, what `false_fn` gives otherwise.

    Only the branch that is chosen runs, and of it only what its results need: an assignment in a
    branch must be returned, or be a control input of something that is. What is made outside
    and used inside runs in any case.

    Args:
        pred: scalar bool; a number holds where it is not 0.
        true_fn: makes the nodes of one branch and gives tensors, operations, or nested
            structures of them.
        false_fn: likewise, of the same structure and element types.
        strict: keep lists and tuples of one element as they are.
        name: name of the operation.
        fn1: old name of `true_fn`.
        fn2: old name of `false_fn`.

    Returns:
        The structure that the branches give, of tensors; of one element, that element, unless
        `strict` is set. Dimensions in which the branches differ are unknown. In the place of an
        operation stands the predicate, which is there after the operation ran.

    Raises:
        DTypeError: element types of the branches differ, `pred` is a Python bool, or a branch is
            no function.
        GraphError: a branch gives nothing.
        TypeError: types of the structures differ.
        ValueError: the structures differ.

    Source: `tf.cond`, in the functional form of TF ops `If` and `StatelessIf`.
    """
    true_fn = either("true_fn", true_fn, "fn1", fn1)
    false_fn = either("false_fn", false_fn, "fn2", fn2)
    check_callable("cond", true_fn=true_fn, false_fn=false_fn)
    if isinstance(pred, bool):
        raise DTypeError(
            "the predicate is a Python bool",
            made=user_line(),
            do="use Python's own `if`, or a tensor for a choice at run time",
        )
    assert true_fn is not None
    assert false_fn is not None
    with op_scope(name or "cond", (pred,)) as scope:
        predicate = scalar_of(pred, "pred")
        sides = [
            _Branch(body_name(scope, "true"), true_fn, predicate, strict),
            _Branch(body_name(scope, "false"), false_fn, predicate, strict),
        ]
        return _chosen("If", scope, predicate, sides, ("true_fn", "false_fn"))


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """What the function of a number gives.

    Only the branch that is chosen runs, as with `cond`.

    Args:
        branch_index: scalar int32.
        branch_fns: functions in a list, in a dictionary by number, or in pairs with their
            numbers, which are 0, 1, ... in any order. All give the same structure and element
            types.
        default: what runs where there is no function of that number; the last one otherwise.
        name: name of the operation.

    Returns:
        The structure that the branches give, of tensors.

    Raises:
        DTypeError: element types of the branches differ, the index is no int32, or a branch is no
            function.
        GraphError: there are no functions, their numbers leave gaps, or a branch gives nothing.
        TypeError: types of the structures differ.
        ValueError: the structures differ.

    Source: `tf.switch_case`, TF ops `Case` and `StatelessCase`.
    """
    functions = _by_number(branch_fns)
    if default is not None:
        functions.append(default)
    labels = [f"branch {i}" for i in range(len(functions))]
    check_callable("switch_case", **dict(zip(labels, functions, strict=True)))
    if isinstance(branch_index, int):
        raise DTypeError(
            "the index is a Python int",
            made=user_line(),
            do="call the function itself, or use a tensor for a choice at run time",
        )
    with op_scope(name, (branch_index,)) as scope:
        index = convert_to_tensor(branch_index, name="branch_index")
        if index.dtype.is_ref:
            index = output("Identity", (index,))
        if index.shape.rank not in (0, None):
            raise ShapeError(
                f"the index of a branch is a scalar, not a tensor of shape {index.shape}",
                node=index.op.node.signature(),
                made=user_line(),
                do="pick one element",
            )
        if index.dtype.base is not int32:
            raise DTypeError(
                f"the index is {index.dtype.base.name}, not int32",
                node=index.op.node.signature(),
                made=user_line(),
                do="cast it",
            )
        sides = [
            _Branch(body_name(scope, f"branch{i}"), function, index, strict=False)
            for i, function in enumerate(functions)
        ]
        return _chosen("Case", scope, index, sides, labels)


def _by_number(given: Any) -> list[Callable[[], Any]]:
    """Functions in the order of their numbers."""
    pairs = given
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif given and all(callable(f) for f in given):
        pairs = list(enumerate(given))
    wanted = list(range(len(pairs)))
    if not pairs or sorted(number for number, _ in pairs) != wanted:
        shown = "none" if not pairs else ", ".join(str(number) for number, _ in pairs)
        raise GraphError(
            f"switch_case takes functions for 0, 1 and so on without a gap, got {shown}",
            made=user_line(),
        )
    return [function for _, function in sorted(pairs, key=lambda pair: pair[0])]


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function of the first predicate that holds gives.

    Args:
        pred_fn_pairs: predicates with functions, in pairs or in a dictionary.
        default: what runs where none holds; without it, that one of them must hold is asserted.
        exclusive: assert that at most one of them holds.
        strict: keep lists and tuples of one element as they are.
        name: name of the operation.

    Returns:
        The structure that the functions give, of tensors.

    Raises:
        GraphError: there are no functions.
        DTypeError: a predicate is no bool, or a branch no function.

    Source: `tf.case`, as `cond` inside `cond`.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    if not pairs:
        raise GraphError(
            "case takes one or more pairs of a predicate and a function", made=user_line()
        )
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise DTypeError(
                f"case takes pairs of a predicate and a function, not {clipped(pair)}",
                made=user_line(),
            )
    labels = [f"function {i}" for i in range(len(pairs))]
    check_callable("case", **dict(zip(labels, (f for _, f in pairs), strict=True)))
    if default is not None:
        check_callable("case", default=default)
    with op_scope(name, [p for p, _ in pairs]):
        preds = [convert_to_tensor(p, bool_, "pred") for p, _ in pairs]
        alone = []
        if exclusive:
            count = output("Sum", (output("Cast", (preds,), {"DstT": int32}), 0))
            message = "more than one predicate of an exclusive case holds:"
            alone = [_asserted(output("Less", (count, 2)), message, preds)]
        if default is None:
            *pairs, (_, last) = pairs
            default = partial(_last, last, list(preds))
        for pred, function in zip(reversed(preds[: len(pairs)]), reversed(pairs), strict=True):
            default = partial(cond, pred, function[1], default, strict)
        with control_dependencies(alone):
            return default()


def _last(function: Callable[[], Any], preds: list[Tensor]) -> Any:
    """What runs where no earlier predicate held: the last one has to."""
    holds = _asserted(preds[-1], "none of the predicates of a case holds:", preds)
    with control_dependencies([holds]):
        return nest.map_structure(
            lambda x: x if isinstance(x, Operation | TensorArray) else output("Identity", (x,)),
            function(),
        )


def _asserted(holds: Tensor, message: str, preds: list[Tensor]) -> Operation:
    return apply("Assert", (holds, [message, *preds]), {"summarize": 3})


def _chosen(
    op: str, scope: str, chooser: Tensor, sides: Sequence[_Branch], labels: Sequence[str]
) -> Any:
    """The node of branches, and its results."""
    first = sides[0]
    for side, label in zip(sides[1:], labels[1:], strict=True):
        _check(first, side, labels[0], label)
    graphs = [side.graph for side in sides]
    captures = aligned((side.graph, side.results) for side in sides)
    refs = tuple([FuncRef(side.graph.finish(side.results).name) for side in sides])
    results = list(zip(*(side.results for side in sides), strict=True))
    attrs: dict[str, AttrValue] = {
        "Tout": tuple([each[0].dtype.base for each in results]),
        "output_shapes": tuple([reduce(widened, [t.type.shape for t in e]) for e in results]),
    }
    if op == "Case":
        attrs["branches"] = refs
    else:
        attrs["then_branch"], attrs["else_branch"] = refs
    made = get_default_graph().add_node(
        op if is_stateful(graphs) else f"Stateless{op}",
        (chooser, captures), attrs, scope, control_of(graphs),
    )  # fmt: skip
    return first.restored(identities(made.outputs, scope))


class _Branch:
    """One traced branch.

    Attributes:
        graph: its body.
        given: what its function gave.
        structure: what its function gave; leaves are tensors of the body, or None.
        results: the tensors among the leaves.
    """

    def __init__(
        self, name: str, function: Callable[[], Any], predicate: Tensor, strict: bool
    ) -> None:
        self.graph = FuncGraph(name)
        self.function = function
        with self.graph.as_default():
            given = function()
            if given is None:
                raise GraphError(
                    "a branch gives nothing, so nothing of it would run",
                    made=user_line(),
                    do="return a tensor or an operation from the function",
                )
            if not strict and isinstance(given, list | tuple) and len(given) == 1:
                given = given[0]
            leaves = [self._leaf(leaf, predicate) for leaf in nest.flatten(flat(given))]
        self.given = given
        self.structure = nest.pack_sequence_as(given, leaves)
        self.results: list[Tensor] = [leaf for leaf in leaves if leaf is not None]

    def _leaf(self, value: Any, predicate: Tensor) -> Tensor | None:
        if value is None:
            return None
        if isinstance(value, Operation):
            with self.graph.control_dependencies([value]):
                return output("Identity", (predicate,))
        return result_of(self.graph, value)

    def restored(self, tensors: list[Tensor]) -> Any:
        """The structure with other tensors in it."""
        rest = iter(tensors)
        leaves = [None if x is None else next(rest) for x in nest.flatten(self.structure)]
        return like(self.given, nest.pack_sequence_as(self.structure, leaves))


def _check(yes: _Branch, no: _Branch, one: str, other: str) -> None:
    """Both branches give the same structure of the same element types."""
    try:
        nest.assert_same_structure(yes.structure, no.structure)
    except (TypeError, ValueError) as error:
        kind = DTypeError if isinstance(error, TypeError) else GraphError
        raise kind(
            f"{one} and {other} give different structures: {error}",
            made=user_line(),
            do="return the same structure from all functions",
        ) from None
    pairs = zip(nest.flatten(yes.structure), nest.flatten(no.structure), strict=True)
    for place, (a, b) in enumerate(pairs):
        kinds = [None if x is None else x.dtype.base for x in (a, b)]
        if kinds[0] is not kinds[1]:
            shown = [k.name if k else "None" for k in kinds]
            culprit = b if b is not None else a
            raise DTypeError(
                f"result {place} is {shown[0]} in {one} and {shown[1]} in {other}",
                node=culprit.op.node.signature(),
                made=user_line(),
                do="cast one of them",
            )
