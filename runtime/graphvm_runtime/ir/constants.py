"""Constants: the one way to make a `Const`."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import numpy as np

from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import DType
from graphvm_runtime.ir.graph import Node, Source
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import TensorType

CONST = lookup("Const")


def constant_attrs(array: Any, dtype: DType) -> Attrs:
    """Attributes of a `Const`; the array, which must be of that type, becomes read-only."""
    array.flags.writeable = False
    return MappingProxyType({"value": array, "dtype": dtype})


def constant(
    name: str,
    value: Any,
    dtype: DType,
    after: Iterable[str] = (),
    device: DeviceSpec = ANY,
    source: Source = "",
) -> Node:
    """A `Const` node.

    Args:
        name: of the node.
        value: an array, which becomes read-only, or what NumPy makes one of.
        dtype: its element type.
        after: names of the nodes that must have run before.
        device: where it is.
        source: the user's own line that it stems from.
    """
    array = np.asarray(value, dtype.numpy)
    type_ = TensorType(dtype, array.shape)
    attrs = constant_attrs(array, dtype)
    return Node(name, CONST, (), tuple(after), attrs, (type_,), device, source)
