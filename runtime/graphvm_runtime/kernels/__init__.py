"""The NumPy kernels, by TensorFlow's families."""

from graphvm_runtime.kernels import (
    array,
    control_flow,
    data_flow,
    io,
    list,
    logging,
    math,
    nn,
    random,
    state,
    string,
    tensor_array,
    training,
    transfer,
)
from graphvm_runtime.kernels.registry import Kernel, has_kernel, kernel, made

__all__ = [
    "Kernel",
    "array",
    "control_flow",
    "data_flow",
    "has_kernel",
    "io",
    "kernel",
    "list",
    "logging",
    "made",
    "math",
    "nn",
    "random",
    "state",
    "string",
    "tensor_array",
    "training",
    "transfer",
]
