"""Random well-typed programs over [3, 3] matrices, with branches and loops, for property tests."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st

import graphvm as tf

UNARY = ("neg", "tanh", "square", "transpose", "reshape", "sum", "exp", "relu", "slice")
BINARY = ("add", "sub", "mul", "matmul", "max", "where")


@st.composite
def recipes(draw: Any, depth: Any = 2) -> Any:
    """A list of steps; each makes a tensor from earlier ones, chosen by number."""
    steps: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(1, 6))):
        kinds = ["unary", "binary", "const"] + ["cond", "while"] * (depth > 0)
        kind = draw(st.sampled_from(kinds))
        a, b = draw(st.integers(0, 50)), draw(st.integers(0, 50))
        if kind == "unary":
            steps.append((draw(st.sampled_from(UNARY)), a))
        elif kind == "binary":
            steps.append((draw(st.sampled_from(BINARY)), a, b))
        elif kind == "const":
            steps.append(("const", draw(st.floats(-2, 2, width=32))))
        elif kind == "cond":
            inner = draw(recipes(depth=depth - 1)), draw(recipes(depth=depth - 1))
            steps.append(("cond", a, *inner))
        else:
            steps.append(("while", a, draw(st.integers(0, 3)), draw(recipes(depth=depth - 1))))
    return steps


def built(steps: Any, given: Any) -> Any:
    """Tensors of a recipe, those given first."""
    made = list(given)

    def pick(number: Any) -> Any:
        return made[number % len(made)]

    for step in steps:
        name = step[0]
        if name == "const":
            made.append(tf.fill([3, 3], tf.constant(step[1], tf.float64)))
        elif name == "cond":
            x = pick(step[1])
            then, other = (partial(_last, inner, list(made)) for inner in step[2:])
            made.append(tf.cond(tf.reduce_sum(x) > 0, then, other))
        elif name == "while":
            _, start, trips, inner = step
            test, body = partial(_below, trips), partial(_turn, inner, list(made))
            made.append(tf.while_loop(test, body, (tf.constant(0), pick(start)))[1])
        elif len(step) == 2:
            made.append(_unary(name, pick(step[1])))
        else:
            made.append(_binary(name, pick(step[1]), pick(step[2])))
    return made


def _last(steps: Any, given: Any) -> Any:
    return built(steps, given)[-1]


def _below(trips: Any, i: Any, x: Any) -> Any:
    return i < trips


def _turn(steps: Any, given: Any, i: Any, x: Any) -> Any:
    return i + 1, tf.tanh(_last(steps, [*given, x]) + x * 0.5)


def _unary(name: Any, x: Any) -> Any:
    functions: dict[str, Callable[[], Any]] = {
        "neg": lambda: -x,
        "tanh": lambda: tf.tanh(x),
        "square": lambda: tf.square(tf.tanh(x)),
        "transpose": lambda: tf.transpose(x),
        "reshape": lambda: tf.reshape(tf.reshape(x, [9]), [3, 3]),
        "sum": lambda: tf.reduce_sum(x, 0, keepdims=True) + tf.zeros([3, 3], tf.float64),
        "exp": lambda: tf.exp(tf.tanh(x)),
        "relu": lambda: tf.nn.relu(x),
        "slice": lambda: tf.concat([x[1:], x[:1]], 0),
    }
    return functions[name]()


def _binary(name: Any, x: Any, y: Any) -> Any:
    functions: dict[str, Callable[[], Any]] = {
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "mul": lambda: tf.tanh(x) * y,
        "matmul": lambda: tf.matmul(tf.tanh(x), tf.tanh(y)),
        "max": lambda: tf.maximum(x, y),
        "where": lambda: tf.where(x > y, x, y),
    }
    return functions[name]()
