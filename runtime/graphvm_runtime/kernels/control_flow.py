"""Kernels of nodes that are there for their edges."""

from __future__ import annotations

from graphvm_runtime.kernels.registry import plain

plain("NoOp", lambda: None)
