"""What a row of the op table is: an op's samples, wrong inputs and plain reference.

One row serves many tests: kernel against reference, shape function against kernel, wrong inputs,
aliasing, and derivatives. The rows of a family are in `table_FAMILY.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.ir.graph import Endpoint, Node
from graphvm_runtime.ir.infer import infer
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.registry import NOTHING, OpDef, Resolver
from graphvm_runtime.shapes import TensorType

_RNG = np.random.default_rng(7)


@dataclass(frozen=True)
class Sample:
    """Inputs that an op takes: one item a declared input, a list where it stands for several."""

    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any]

    @property
    def flat(self) -> list[Any]:
        """All inputs one after the other."""
        return [x for item in self.inputs for x in (item if isinstance(item, list) else [item])]


@dataclass(frozen=True)
class Wrong:
    """Inputs that an op refuses.

    Attributes:
        static: what the shape function says, where it knows shapes and values; empty: nothing.
        running: what the kernel says; empty: the kernel is never reached.
    """

    sample: Sample
    static: str = ""
    running: str = ""


@dataclass(frozen=True)
class Row:
    """All that tests need to know of an op.

    Attributes:
        samples: samples for an element type.
        reference: outputs from the inputs and attributes, in plain Python; integers may overflow,
            floats may be float64: the result is brought to the output's type. None: what TensorFlow
            gave is recorded (`recorded.py`), for samples that it refuses too.
        types: element types to sample; None: all that the attribute `vary` may be.
        vary: the type attribute that the samples vary.
        wrong: inputs that are refused.
        domain: where real inputs of a derivative test lie.
        tolerance: relative and absolute error by name of the output type, where wider than usual.
        tested_in: the test module of an op whose state no sample can show.
        sharper: our shape function knows more than TensorFlow's.
        unset: by the attributes of a sample, the outputs that TensorFlow leaves uninitialised.
    """

    op: str
    samples: Callable[[DType], Iterable[Sample]] = field(default=lambda dtype: ())
    reference: Callable[..., Any] | None = None
    types: tuple[DType, ...] | None = None
    vary: str = "T"
    wrong: tuple[Wrong, ...] = ()
    domain: tuple[float, float] = (-2.0, 2.0)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    tested_in: str = ""
    sharper: bool = False
    unset: Callable[[Mapping[str, Any]], tuple[int, ...]] = lambda attrs: ()

    @property
    def is_recorded(self) -> bool:
        """Whether its outputs are TensorFlow's, recorded."""
        return self.reference is None and not self.tested_in

    def element_types(self) -> tuple[DType, ...]:
        """The element types to sample."""
        if self.types is not None:
            return self.types
        declared = lookup(self.op).attrs[self.vary].allowed
        return tuple(
            t for t in declared or STANDARD if t.is_numpy_compatible and not t.is_quantized
        )


def real(*shape: int, low: float = -1.5, high: float = 1.5) -> Any:
    """Numbers, none of them so near to zero that a difference would cross it."""
    values = _RNG.uniform(low, high, shape)
    return np.where(np.abs(values) < 0.05, values + 0.1, values)


def complex_(*shape: int) -> Any:
    """Complex numbers away from zero."""
    return positive(*shape) * np.exp(1j * real(*shape))


def positive(*shape: int) -> Any:
    return real(*shape, low=0.5, high=2.0)


def apart(*shape: int) -> Any:
    """No two elements are close, so that maxima stay where they are."""
    size = int(np.prod(shape))
    return (0.5 + _RNG.permutation(size) / size).reshape(shape)


@dataclass(frozen=True)
class Case:
    """An op on inputs at which its rule is tested; inputs of float64 are differentiated by.

    Attributes:
        inputs: one item a declared input, a tuple where it stands for several; a complex one is
            differentiated by its real and its imaginary part.
        order: highest order of derivative.
        outputs: the slice of outputs that are differentiated.
        by: the flat inputs to differentiate by; None: all of float64.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    order: int = 2
    outputs: tuple[int | None, int | None] = (None, None)
    by: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        shapes = [
            ",".join(str(np.shape(a)) for a in (i if isinstance(i, tuple) else (i,)))
            for i in self.inputs
        ]
        return f"{self.op}-{'-'.join(shapes)}"


# where any type will do
STANDARD = (dtypes.float32, dtypes.int32, dtypes.bool_, dtypes.complex64)
TOLERANCE = {
    "float64": 1e-12, "complex128": 1e-12, "float32": 2e-6, "complex64": 4e-6, "float16": 2e-3,
    "bfloat16": 1.6e-2,
}  # fmt: skip


def given(*inputs: Any, **attrs: Any) -> Sample:
    """A sample."""
    return Sample(tuple(map(_array, inputs)), attrs)


def _array(value: Any) -> Any:
    if isinstance(value, bytes):  # what an array of strings gives for one of them
        return np.array(value, object)
    return np.asarray(value) if isinstance(value, np.generic) else value


def ints(*values: int) -> Array:
    """A vector of int32."""
    return np.array(values, np.int32)


def int_(value: int) -> Array:
    """A scalar of int32."""
    return np.array(value, np.int32)


def strings(*values: bytes) -> Array:
    """A vector of strings."""
    return np.array(values, object)


def numbers(
    dtype: DType, *shape: int, low: float = -3.0, high: float = 3.0, seed: int = 0
) -> Array:
    """Random numbers of a type, the same ones each time; unsigned ones are not negative."""
    text = f"{dtype.name} {shape} {low} {high} {seed}"
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    if dtype is dtypes.string:
        return np.array(
            [bytes(row) for row in rng.integers(97, 123, (int(np.prod(shape)), 3), np.uint8)],
            object,
        ).reshape(shape)
    if dtype is dtypes.bool_:
        return np.asarray(rng.integers(0, 2, shape)).astype(np.bool_)
    if dtype.is_integer:
        least = 0 if dtype.is_unsigned else int(np.ceil(low))
        whole = rng.integers(max(least, int(np.ceil(low))), int(high) + 1, shape)
        return np.asarray(whole).astype(dtype.numpy)
    values: Any = rng.uniform(low, high, shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(dtype.numpy)


def node_of(
    op: str | OpDef,
    sample: Sample,
    resolver: Resolver = NOTHING,
    shapes: Sequence[Any] | None = None,
) -> Node:
    """The node that has these inputs, with shapes as known as `shapes` says."""
    declared = lookup(op) if isinstance(op, str) else op
    groups = [
        [dtype_of(x) for x in (item if isinstance(item, list) else [item])]
        for item in sample.inputs
    ]
    attrs = declared.completed(groups, sample.attrs)
    flat = [t for group in groups for t in group]
    real = [tuple(x.shape) for x in sample.flat] if shapes is None else shapes
    types = [TensorType(t, s) for t, s in zip(flat, real, strict=True)]
    outputs = infer(declared, types, attrs, resolver)
    ends = tuple(Endpoint(f"input{i}") for i in range(len(flat)))
    return Node("sample", declared, ends, (), attrs, outputs)


def dtype_of(value: Any) -> DType:
    """Element type of an array."""
    return dtypes.from_numpy(value.dtype)


def scalars(values: Iterable[Any]) -> list[Any]:
    """Values as registers hold them: NumPy scalars for rank 0."""
    return [
        v[()] if isinstance(v, np.ndarray) and v.ndim == 0 and v.dtype.hasobject is False else v
        for v in values
    ]


def outputs_of(result: Any, node: Node) -> list[Any]:
    """Outputs of a kernel call, one list."""
    return [result] if len(node.outputs) == 1 else list(result)


class Known:
    """A resolver that knows what the inputs of a sample are, or only some of them."""

    def __init__(self, inputs: Sequence[Any], known: Sequence[bool] | None = None) -> None:
        self.inputs = inputs
        self.known = known

    def constant(self, index: int) -> Array | None:
        """The input."""
        if self.known is not None and not self.known[index]:
            return None
        value: Array = self.inputs[index]
        return value

    def value(self, index: int) -> Any:
        """The input as a small value."""
        value = self.constant(index)
        if value is None or value.dtype.kind not in "iu" or value.ndim > 1:
            return None
        return int(value) if value.ndim == 0 else tuple(value.tolist())

    def handle(self, index: int) -> TensorType | None:
        """Nothing."""
        return None
