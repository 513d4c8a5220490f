"""TensorFlow's `tf.nn`: the functions of neural networks, and recurrent networks.

Recurrent networks have variables, so they live above the functions; they are loaded when they
are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphvm.graph.absent import absent
from graphvm.ops import nn as _functions

if TYPE_CHECKING:
    from graphvm.ops.nn import *  # noqa: F403 (all of it, for type checkers)
    from graphvm.rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
    from graphvm.rnn import dynamic_rnn as dynamic_rnn
    from graphvm.rnn import raw_rnn as raw_rnn
    from graphvm.rnn import rnn_cell as rnn_cell
    from graphvm.rnn import static_bidirectional_rnn as static_bidirectional_rnn
    from graphvm.rnn import static_rnn as static_rnn
    from graphvm.rnn import static_state_saving_rnn as static_state_saving_rnn

_RECURRENT = (
    "bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn", "rnn_cell", "static_bidirectional_rnn",
    "static_rnn", "static_state_saving_rnn",
)  # fmt: skip
__all__ = sorted([*_functions.__all__, *_RECURRENT])


def __getattr__(name: str) -> Any:
    """A function, or what is loaded when it is first asked for."""
    if name in _RECURRENT:
        return getattr(import_module("graphvm.rnn"), name)
    if name in _functions.__all__:
        return getattr(_functions, name)
    raise absent("graphvm.nn", name, __all__)


def __dir__() -> list[str]:
    """All public names."""
    return __all__
