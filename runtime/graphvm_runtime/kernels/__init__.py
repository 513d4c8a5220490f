"""The NumPy kernels, by TensorFlow's families; each is loaded when one of its kernels is needed."""

from graphvm_runtime.kernels.registry import Kernel, has_kernel, kernel, load_all, made

__all__ = ["Kernel", "has_kernel", "kernel", "load_all", "made"]
