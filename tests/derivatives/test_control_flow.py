"""Derivatives through loops, branches and calls, nested in each other, to third order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from graphvm.functions.function import FuncGraph
from graphvm.graph.graph import Graph, get_default_graph
from graphvm.ops.array import constant, placeholder
from graphvm.ops.control_flow import cond, switch_case, while_loop
from graphvm.ops.math import cast, cos, exp, reduce_sum, sin, tanh
from graphvm.transforms import gradients, jvp
from graphvm_runtime import dtypes
from graphvm_runtime.ops.signature import FuncRef
from tests.derivatives.checks import checked
from tests.derivatives.evaluate import Machine

X, Y = np.array([0.3, -0.4, 0.7]), np.float64(1.1)


def loop(f: Callable[..., Any], x: Any, y: Any, times: int = 3) -> Any:
    """`f` applied some times, with an integer counter."""
    return while_loop(lambda i, r: i < times, lambda i, r: (i + 1, f(r, y)), [0, x])[1]


def branch(f: Callable[..., Any], x: Any, y: Any) -> Any:
    """`f` on one side, something else on the other."""
    return cond(reduce_sum(x) > 0.0, lambda: f(x, y), lambda: x * y * y)


def other_branch(f: Callable[..., Any], x: Any, y: Any) -> Any:
    """`f` on the side that is not taken at the start."""
    return cond(reduce_sum(x) < -100.0, lambda: x - y, lambda: f(x, y))


def call(f: Callable[..., Any], x: Any, y: Any) -> Any:
    """`f` as a function of the library."""
    graph = get_default_graph()
    body = FuncGraph("called")
    with body.as_default():
        inner = body.add_arg(x.dtype, x.shape, "x")
        result = f(inner, y)
    function = body.finish([result])
    inputs = [x, *(outer for outer, _ in body.captures)]
    attrs = {"f": FuncRef(function.name), "Tout": (x.dtype,), "_output_shapes": (x.type.shape,)}
    return graph.add_node("PartitionedCall", (inputs,), attrs).outputs[0]


def leaf(x: Any, y: Any) -> Any:
    """Something smooth that needs its inputs and its inner values."""
    return tanh(x * y) + 0.3 * sin(x)


def case(f: Callable[..., Any], x: Any, y: Any) -> Any:
    """`f` as one of three."""
    index = cast(reduce_sum(x) > -100.0, dtypes.int32)
    return switch_case(index, [lambda: x - y, lambda: f(x, y), lambda: x * y])


FORMS = {"loop": loop, "branch": branch, "other": other_branch, "call": call, "case": case}


@pytest.mark.parametrize("form", FORMS)
def test_one(form: str) -> None:
    checked(lambda x, y: FORMS[form](leaf, x, y), [X, Y], order=3)


@pytest.mark.parametrize("inner", FORMS)
@pytest.mark.parametrize("outer", FORMS)
def test_two(outer: str, inner: str) -> None:
    def program(x: Any, y: Any) -> Any:
        return FORMS[outer](lambda a, b: FORMS[inner](leaf, a, b) + y * a, x, y)

    checked(program, [X, Y])


@pytest.mark.parametrize("forms", list(product(("branch", "loop", "case", "call"), repeat=3)))
def test_three(forms: tuple[str, str, str]) -> None:
    outer, middle, inner = (FORMS[f] for f in forms)

    def program(x: Any, y: Any) -> Any:
        return outer(lambda a, b: middle(lambda c, d: inner(leaf, c, d) * y, a, b) + a, x, y)

    checked(program, [X, Y])


@pytest.mark.parametrize("form", FORMS)
def test_unknown_shapes(form: str) -> None:
    def program(x: Any, y: Any) -> Any:
        return FORMS[form](lambda a, b: leaf(a, b) * b, x, y)

    checked(program, [X, Y], known=False)


def test_no_trips() -> None:
    checked(lambda x, y: loop(leaf, x, y, times=0) * y, [X, Y])


def test_several_variables_and_an_integer_one() -> None:
    def program(x: Any, y: Any) -> Any:
        def body(i: Any, a: Any, k: Any, b: Any) -> Any:
            return i + 1, sin(a) * y + b, k * 2, cos(b) * a

        return while_loop(lambda i, a, k, b: k < 9, body, [0, x, 1, x * y])[1::2]

    checked(program, [X, Y])


def test_trip_count_from_the_data() -> None:
    def program(x: Any, y: Any) -> Any:
        return while_loop(lambda r: reduce_sum(r) < 20.0, lambda r: (r * y + 0.5,), [exp(x)])

    checked(program, [X, Y])


def test_loop_in_loop_with_count_of_the_outer() -> None:
    def program(x: Any, y: Any) -> Any:
        def body(i: Any, r: Any) -> Any:
            inner = while_loop(lambda j, s: j < i, lambda j, s: (j + 1, sin(s) * y), [0, r])
            return i + 1, inner[1] + r * y

        return while_loop(lambda i, r: i < 4, body, [0, x])[1]

    checked(program, [X, Y])


def test_captures_of_one_branch_only() -> None:
    graph = Graph()
    with graph.as_default():
        x, y = placeholder(dtypes.float64, []), placeholder(dtypes.float64, [])
        z = cond(x > 0.0, lambda: x * x, lambda: y * y * y)
        g = gradients(z, [x, y])
    names = [t.name for t in g]
    machine = Machine(graph.ir())
    assert machine.run(names, {x.name: np.float64(3), y.name: np.float64(2)}) == [6, 0]
    assert machine.run(names, {x.name: np.float64(-3), y.name: np.float64(2)}) == [0, 12]


def test_gradients_inside_a_body() -> None:
    def program(x: Any, y: Any) -> Any:
        def body(i: Any, r: Any) -> Any:
            inner = loop(leaf, r, y, times=2)
            return i + 1, gradients(inner, r)[0] * y

        return while_loop(lambda i, r: i < 3, body, [0, x])[1]

    checked(program, [X, Y])


def test_gradients_inside_a_branch_inside_a_loop() -> None:
    def program(x: Any, y: Any) -> Any:
        def step(r: Any, b: Any) -> Any:
            return branch(lambda a, c: gradients(loop(leaf, a, c, times=2), a)[0], r, b)

        return loop(step, x, y)

    checked(program, [X, Y])


def test_only_adds_nodes() -> None:
    graph = Graph()
    with graph.as_default():
        x, y = placeholder(dtypes.float64, [3]), placeholder(dtypes.float64, [])
        z = loop(lambda a, b: branch(leaf, a, b), x, y)
        before, library = graph.ir(), dict(graph.library)
        gradients(gradients(z, y), [x, y])
        jvp(z, x, [constant(np.ones(3))])
    after = graph.ir()
    assert after.nodes[: len(before.nodes)] == before.nodes
    assert all(after.library[name] is function for name, function in library.items())


def test_stateful_values_are_drawn_once() -> None:
    """Backwards sees the random numbers that forwards drew."""
    from graphvm.ops.random import random_uniform

    graph = Graph()
    with graph.as_default():
        x = placeholder(dtypes.float64, [])
        z = loop(lambda a, b: a * random_uniform([], 1, 2, dtypes.float64), x, x)
        g = gradients(z, x)[0]
    value, grad = Machine(graph.ir()).run([z.name, g.name], {x.name: np.float64(2)})
    assert np.isclose(value, 2 * grad)
