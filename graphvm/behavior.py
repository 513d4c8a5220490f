"""Switches that scripts for TensorFlow 2's compatibility module begin with.

GraphVM has graph mode only, and functional control flow only, so there is nothing to switch.
"""

from __future__ import annotations

__all__ = [
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_v2_behavior",
    "enable_control_flow_v2",
    "executing_eagerly",
]


def disable_eager_execution() -> None:
    """Changes nothing: operations always go into a graph.

    Source: `tf.compat.v1.disable_eager_execution`.
    """


def disable_v2_behavior() -> None:
    """Changes nothing: the behaviour is always that of TensorFlow 1.

    Source: `tf.compat.v1.disable_v2_behavior`.
    """


def disable_control_flow_v2() -> None:
    """Changes nothing: `cond` and `while_loop` always build the functional form.

    Source: `tf.compat.v1.disable_control_flow_v2`.
    """


def enable_control_flow_v2() -> None:
    """Changes nothing: `cond` and `while_loop` always build the functional form.

    Source: `tf.compat.v1.enable_control_flow_v2`.
    """


def executing_eagerly() -> bool:
    """False: operations always go into a graph.

    Source: `tf.executing_eagerly`.
    """
    return False
