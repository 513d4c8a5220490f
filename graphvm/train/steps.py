"""The global step: the number of training steps that were made."""

from __future__ import annotations

from typing import Any

from graphvm.graph.collections import GraphKeys
from graphvm.graph.graph import Graph, get_default_graph
from graphvm.variables.initializers import Zeros
from graphvm.variables.variable_scope import get_variable
from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError, NameNotFoundError

__all__ = [
    "assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step",
    "global_step",
]  # fmt: skip


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps in a session.

    Args:
        sess: the session.
        global_step_tensor: the variable.

    Source: `tf.compat.v1.train.global_step`.
    """
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph.

    Args:
        graph: the default graph otherwise.

    Returns:
        The variable, None where there is none.

    Raises:
        GraphError: there are several.
        TypeError: it is no integer.

    Source: `tf.compat.v1.train.get_global_step`.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise GraphError(f"the graph has {len(found)} global steps")
    step: Any
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except NameNotFoundError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Any:
    """A new global step.

    Args:
        graph: the default graph otherwise.

    Returns:
        The variable: int64, scalar, not trainable.

    Raises:
        GraphError: there is one already.

    Source: `tf.compat.v1.train.create_global_step`.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise GraphError("the graph has a global step already")
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, or a new one.

    Args:
        graph: the default graph otherwise.

    Source: `tf.compat.v1.train.get_or_create_global_step`.
    """
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError unless something is a scalar integer that can be a global step.

    Source: `tf.compat.v1.train.assert_global_step`.
    """
    held = getattr(global_step_tensor, "dtype", None)
    if held is None or not held.base_dtype.is_integer:
        raise TypeError(f"a global step is an integer, not {global_step_tensor!r}")
    if global_step_tensor.shape.rank not in (0, None):
        raise TypeError(f"a global step is a scalar, not {global_step_tensor!r}")
