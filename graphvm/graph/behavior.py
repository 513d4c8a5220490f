"""Switches that scripts begin with.

Those of TensorFlow 2's compatibility module change nothing: GraphVM has graph mode only, and
functional control flow only. The kind of variables by default can be chosen.
"""

from __future__ import annotations

__all__ = [
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_v2_behavior",
    "enable_control_flow_v2",
    "enable_resource_variables",
    "executing_eagerly",
    "resource_variables_enabled",
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


_by_default = {"resource": True}


def enable_resource_variables() -> None:
    """Makes resource variables the default, as they are from the start.

    Source: `tf.compat.v1.enable_resource_variables`.
    """
    _by_default["resource"] = True


def disable_resource_variables() -> None:
    """Makes reference variables the default, as they were in TensorFlow 1.

    Source: `tf.compat.v1.disable_resource_variables`.
    """
    _by_default["resource"] = False


def resource_variables_enabled() -> bool:
    """Whether resource variables are the default.

    Source: `tf.compat.v1.resource_variables_enabled`.
    """
    return _by_default["resource"]
