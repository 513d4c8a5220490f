"""Random structured programs with effects: every form gives the same, and comes back the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphvm as tf
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.control_flow.lower import lower
from graphvm_runtime.ir.control_flow.raise_ import raise_, raise_report
from graphvm_runtime.ir.graph import Endpoint
from graphvm_runtime.ir.graphdef.read import read_graph
from tests.control_flow.alike import alike
from tests.control_flow.cases import Session, prepared

OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: tf.tanh(x) * y,
    "max": lambda x, y: tf.maximum(x, tf.tanh(y)),
}


@st.composite
def recipes(draw: Any, depth: Any = 2) -> Any:
    """Steps; each makes a tensor from earlier ones, chosen by number, and may change a variable."""
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        kinds = [*OPS, "const", "bump", "read", *["cond", "while", "many"] * (depth > 0)]
        kind = draw(st.sampled_from(kinds))
        step = [kind, draw(st.integers(0, 20)), draw(st.integers(0, 20))]
        if kind in ("cond", "many"):
            step += [draw(recipes(depth=depth - 1)), draw(recipes(depth=depth - 1))]
        elif kind == "while":
            step += [draw(st.integers(0, 3)), draw(recipes(depth=depth - 1))]
        steps.append(step)
    return steps


class Builder:
    """Builds recipes; effects keep the order of the steps."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    def built(self, steps: Any, given_: Any) -> Any:
        made, last = list(given_), list[Any]()
        for step in steps:
            with tf.control_dependencies(last):
                new = self.step(step, made)
            made += new
            if step[0] in ("bump", "read", "cond", "while", "many"):
                last = [new[0].op]
        with tf.control_dependencies(last):
            return tf.identity(made[-1])

    def step(self, step: Any, made: Any) -> Any:
        kind, a, b = step[:3]
        x, y = made[a % len(made)], made[b % len(made)]
        if kind in OPS:
            return [OPS[kind](x, y)]
        if kind == "const":
            return [tf.constant(a / 8 - 1, tf.float32)]
        if kind == "read":
            return [tf.identity(self.variable.read_value())]
        if kind == "bump":
            with tf.control_dependencies([self.variable.assign_add(tf.tanh(x))]):
                return [tf.identity(x)]
        if kind == "while":
            return [
                tf.while_loop(
                    lambda i, _: i < step[3],
                    lambda i, v: (i + 1, tf.tanh(self.built(step[4], [*made, v]))),
                    [tf.constant(0), x],
                )[1]
            ]
        first = tf.cond(
            x > y,
            lambda: self.several(step[3], made, kind),
            lambda: self.several(step[4], made, kind),
        )
        return list(first) if kind == "many" else [first]

    def several(self, steps: Any, made: Any, kind: Any) -> Any:
        result = self.built(steps, made)
        return (result, made[-1] * 0.5) if kind == "many" else result


def results(graph: Any, form: Any, fetch: Any, start: Any, is_ref: Any) -> Any:
    """The fetched number, and the variable's afterwards."""
    session = Session(graph, form)
    session.run(Request((), (), ("v/Assign",)), [])
    value = session.run(Request((Endpoint("x"),), (fetch,)), [np.float32(start)])[0]
    read = Endpoint("v" if is_ref else "v_after")
    return value, session.run(Request((), (read,)), [])[0]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes(), st.sampled_from([0.75, -0.5]), st.booleans())
def test_all_forms_agree(steps: Any, start: Any, is_ref: Any) -> None:
    with tf.Graph().as_default() as built:
        x = tf.placeholder(tf.float32, [], name="x")
        variable = tf.Variable(0.25, name="v", use_resource=not is_ref)
        fetch = Builder(variable).built(steps, [x]).endpoint
        if not is_ref:
            tf.identity(variable, name="v_after")
        graph = built.ir()
        file = read_graph(built.as_graph_def(control_flow="v1"))
    want = results(graph, "interpreted", fetch, start, is_ref)
    for form in ("raised", "dataflow", "lowered", "loose"):
        np.testing.assert_equal(results(graph, form, fetch, start, is_ref), want, form)
    for form in ("raised", "dataflow"):
        np.testing.assert_equal(results(file, form, fetch, start, is_ref), want, form)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes())
def test_what_is_lowered_is_raised_again_to_the_same(steps: Any) -> None:
    with tf.Graph().as_default() as built:
        x = tf.placeholder(tf.float32, [], name="x")
        variable = tf.Variable(0.25, name="v", use_resource=True)
        fetch = Builder(variable).built(steps, [x]).endpoint
        graph, request = prepared(built.ir(), Request((Endpoint("x"),), (fetch,)))
    low = lower(graph)
    wanted = {str(fetch)}
    assert all(r.raised for r in raise_report(low, wanted))
    again = raise_(low, wanted)
    assert not again.is_dataflow
    assert alike(graph, again, request.fetches)
