"""How each op is differentiated: one table a family."""

from graphvm.rules import (
    activations,
    array,
    control_flow,
    conv,
    data_flow,
    functional,
    internal,
    io,
    linalg,
    list,
    logging,
    math,
    nn,
    pool,
    random,
    reductions,
    regex,
    slicing,
    state,
    string,
    tensor_array,
    training,
)
from graphvm.rules.registry import Rules

RULES = Rules(
    activations.TABLE,
    array.TABLE,
    control_flow.TABLE,
    conv.TABLE,
    data_flow.TABLE,
    functional.TABLE,
    internal.TABLE,
    io.TABLE,
    linalg.TABLE,
    list.TABLE,
    logging.TABLE,
    math.TABLE,
    nn.TABLE,
    pool.TABLE,
    random.TABLE,
    reductions.TABLE,
    regex.TABLE,
    slicing.TABLE,
    state.TABLE,
    string.TABLE,
    tensor_array.TABLE,
    training.TABLE,
)

__all__ = ["RULES"]
