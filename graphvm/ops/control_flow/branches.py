"""Branches: one of two bodies runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm import nest
from graphvm.conversion import op_scope, output
from graphvm.function import FuncGraph
from graphvm.graph import Operation, Tensor, get_default_graph
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
from graphvm.source import here
from graphvm_runtime.errors import DTypeError, GraphError
from graphvm_runtime.ops.registry import FuncRef
from graphvm_runtime.shapes import widened

__all__ = ["cond"]


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
            made=here(),
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
        yes, no = sides
        _check(yes, no)
        graphs = [side.graph for side in sides]
        captures = aligned(graphs)
        refs = [FuncRef(side.graph.finish(side.results).name) for side in sides]
        results = list(zip(yes.results, no.results, strict=True))
        attrs = {
            "then_branch": refs[0],
            "else_branch": refs[1],
            "Tout": tuple([a.dtype.base for a, _ in results]),
            "output_shapes": tuple([widened(a.type.shape, b.type.shape) for a, b in results]),
        }
        op = "If" if is_stateful(graphs) else "StatelessIf"
        made = get_default_graph().add_node(
            op, (predicate, captures), attrs, scope, control_of(graphs)
        )
    return yes.restored(identities(made.outputs, scope))


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
                    "a branch of cond gives nothing, so nothing of it would run",
                    made=here(),
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


def _check(yes: _Branch, no: _Branch) -> None:
    """Both branches give the same structure of the same element types."""
    try:
        nest.assert_same_structure(yes.structure, no.structure)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"the branches of cond give different structures: {error}\n  made  {here()}\n"
            "  do    return the same structure from both functions"
        ) from None
    pairs = zip(nest.flatten(yes.structure), nest.flatten(no.structure), strict=True)
    for place, (a, b) in enumerate(pairs):
        kinds = [None if x is None else x.dtype.base for x in (a, b)]
        if kinds[0] is not kinds[1]:
            shown = [k.name if k else "None" for k in kinds]
            culprit = b if b is not None else a
            raise DTypeError(
                f"result {place} of cond is {shown[0]} in true_fn and {shown[1]} in false_fn",
                node=culprit.op._node.signature(),
                made=here(),
                do="cast one of them",
            )
