"""Runs kernels of ops with state, outside any graph."""

from __future__ import annotations

from typing import Any

from graphvm_runtime import dtypes
from graphvm_runtime.ir.graph import Endpoint, Node
from graphvm_runtime.ir.infer import infer
from graphvm_runtime.kernels import made
from graphvm_runtime.ops import lookup
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.resources import ResourceManager, Step


class Bench:
    """A session's state, and a step in it."""

    def __init__(self) -> None:
        self.resources = ResourceManager()
        self.session: dict[str, Any] = {}
        self.step = self.new_step()

    def new_step(self) -> Step:
        """Another run of the session."""
        return Step(self.resources, self.session)

    def node(self, op: str, *inputs: Any, name: str = "", **attrs: Any) -> Node:
        """A node that takes these values; a list stands for an input of several."""
        declared = lookup(op)
        groups = [x if isinstance(x, list) else [x] for x in inputs]
        kinds = [
            [self._type(x, arg.dtypes(attrs)[0] if arg.dtype else None) for x in group]
            for group, arg in zip(groups, declared.inputs, strict=True)
        ]
        full = declared.completed([[t.dtype for t in k] for k in kinds], attrs)
        flat = [t for k in kinds for t in k]
        ends = tuple(Endpoint(f"in{i}") for i in range(len(flat)))
        return Node(name or op, declared, ends, (), full, infer(declared, flat, full))

    def _type(self, value: Any, dtype: dtypes.DType | None) -> TensorType:
        if dtype is not None and not dtype.is_numpy_compatible and dtype is not dtypes.string:
            return TensorType(dtype, ())
        if not hasattr(value, "dtype") or isinstance(value.dtype, dtypes.DType):
            return TensorType(dtypes.variant, ())
        return TensorType(dtypes.from_numpy(value.dtype), value.shape)

    def __call__(self, op: str, *inputs: Any, name: str = "", **attrs: Any) -> Any:
        """The result of the op's kernel."""
        kernel = made(self.node(op, *inputs, name=name, **attrs))
        flat = [x for item in inputs for x in (item if isinstance(item, list) else [item])]
        return kernel.call(*([self.step] if kernel.step else []), *flat)
