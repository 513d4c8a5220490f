"""Operations that are run when a SavedModel is loaded.

Source: `tf.compat.v1.saved_model.main_op`.
"""

from __future__ import annotations

from graphvm.graph.collections import GraphKeys
from graphvm.graph.graph import Operation, get_default_graph
from graphvm.graph.scopes import control_dependencies, get_collection
from graphvm.ops.control_flow import group
from graphvm.variables.collections import global_variables_initializer, local_variables_initializer

__all__ = ["main_op", "main_op_with_restore"]


def main_op() -> Operation:
    """Gives all variables their initial values and fills tables.

    Returns:
        The operation.

    Source: `tf.compat.v1.saved_model.main_op.main_op`.
    """
    every, local = global_variables_initializer(), local_variables_initializer()
    return group(every, local, _tables())


def main_op_with_restore(restore_op_name: str) -> Operation:
    """The same, and then an operation that restores variables.

    Args:
        restore_op_name: the operation, or a tensor of it.

    Returns:
        The operation.

    Source: `tf.compat.v1.saved_model.main_op_with_restore`.
    """
    with control_dependencies([main_op()]):
        return group(get_default_graph().as_graph_element(restore_op_name))


def _tables() -> Operation:
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name="init_all_tables")
