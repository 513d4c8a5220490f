"""How each op is differentiated: one table a family."""

from graphvm.rules import (
    array,
    control_flow,
    data_flow,
    functional,
    internal,
    io,
    list,
    logging,
    math,
    nn,
    random,
    reductions,
    slicing,
    state,
    string,
    tensor_array,
    training,
)
from graphvm.rules.registry import Rules

RULES = Rules(
    array.TABLE,
    control_flow.TABLE,
    data_flow.TABLE,
    functional.TABLE,
    internal.TABLE,
    io.TABLE,
    list.TABLE,
    logging.TABLE,
    math.TABLE,
    nn.TABLE,
    random.TABLE,
    reductions.TABLE,
    slicing.TABLE,
    state.TABLE,
    string.TABLE,
    tensor_array.TABLE,
    training.TABLE,
)

__all__ = ["RULES"]
