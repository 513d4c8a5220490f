"""Which variables a graph has, and operations that initialise them."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm.graph.collections import GraphKeys
from graphvm.graph.graph import Operation, get_default_graph
from graphvm.ops.control_flow import group, no_op
from graphvm.variables.variable import Variable

__all__ = [
    "all_variables",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "trainable_variables",
    "variables_initializer",
]


def _listed(key: str, scope: str | None) -> list[Variable]:
    return get_default_graph().get_collection(key, scope)


def global_variables(scope: str | None = None) -> list[Variable]:
    """Variables of the default graph that are saved and shared.

    Args:
        scope: a regular expression that the names start with.

    Returns:
        The collection GLOBAL_VARIABLES.

    Source: `tf.compat.v1.global_variables`.
    """
    return _listed(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """Old name of `global_variables`.

    Returns:
        See `global_variables`.

    Source: `tf.compat.v1.all_variables`.
    """
    return global_variables()


def local_variables(scope: str | None = None) -> list[Variable]:
    """Variables of the default graph that belong to one process and are not saved.

    Args:
        scope: a regular expression that the names start with.

    Returns:
        The collection LOCAL_VARIABLES.

    Source: `tf.compat.v1.local_variables`.
    """
    return _listed(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """Variables of the default graph that inference needs.

    Args:
        scope: a regular expression that the names start with.

    Returns:
        The collection MODEL_VARIABLES.

    Source: `tf.compat.v1.model_variables`.
    """
    return _listed(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Variables of the default graph of which moving averages are kept.

    Args:
        scope: a regular expression that the names start with.

    Returns:
        The collection MOVING_AVERAGE_VARIABLES.

    Source: `tf.compat.v1.moving_average_variables`.
    """
    return _listed(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Variables of the default graph that optimizers change.

    Args:
        scope: a regular expression that the names start with.

    Returns:
        The collection TRAINABLE_VARIABLES.

    Source: `tf.compat.v1.trainable_variables`.
    """
    return _listed(GraphKeys.TRAINABLE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives variables their initial values.

    Args:
        var_list: the variables.
        name: name of the operation.

    Returns:
        A NoOp that runs after all the initializers.

    Source: `tf.compat.v1.variables_initializer`.
    """
    if not var_list:
        return no_op(name)
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """An operation that gives all global variables their initial values.

    Returns:
        See `variables_initializer`.

    Source: `tf.compat.v1.global_variables_initializer`.
    """
    return variables_initializer(global_variables())


def initialize_all_variables() -> Operation:
    """Old name of `global_variables_initializer`.

    Returns:
        See `variables_initializer`.

    Source: `tf.compat.v1.initialize_all_variables`.
    """
    return global_variables_initializer()


def local_variables_initializer() -> Operation:
    """An operation that gives all local variables their initial values.

    Returns:
        See `variables_initializer`.

    Source: `tf.compat.v1.local_variables_initializer`.
    """
    return variables_initializer(local_variables())
