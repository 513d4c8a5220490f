"""Checks of derivatives: modes against each other, and against differences, at any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphvm.ops.overloads  # noqa: F401 (operators of Tensor)
from graphvm.graph.conversion import output
from graphvm.graph.graph import Graph, Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.transforms import gradients, jvp
from graphvm_runtime import dtypes
from tests.derivatives.evaluate import Machine

Array = Any
Program = Callable[..., Any]


def placeholder(array: Array, name: str, known: bool = True) -> Tensor:
    """A placeholder for an array, of its shape or of any."""
    from graphvm.graph.graph import get_default_graph

    attrs = {
        "dtype": dtypes.from_numpy(np.asarray(array).dtype),
        "shape": np.shape(array) if known else None,
    }
    return get_default_graph().add_node("Placeholder", (), attrs, name).outputs[0]


def sums(tensors: Sequence[Tensor], weights: Sequence[Array]) -> Tensor:
    """Sum over all elements of tensors times weights."""
    parts = []
    for t, w in zip(tensors, weights, strict=True):
        flat = output("Reshape", (t, [-1]))
        scaled = flat * np.ravel(w).astype(t.dtype.as_numpy_dtype)
        parts.append(output("Sum", (scaled, [0])))
    return output("AddN", (parts,))


def weights(arrays: Sequence[Array], seed: int) -> list[Array]:
    """A random direction for each array."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(0.5, 1.5, np.shape(a))) for a in arrays]


def checked(
    program: Program,
    inputs: Sequence[Array],
    order: int = 2,
    *,
    known: bool = True,
    by: Sequence[int] | None = None,
    rtol: float = 1e-5,
    forward: bool = True,
) -> None:
    """Derivatives of a program up to an order, by float64 inputs, in both modes.

    Args:
        program: tensors to a tensor or several.
        inputs: values to differentiate at.
        order: how often to differentiate.
        known: whether static shapes are known.
        by: inputs to differentiate by; those of type float64 otherwise.
        rtol: relative tolerance of the comparison with differences.
        forward: check forward mode too.
    """
    arrays = [np.asarray(a) for a in inputs]
    if by is None:
        by = [i for i, a in enumerate(arrays) if a.dtype == np.float64]
    graph = Graph()
    with graph.as_default():
        tensors = [placeholder(a, f"in{i}", known) for i, a in enumerate(arrays)]
        made = program(*tensors)
        ys = list(made) if isinstance(made, list | tuple) else [made]
        shapes = Machine(graph.ir()).run(
            [y.name for y in ys], {t.name: a for t, a in zip(tensors, arrays, strict=True)}
        )
        value = sums(ys, weights(shapes, 1))
        xs = [tensors[i] for i in by]
        direction = weights([arrays[i] for i in by], 2)
        lines: list[tuple[Tensor, Tensor, Tensor | None]] = []
        for step in range(order):
            grads = gradients(value, xs)
            some = [i for i, g in enumerate(grads) if g is not None]
            if not some:
                break
            dense = [_dense(grads[i]) for i in some]
            along = sums(dense, [direction[i] for i in some])
            pushed = jvp(value, xs, direction)[0] if forward else None
            lines.append((value, along, pushed))
            value = along
            del step
    feeds = {t.name: a for t, a in zip(tensors, arrays, strict=True)}
    # differences along the direction, of fourth order
    h = 1e-3
    points = {}
    for k in (-2, -1, 1, 2):
        moved = dict(feeds)
        for i, d in zip(by, direction, strict=True):
            moved[tensors[i].name] = arrays[i] + k * h * d
        points[k] = moved
    for number, (f, along, pushed) in enumerate(lines, 1):
        machine = Machine(graph.ir(), [f.name])
        at = {k: machine.run([f.name], p)[0] for k, p in points.items()}
        want = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        names = [along.name] + ([] if pushed is None else [pushed.name])
        got = Machine(graph.ir(), names).run(names, feeds)
        for mode, each in zip(("reverse", "forward"), got, strict=False):
            np.testing.assert_allclose(
                each, want, rtol=rtol, atol=rtol, err_msg=f"order {number}, {mode} mode"
            )
        if len(got) == 2:
            np.testing.assert_allclose(got[1], got[0], rtol=1e-10, atol=1e-12)


def _dense(g: Any) -> Tensor:
    return g.dense() if isinstance(g, IndexedSlices) else g
