"""Counted loops and symbolic gradients: run, derived, saved and loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.functions.function import FuncGraph
from graphvm_runtime.ops.signature import FuncRef

F64 = tf.float64


def function_of(kinds: list[Any], build: Any, name: str) -> str:
    """Name of a new function of the default graph."""
    graph = FuncGraph(name)
    with graph.as_default():
        args = [graph.add_arg(kind, [], f"x{i}") for i, kind in enumerate(kinds)]
        results = build(*args)
    return graph.finish(results).name


def step(i: Any, v: Any, w: Any) -> list[Any]:
    """The body of the loops below."""
    return [v * tf.sin(w) + tf.cast(i, F64), w]


def loop(start: Any, limit: Any, delta: Any, x: Any) -> Any:
    """A counted loop over `step`."""
    body = function_of([tf.int32, F64, F64], step, "step")
    attrs = {"T": (F64, F64), "body": FuncRef(body)}
    graph = tf.get_default_graph()
    bounds = [tf.convert_to_tensor(b) for b in (start, limit, delta)]
    return graph.add_node("For", (*bounds, [x, x]), attrs).outputs[0]


def expected(bounds: tuple[int, int, int], x: float) -> float:
    """What the loop gives."""
    v = x
    for i in range(*bounds) if bounds[2] else ():
        v = v * np.sin(x) + i
    return v


BOUNDS = [(0, 4, 1), (5, 0, -2), (3, 3, 0), (2, 2, 1), (-3, 4, 3)]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_counted_loop_runs_like_range(bounds: tuple[int, int, int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(F64, [])
        y = loop(*bounds, x)
        for _ in range(3):
            assert session.run(y, {x: 0.7}) == pytest.approx(expected(bounds, 0.7))


@pytest.mark.parametrize("bounds", [(0, 4, -1), (4, 0, 1), (0, 4, 0)])
def test_bounds_that_lead_nowhere_are_refused(bounds: tuple[int, int, int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        y = loop(*bounds, tf.constant(1.0, F64))
        with pytest.raises(tf.errors.InvalidArgumentError, match="lead nowhere"):
            session.run(y)


def test_bounds_are_scalars() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"scalar"):
        loop([0], 1, 1, tf.constant(1.0, F64))


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_counted_loop_has_derivatives_of_any_order(bounds: tuple[int, int, int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(F64, [])
        y = loop(*bounds, x)
        (dx,) = tf.gradients(y, x)
        (ddx,) = tf.gradients(dx, x)
        (forward,) = tf.jvp(y, x, tf.constant(1.0, F64))
        first, second, pushed = session.run([dx, ddx, forward], {x: 0.7})
        e = 1e-5
        slope = (expected(bounds, 0.7 + e) - expected(bounds, 0.7 - e)) / 2 / e
        assert first == pytest.approx(slope, rel=1e-7)
        assert pushed == pytest.approx(first)
        bend = (session.run(dx, {x: 0.7 + e}) - session.run(dx, {x: 0.7 - e})) / 2 / e
        assert second == pytest.approx(bend, rel=1e-6, abs=1e-6)


def test_a_counted_loop_in_a_branch_is_derived_saved_and_loaded() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(F64, [], "x")
        y = tf.cond(x > 0.0, lambda: loop(0, 3, 1, x), lambda: x)
        (dx,) = tf.gradients(y, x)
        want = session.run([y, dx], {x: 0.7})
        assert want[0] == pytest.approx(expected((0, 3, 1), 0.7))
        saved = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(saved, name="")
        assert session.run([y.name, dx.name], {"x:0": 0.7}) == pytest.approx(want)


def test_a_loop_of_a_file_stays_what_it_is() -> None:
    with tf.Graph().as_default() as graph:
        loop(0, 3, 1, tf.constant(1.0, F64))
        assert "For" in {n.op for n in graph.as_graph_def().node}


def symbolic(name: str, inputs: list[Any], kinds: list[Any]) -> list[Any]:
    """The gradient of a function, as an op."""
    return list(tf.raw_ops.SymbolicGradient(input=inputs, Tout=kinds, f=name))


def test_a_symbolic_gradient_gives_cotangents_and_zeros() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        name = function_of([tf.int32, F64, F64], step, "step")
        x, one, zero = (tf.constant(v, F64) for v in (0.7, 1.0, 0.0))
        got = symbolic(name, [tf.constant(2), x, x, one, zero], [tf.int32, F64, F64])
        assert [t.shape.as_list() for t in got] == [[], [], []]
        di, dv, dw = session.run(got)
        assert di == 0
        assert dv == pytest.approx(np.sin(0.7))
        assert dw == pytest.approx(0.7 * np.cos(0.7))
        (again,) = tf.gradients(got[2], x)
        assert session.run(again) == pytest.approx(np.cos(0.7) - 0.7 * np.sin(0.7))


def test_a_symbolic_gradient_in_a_function_is_derived_too() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        cube = function_of([F64], lambda x: [x * x * x], "cube")
        slope = function_of(
            [F64], lambda x: symbolic(cube, [x, tf.ones([], F64)], [F64]), "slope"
        )  # fmt: skip
        x = tf.placeholder(F64, [], "x")
        call = {"f": FuncRef(slope), "Tout": (F64,)}
        y = graph.add_node("PartitionedCall", ([x],), call).outputs[0]
        assert session.run(y, {x: 2.0}) == 12
        (ddx,) = tf.gradients(y, x)
        (bend,) = symbolic(slope, [x, tf.ones([], F64)], [F64])
        assert session.run([ddx, bend], {x: 2.0}) == [12, 12]
        saved = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(saved, name="")
        assert session.run([ddx.name, bend.name], {"x:0": 2.0}) == [12, 12]


def test_a_symbolic_gradient_takes_an_input_for_each_argument_and_result() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        cube = function_of([F64], lambda x: [x * x * x], "cube")
        (bad,) = symbolic(cube, [tf.ones([], F64)], [F64])
        with pytest.raises(ValueError, match="takes 2 inputs and gives 1, not 1 and 1"):
            session.run(bad)
