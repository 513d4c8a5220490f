"""Functions that users define: calls, captures, gradients, recursion, files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
import graphvm.functions.defun as function
from graphvm.rules import RULES

F = tf.float32


def run(*fetches: Any, **feeds: Any) -> Any:
    graph = tf.get_default_graph()
    with tf.Session() as session:
        values = {graph.get_tensor_by_name(f"{k}:0"): v for k, v in feeds.items()}
        for _ in range(3):  # unoptimised and optimised
            got = session.run(list(fetches), values)
        return got


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def test_a_defined_function_is_called() -> None:
    @function.Defun(F, F)
    def both(a: Any, b: Any) -> Any:
        return a + b, a * b

    total, product = both(tf.constant(1.0), 2.0)
    assert run(total, product) == [3, 2]
    assert both.name == "both"
    assert both.declared_input_types == (F, F)
    assert [a.name for a in both.definition.signature.input_arg] == ["a", "b"]
    assert both.stateful_ops == []


def test_a_function_without_results_gives_the_operation() -> None:
    @function.Defun()
    def nothing() -> None:
        tf.no_op()

    assert isinstance(nothing(), tf.Operation)


def test_names_of_function_results_and_node() -> None:
    @function.Defun(F, func_name="Twice", out_names=["doubled"])
    def f(x: Any) -> Any:
        return 2.0 * x

    y = f(1.0, name="call")
    assert y.name == "call:0"
    assert [a.name for a in f.definition.signature.output_arg] == ["doubled"]
    assert f.name == "Twice"


def test_a_name_is_given_once() -> None:
    for _ in range(2):
        f = function.Defun(F, func_name="Same")(lambda x: x)
        if "Same" not in tf.get_default_graph().library:
            f(1.0)
    with pytest.raises(ValueError, match="another function 'Same'"):
        f(1.0)


def test_the_wrong_number_of_arguments_is_refused() -> None:
    f = function.Defun(F, F)(lambda a, b: a + b)
    with pytest.raises(ValueError, match="takes 2 arguments, got 1"):
        f(1.0)
    with pytest.raises(ValueError, match="takes 2 arguments, Defun names 1 types"):
        function.Defun(F)(lambda a, b: a)
    with pytest.raises(ValueError, match="has a default or keywords"):
        function.Defun(F)(lambda a, b=1: a)
    with pytest.raises(TypeError, match="no keyword 'noin'"):
        function.Defun(F, noin=True)
    with pytest.raises(ValueError, match="2 results with 1 out_names"):
        function.Defun(F, out_names=["y"])(lambda a: (a, a))(1.0)


def test_a_function_takes_any_number_of_tensors() -> None:
    f = function.Defun(F, F, F)(lambda *xs: tf.add_n(list(xs)))
    assert run(f(1.0, 2.0, 3.0)) == [6]


def test_without_types_there_is_a_function_for_each() -> None:
    @function.Defun()
    def add(a: Any, b: Any) -> Any:
        return a + b

    x, y = add(tf.constant(1.0), tf.constant(2.0)), add(tf.constant(1), tf.constant(2))
    z = add(tf.constant(3.0), tf.constant(4.0))
    assert (x.dtype, y.dtype) == (tf.float32, tf.int32)
    assert run(x, y, z) == [3, 3, 7]
    assert len(tf.get_default_graph().library) == 2


def test_captures_are_passed_by_each_call_at_any_depth() -> None:
    c = tf.constant(10.0)

    @function.Defun(F)
    def f(x: Any) -> Any:
        return x + c

    @function.Defun(F)
    def g(x: Any) -> Any:
        return f(x) * c

    inside = tf.cond(tf.constant(True), lambda: g(1.0), lambda: 0.0)
    assert run(g(1.0), inside) == [110, 110]
    assert f.captured_inputs == [c]
    (dc,) = tf.gradients(g(1.0), c)
    assert run(dc) == [21]


def test_captures_may_be_copied_by_value() -> None:
    c = tf.constant(10.0) * 2.0
    p = tf.placeholder(F, [], "p")
    f = function.Defun(F, capture_by_value=True)(lambda x: x + c)
    y = f(1.0)
    assert f.captured_inputs == []
    assert run(y) == [21]
    with pytest.raises(ValueError, match="'p' cannot be copied into a function: it is fed"):
        function.Defun(F, capture_by_value=True)(lambda x: x + p)(1.0)


def by_value(make: Any) -> Any:
    """A call of a function that adds one to what `make` gives, captured by value."""
    tensor = make()
    return function.Defun(F, capture_by_value=True)(lambda x: x + tf.cast(tensor, F))(1.0)


def test_what_is_copied_by_value_may_be_long_and_shared() -> None:
    def chain() -> Any:
        x, other = tf.unstack(tf.constant([2.0, 1.0]))
        for _ in range(1500):
            x = (x + other) - (x - x) - other
        return x

    y = by_value(chain)
    (body,) = tf.get_default_graph().library.values()
    assert sum(n.op.name == "Unpack" for n in body.body.nodes) == 1
    assert run(y) == [3]


def test_a_nested_body_copies_by_value_into_the_function() -> None:
    c = tf.constant(4.0)
    f = function.Defun(F, capture_by_value=True)(
        lambda x: tf.cond(x > 0.0, lambda: x + c, lambda: x - c)
    )
    y = f(1.0)
    assert f.captured_inputs == []
    assert run(y) == [5]


STATE = {
    "reference": lambda: tf.get_variable("v", initializer=1.0, use_resource=False).reference,
    "read": lambda: tf.get_variable("v", initializer=1.0, use_resource=False).read_value(),
    "resource": lambda: tf.get_variable("v", initializer=1.0, use_resource=True).read_value(),
    "handle": lambda: tf.raw_ops.VarIsInitializedOp(
        resource=tf.get_variable("v", initializer=1.0, use_resource=True).handle
    ),
    "random": lambda: 2.0 * tf.random.uniform([]),
    "queue": lambda: tf.FIFOQueue(3, [F], shapes=[[]]).dequeue(),
    "fed": lambda: tf.placeholder(F, []) * 2.0,
    "perhaps fed": lambda: tf.placeholder_with_default(1.0, []),
}


@pytest.mark.parametrize("what", STATE)
def test_state_is_not_copied_by_value(what: str) -> None:
    why = "is fed" if "fed" in what else "has state"
    with pytest.raises(ValueError, match=rf"cannot be copied.*: it {why}(.|\n)*as an argument"):
        by_value(STATE[what])
    assert not tf.get_default_graph().library


def test_another_graph_is_not_copied_by_value() -> None:
    with tf.Graph().as_default():
        far = tf.constant(1.0)
    with pytest.raises(ValueError, match="belongs to another graph"):
        by_value(lambda: far)


def test_side_effects_in_the_body_run_each_time() -> None:
    v = tf.get_variable("v", initializer=0.0, use_resource=True)

    @function.Defun(F)
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        return x * 2.0

    y = f(3.0)
    with tf.Session() as session:
        session.run(v.initializer)
        for count in range(1, 6):
            assert session.run(y) == 6
            assert session.run(v) == count
    assert f.stateful_ops == [("AssignAddVariableOp", "AssignAddVariableOp")]


def test_shapes_of_a_call() -> None:
    def shapes(op: Any) -> Any:
        return [op.inputs[0].shape]

    f = function.Defun(F, shape_func=shapes)(lambda x: x + 1.0)
    assert f(tf.placeholder(F, [None, 7])).shape.as_list() == [None, 7]


def test_noinline_keeps_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHVM_INTERPRET", raising=False)  # there nothing is optimised
    monkeypatch.setenv("GRAPHVM_EMIT", "1")
    kept = function.Defun(F, noinline=True)(lambda x: x + 1.0)
    free = function.Defun(F)(lambda x: x + 1.0)
    x = tf.placeholder(F, [], "x")
    calls = [kept(x), free(x), free(x, noinline=True)]
    with tf.Session() as session:
        assert session.run(calls, {x: 1.0}) == [2, 2, 2]
        counts = [session.stats(c, [x]).get("Invoke", 0) for c in calls]
    assert counts == [1, 0, 1]


# -- derivatives -----------------------------------------------------------------------------


def test_a_call_is_derived_like_its_body() -> None:
    cube = function.Defun(F)(lambda x: x * x * x)
    x = tf.constant(2.0)
    y = cube(x)
    (dx,) = tf.gradients(y, x)
    (ddx,) = tf.gradients(dx, x)
    (t,) = tf.jvp(y, x, tf.constant(1.0))
    assert run(y, dx, ddx, t) == [8, 12, 12, 12]


def declared() -> Any:
    """A function whose declared gradient is ten times the derivative."""

    @function.Defun(F, F, F)
    def gradient(x: Any, y: Any, g: Any) -> Any:
        return 10.0 * g * y, 10.0 * g * x

    def shapes(op: Any) -> Any:
        return [[]]

    return function.Defun(F, F, grad_func=gradient, func_name="Product", shape_func=shapes)(
        lambda x, y: x * y
    )


def test_a_gradient_function_takes_the_place_of_the_derivative() -> None:
    f = declared()
    x, y = tf.constant(2.0), tf.constant(3.0)
    z = f(x, y)
    assert f.grad_func_name == "gradient"
    assert run(*tf.gradients(z, [x, y])) == [30, 20]
    assert run(*tf.jvp(z, [x, y], [tf.constant(1.0), tf.constant(0.0)])) == [30]
    (g,) = tf.gradients(z, x)
    assert run(*tf.gradients(g, y)) == [10]


def test_a_gradient_function_is_used_in_branches_and_loops() -> None:
    f = declared()
    x = tf.constant(2.0)
    z = tf.cond(tf.constant(True), lambda: f(x, x), lambda: x)
    _, w = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, f(v, v)), [0, x])
    assert run(*tf.gradients(z, x), *tf.gradients(w, x)) == [40, 20 * 4 * 20 * 2]


def test_a_gradient_function_is_saved_and_loaded() -> None:
    x = tf.placeholder(F, [], "x")
    declared()(x, x, name="z")
    saved = tf.get_default_graph().as_graph_def()
    assert [(g.function_name, g.gradient_func) for g in saved.library.gradient] == [
        ("Product", "gradient")
    ]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(saved, name="")
        z, x = (graph.get_tensor_by_name(n) for n in ("z:0", "x:0"))
        assert run(*tf.gradients(z, x), x=2.0) == [40]
        ones = tf.constant(1.0)
        symbolic = tf.raw_ops.SymbolicGradient(input=[x, x, ones], Tout=[F, F], f="Product")
        assert run(*symbolic, x=2.0) == [20, 20]


def test_a_gradient_function_of_other_arguments_is_refused() -> None:
    gradient = function.Defun(F)(lambda g: g)
    f = function.Defun(F, grad_func=gradient)(lambda x: x)
    x = tf.constant(1.0)
    with pytest.raises(LookupError, match="takes 2 and gives 1"):
        tf.gradients(f(x), x)


def test_a_gradient_comes_before_its_function() -> None:
    f = function.Defun(F)(lambda x: x * x)
    f.set_grad_func(function.Defun(F, F)(lambda x, g: 7.0 * g))
    x = tf.constant(1.0)
    assert run(*tf.gradients(f(x), x)) == [7]
    with pytest.raises(ValueError, match="its gradient comes too late"):
        f.set_grad_func(None)


def test_a_python_gradient_function_builds_nodes() -> None:
    def gradient(op: Any, g: Any) -> Any:
        return 5.0 * g * op.inputs[0]

    # what it does by itself has no derivative
    f = function.Defun(F, python_grad_func=gradient)(lambda x: tf.floor(x))
    assert f.python_grad_func is gradient
    x = tf.constant(2.0)
    (inside,) = tf.gradients(tf.cond(tf.constant(True), lambda: f(x), lambda: x), x)
    assert run(*tf.gradients(f(x), x), inside) == [10, 10]


def everywhere(factor: float) -> Any:
    """A function with a Python gradient, and that by itself, in a function, and in a loop."""
    f = function.Defun(F, python_grad_func=lambda op, g: factor * g)(lambda x: tf.floor(x))
    outer = function.Defun(F)(lambda x: f(x) * 2.0)
    x = tf.constant(2.0)
    last = tf.while_loop(lambda v: v < 5.0, lambda v: tf.reshape(outer(v), []), [x + 1.0])
    return f, [tf.gradients(y, x)[0] for y in (f(x), outer(x), last)]


def test_python_gradients_belong_to_their_graph() -> None:
    """However many graphs there have been: nothing is left of them elsewhere."""
    before = dict(RULES)
    kept = []
    for k in range(1, 40):
        with tf.Graph().as_default() as graph:
            f, found = everywhere(float(k))
        kept += [(graph, f)] if k % 4 else []
        if k % 10 == 1:
            with graph.as_default():
                assert run(*found) == [k, 2 * k, 2 * k]
    assert dict(RULES) == before


def test_a_function_used_in_two_graphs_takes_its_python_gradient_along() -> None:
    f = function.Defun(F, python_grad_func=lambda op, g: 3.0 * g)(lambda x: x)
    for _ in range(2):
        with tf.Graph().as_default():
            x = tf.constant(2.0)
            assert run(*tf.gradients(f(x), x), *tf.jvp(f(x), x, tf.constant(1.0))) == [3, 3]


def test_a_file_leaves_python_gradients_behind() -> None:
    f = function.Defun(F, func_name="F", python_grad_func=lambda op, g: 3.0 * g)(lambda x: x * x)
    f(tf.constant(2.0, name="x"), name="y")
    saved = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(saved, name="")
        y, x = (graph.get_tensor_by_name(n) for n in ("y:0", "x:0"))
        assert run(*tf.gradients(y, x)) == [4]


# -- recursion -------------------------------------------------------------------------------


def factorial() -> Any:
    again = function.Declare("Factorial", [("n", tf.int32)], [("r", tf.int32)])

    @function.Defun(tf.int32, func_name="Factorial", out_names=["r"])
    def f(n: Any) -> Any:
        return tf.cond(n < 2, lambda: tf.constant(1), lambda: n * again(n - 1))

    return f


def test_a_declared_function_calls_itself() -> None:
    n = tf.placeholder(tf.int32, [], "n")
    y = factorial()(n)
    assert [run(y, n=k)[0] for k in (0, 1, 5, 10)] == [1, 1, 120, 3628800]


def test_a_recursive_function_is_saved_and_loaded() -> None:
    factorial()(tf.placeholder(tf.int32, [], "n"), name="y")
    saved = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(saved, name="")
        assert run(graph.get_tensor_by_name("y:0"), n=6) == [720]


def test_functions_call_each_other() -> None:
    types = [("n", tf.int32)], [("r", tf.bool)]
    is_odd = function.Declare("IsOdd", *types)
    is_even = function.Declare("IsEven", *types)

    @function.Defun(tf.int32, func_name="IsEven")
    def even(n: Any) -> Any:
        return tf.cond(n > 0, lambda: is_odd(n - 1), lambda: tf.constant(True))

    @function.Defun(tf.int32, func_name="IsOdd")
    def odd(n: Any) -> Any:
        return tf.cond(n > 0, lambda: is_even(n - 1), lambda: tf.constant(False))

    odd.add_to_graph()
    n = tf.placeholder(tf.int32, [], "n")
    assert [run(even(n), odd(n), n=k) for k in (0, 7, 8)] == [
        [True, False], [False, True], [True, False],
    ]  # fmt: skip


def test_recursion_that_is_too_deep_names_the_limit() -> None:
    n = tf.placeholder(tf.int32, [], "n")
    y = factorial()(n)
    with tf.Session() as session:
        assert session.run(y, {n: 5}) == 120
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"limit of \d+ frames"):
            session.run(y, {n: 10**6})
        assert session.run(y, {n: 5}) == 120


def test_a_call_of_itself_must_be_declared() -> None:
    @function.Defun(tf.int32, func_name="Endless")
    def f(n: Any) -> Any:
        return f(n)

    with pytest.raises(ValueError, match=r"Declare\('Endless'"):
        f(1)


def test_a_declared_function_takes_nothing_by_itself() -> None:
    c = tf.constant(1)
    again = function.Declare("Takes", [("n", tf.int32)], [("r", tf.int32)])
    f = function.Defun(tf.int32, func_name="Takes")(
        lambda n: tf.cond(n < 1, lambda: c, lambda: again(n - 1))
    )
    with pytest.raises(ValueError, match="pass that as an argument"):
        f(1)


def test_a_declared_function_that_never_comes_is_missed_when_it_runs() -> None:
    y = function.Declare("Never", [("n", tf.int32)], [("r", tf.int32)])(1)
    with tf.Session() as session, pytest.raises(ValueError, match=r"no function '?Never"):
        session.run(y)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_the_derivative_of_recursion_is_refused(mode: str) -> None:
    again = function.Declare("Power", [("x", F)], [("r", F)])

    @function.Defun(F, func_name="Power")
    def f(x: Any) -> Any:
        return tf.cond(x > 100.0, lambda: x, lambda: again(x * x) * 2.0)

    x = tf.constant(1.5)
    y = f(x)
    derive = tf.gradients if mode == "reverse" else lambda y, x: tf.jvp(y, x, tf.constant(1.0))
    with pytest.raises(LookupError, match="'Power' calls itself: its derivative would have no end"):
        derive(y, x)


def test_recursion_with_a_gradient_function_has_a_derivative() -> None:
    again = function.Declare("Root", [("x", F)], [("r", F)])
    gradient = function.Defun(F, F)(lambda x, g: g / x)

    @function.Defun(F, func_name="Root", grad_func=gradient)
    def f(x: Any) -> Any:
        return tf.cond(x < 2.0, lambda: x, lambda: again(tf.sqrt(x)))

    x = tf.constant(4.0)
    assert run(*tf.gradients(f(x), x)) == [0.25]


def test_functions_of_two_graphs_are_two() -> None:
    double = function.Defun(F)(lambda x: 2.0 * x)
    y = double(1.0)
    with tf.Graph().as_default() as other:
        assert run(double(3.0)) == [6]
        assert list(other.library) == ["<lambda>"] or len(other.library) == 1
    assert run(y) == [2]
    assert np.array_equal(run(y), [2])


def test_effects_of_a_called_function_of_a_file_happen() -> None:
    """Files of TensorFlow 1 do not list them as control outputs, and run them all the same."""
    v = tf.get_variable("v", initializer=0.0, use_resource=True)

    @function.Defun(F, func_name="Counting")
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        return x * 2.0

    f(3.0, name="y")
    saved = tf.get_default_graph().as_graph_def()
    (definition,) = saved.library.function
    definition.control_ret.clear()
    del definition.signature.control_output[:]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(saved, name="")
        session.run("v/Assign")
        for count in range(1, 6):
            assert session.run("y:0") == 6
            assert session.run("v/Read/ReadVariableOp:0") == count
