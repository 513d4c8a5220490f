"""Kernels of the math family."""
