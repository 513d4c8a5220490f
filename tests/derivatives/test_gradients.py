"""The face of `gradients`, `vjp` and `jvp`: what is given, what is None, what is refused."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.transforms import (
    NotDifferentiable,
    RegisterGradient,
    UnconnectedGradients,
    custom_gradient,
    gradients,
    jvp,
    vjp,
)
from graphvm_runtime.errors import DTypeError, GraphError, RuleError
from graphvm_runtime.ir.derivatives.materialise import materialise
from tests.derivatives.checks import checked

_NAMES = (f"TestGradient{i}" for i in count())


def ran(*tensors: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(tensors), feeds)


def f32(value: Any) -> Any:
    return np.asarray(value, np.float32)


def number(value: Any, dtype: Any = np.float32) -> Any:
    array = np.asarray(value, dtype)
    return tf.placeholder_with_default(array, array.shape)


def test_one_x_gives_a_list() -> None:
    x = number(3.0)
    (g,) = gradients(x * x, x)
    assert ran(g) == [6.0]


def test_sum_of_several_ys_with_cotangents() -> None:
    x = number([1.0, 2.0])
    (g,) = gradients([x * x, 3.0 * x], [x], grad_ys=[f32([1, 10]), None])
    np.testing.assert_array_equal(ran(g)[0], [5, 43])


def test_none_and_zeros_where_nothing_depends() -> None:
    x, y = number([1.0, 2.0]), number(1.0)
    assert gradients(x, [y]) == [None]
    (zero,) = gradients(x, [y], unconnected_gradients=UnconnectedGradients.ZERO)
    (named,) = gradients(x, [y], unconnected_gradients="zero")
    assert ran(zero, named) == [0, 0]


def test_integers_and_steps_have_none() -> None:
    k, x = number(2, np.int32), number(1.5)
    assert gradients(tf.cast(k, tf.float32) * 2.0, [k]) == [None]
    assert gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), [x]) == [None]


def test_stop_gradients() -> None:
    x = number(2.0)
    y = x * x
    through, cut = gradients(y * y, [x])[0], gradients(y * x, [x], stop_gradients=[y])[0]
    assert ran(through, cut) == [32.0, 4.0]


def test_dependent_xs() -> None:
    x = number(2.0)
    y = x * x
    gx, gy = gradients(y * x, [x, y])
    assert ran(gx, gy) == [12.0, 2.0]


def test_complex_needs_its_cotangent() -> None:
    with pytest.raises(DTypeError, match="needs its cotangent"):
        gradients(tf.identity(number(1j, np.complex64)), [number(1.0)])


def test_cotangent_of_another_type() -> None:
    x = number(2.0)
    with pytest.raises(DTypeError, match="float64, not float32"):
        gradients(x * x, [x], grad_ys=[tf.constant(1.0, tf.float64)])


def test_numbers_of_cotangents_and_tangents() -> None:
    x = number(2.0)
    with pytest.raises(GraphError, match="2 grad_ys for 1 ys"):
        gradients(x * x, [x], grad_ys=[None, None])
    with pytest.raises(GraphError, match="0 tangents for 1 xs"):
        jvp(x * x, [x], [])
    with pytest.raises(DTypeError, match="float64, not float32"):
        jvp(x * x, [x], [tf.constant(1.0, tf.float64)])


def test_another_graph() -> None:
    x = number(2.0)
    with tf.Graph().as_default():
        y = number(1.0)
    with pytest.raises(GraphError, match="another graph"):
        gradients(x, [y])


def test_names_and_scope() -> None:
    x = number(2.0)
    (g,) = gradients(tf.sin(x, name="wave"), [x])
    assert g.name == "gradients/wave_grad/Mul:0"
    (again,) = gradients(tf.sin(x), [x], name="more")
    assert again.name.startswith("more/")


def test_colocation() -> None:
    x = number(2.0)
    y = tf.sin(x, name="wave")
    (g,) = gradients(y, [x], colocate_gradients_with_ops=True)
    assert b"loc:@wave" in g.op.colocation_groups()


def test_gates() -> None:
    x = number(2.0)
    gx = gradients(x * tf.sin(x), [x], gate_gradients=True)[0]
    assert np.isclose(ran(gx)[0], np.sin(2) + 2 * np.cos(2))


def test_rows_of_a_gather() -> None:
    x = number([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    (g,) = gradients(tf.gather(x, [2, 0, 2]), [x])
    assert isinstance(g, IndexedSlices)
    assert g.shape.as_list() == [3, 2]
    values, indices, shape = ran(g)[0]
    np.testing.assert_array_equal(shape, [3, 2])
    np.testing.assert_array_equal(indices, [2, 0, 2])
    np.testing.assert_array_equal(values, np.ones((3, 2)))
    np.testing.assert_array_equal(ran(tf.convert_to_tensor(g))[0], [[1, 1], [0, 0], [2, 2]])


def test_rows_of_several_gathers_are_joined() -> None:
    x = number([[1.0, 2.0], [3.0, 4.0]])
    (g,) = gradients(tf.gather(x, [1, 1]) + tf.gather(x, [0, 1]), [x])
    assert isinstance(g, IndexedSlices)
    np.testing.assert_array_equal(ran(tf.convert_to_tensor(g))[0], [[1, 1], [3, 3]])


def test_rows_and_a_whole_are_added() -> None:
    x = number([1.0, 2.0])
    (g,) = gradients([tf.gather(x, [1, 1]), x * x], [x])
    np.testing.assert_array_equal(ran(g)[0], [2, 6])


@pytest.mark.parametrize("resource", [True, False])
def test_variables(resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=resource)
    (g,) = gradients(tf.reduce_sum(v * v * v), [v])
    (h,) = gradients(g, [v])
    (t,) = jvp(v * v, [v], [f32([1, 10])])
    values = ran(g, h, t)
    for value, want in zip(values, [[3, 12], [6, 12], [2, 40]], strict=True):
        np.testing.assert_array_equal(value, want)


def test_a_variable_through_a_gather_keeps_rows() -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    (g,) = gradients(tf.gather(v, [1]), [v])
    assert isinstance(g, IndexedSlices)


def test_variables_read_in_bodies() -> None:
    v = tf.Variable([1.0, 2.0], use_resource=True)
    w = tf.Variable(3.0, use_resource=True)

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i, 1), lambda: y * v, lambda: y * v * w)

    y = tf.while_loop(lambda i, y: i < 3, body, [0, tf.ones([2])])[1]
    gv, gw = gradients(y, [v, w])
    hv, hw = gradients(tf.reduce_sum(gv), [v, w])
    (t,) = jvp(tf.reduce_sum(y), [v, w], [f32([1, 1]), f32(1)])
    values = ran(gv, gw, hv, hw, t)
    # y = v^3 w^2
    wanted: list[Any] = [[27, 108], 54, [54, 108], 90, 189]
    for got, want in zip(values, wanted, strict=True):
        np.testing.assert_allclose(got, want)


def test_nothing_has_no_derivatives() -> None:
    assert vjp([], [], []) == []
    assert jvp([], [], []) == []


def test_vjp_and_jvp_are_transposes() -> None:
    x = number([0.3, 0.5])
    y = tf.stack([tf.sin(x[0]) * x[1], x[1] * x[1], x[0]])
    u, t = f32([1, -2, 3]), f32([0.2, 0.7])
    (pulled,), (pushed,) = vjp(y, [x], [u]), jvp(y, [x], [t])
    a, b = ran(pulled, pushed)
    np.testing.assert_allclose(a @ t, b @ u, rtol=1e-6)


def test_sessions_that_ran_already() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, r * x), [0, x])[1]
    with tf.Session() as session:
        assert session.run(y, {x: 2.0}) == 16
        (g,) = gradients(y, [x])
        assert session.run([y, g], {x: 2.0}) == [16, 32]
        (h,) = gradients(g, [x])
        (t,) = jvp(h, [x], [tf.constant(1.0)])
        assert session.run([h, t, g, y], {x: 2.0}) == [48, 48, 32, 16]
        assert session.run(y, {x: 3.0}) == 81


def test_forward_only_accumulates_nothing() -> None:
    x = number(2.0)
    y = tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, tf.sin(r)), [0, x])[1]
    before = tf.get_default_graph().ir()
    gradients(y, [x])
    graph = tf.get_default_graph().ir()
    forward = graph.with_nodes(graph.nodes[: len(before.nodes)])
    assert materialise(forward).by_name[y.op.inputs[0].op.name].op.name == "StatelessWhile"
    assert materialise(forward).nodes == forward.nodes


def test_registered_gradient() -> None:
    name = next(_NAMES)

    @RegisterGradient(name)
    def straight(op: Any, g: Any) -> Any:
        assert op.type == "Sign"
        assert op.get_attr("T") is tf.float32
        return g * op.inputs[0]

    x = number([2.0, -3.0])
    with tf.get_default_graph().gradient_override_map({"Sign": name}):
        y = tf.sign(x)
    z = tf.sign(x)
    np.testing.assert_array_equal(ran(gradients(y, [x])[0])[0], [2, -3])
    np.testing.assert_array_equal(ran(gradients(z, [x])[0])[0], [0, 0])
    np.testing.assert_array_equal(ran(jvp(y, [x], [f32([1, 2])])[0])[0], [2, -6])
    with pytest.raises(RuleError, match="already"):
        RegisterGradient(name)(straight)


def test_registered_gradient_in_a_loop() -> None:
    name = next(_NAMES)
    RegisterGradient(name)(lambda op, g: g * op.inputs[0] * 10.0)
    x = number(2.0)
    with tf.get_default_graph().gradient_override_map({"Neg": name}):
        y = tf.while_loop(lambda i, r: i < 2, lambda i, r: (i + 1, -r), [0, x])[1]
    assert ran(gradients(y, [x])[0]) == [20.0 * -20.0]


def test_declared_to_have_none() -> None:
    name = next(_NAMES)
    NotDifferentiable(name)
    x = number(2.0)
    with tf.get_default_graph().gradient_override_map({"Sin": name}):
        assert gradients(tf.sin(x), [x]) == [None]


def test_unregistered_gradient() -> None:
    x = number(2.0)
    with tf.get_default_graph().gradient_override_map({"Sin": "NobodyRegisteredThis"}):
        y = tf.sin(x)
    with pytest.raises(RuleError, match="NobodyRegisteredThis"):
        gradients(y, [x])


@pytest.mark.parametrize("inside", ["", "loop", "branch"])
def test_custom_gradient(inside: str) -> None:
    @custom_gradient
    def clipped(x: Any, y: Any) -> Any:
        def grad(g: Any) -> Any:
            return g * y * 100.0, None

        return x * y, grad

    x, y = number(2.0), number(3.0)
    if inside == "loop":
        z = tf.while_loop(lambda i, r: i < 2, lambda i, r: (i + 1, clipped(r, y)), [0, x])[1]
        want = 300.0**2
    elif inside == "branch":
        z, want = tf.cond(x > 0.0, lambda: clipped(x, y), lambda: x), 300.0
    else:
        z, want = clipped(x, y), 300.0
    assert ran(z)[0] == (18 if inside == "loop" else 6)
    assert ran(gradients(z, [x])[0]) == [want]


def test_custom_gradient_of_two_results() -> None:
    @custom_gradient
    def f(x: Any) -> Any:
        return (x * 2.0, x * 3.0), lambda a, b: a * 10.0 + b * 100.0

    x = number(1.0)
    a, b = f(x)
    assert ran(gradients([a, b], [x])[0], gradients(b, [x])[0]) == [110.0, 100.0]


def test_primitives_without_functional_form_are_refused() -> None:
    graph = tf.get_default_graph()
    x, p = number(2.0), tf.placeholder_with_default(True, [])
    switch = graph.add_node("Switch", (x, p))
    with pytest.raises(RuleError, match="no functional form"):
        gradients(tf.sin(switch.outputs[0]), [x])


def test_edges_are_those_of_tensorflow() -> None:
    x = number([-1.0, 0.0, 4.0])
    root = tf.where(x > 1.0, tf.sqrt(x), tf.zeros_like(x))
    np.testing.assert_array_equal(ran(gradients(root, [x])[0])[0], [0, 0, 0.25])
    a, b = number([1.0, 2.0]), number([1.0, 3.0])
    ga, gb = gradients(tf.maximum(a, b), [a, b])
    np.testing.assert_array_equal(ran(ga, gb), [[1, 0], [0, 1]])
    m = number([3.0, 1.0, 3.0])
    np.testing.assert_array_equal(ran(gradients(tf.reduce_max(m), [m])[0])[0], [0.5, 0, 0.5])
    z = number([0.0, 2.0, 0.0])
    np.testing.assert_array_equal(ran(gradients(tf.reduce_prod(z), [z])[0])[0], [0, 0, 0])
    w = number([0.0, 2.0, 3.0])
    np.testing.assert_array_equal(ran(gradients(tf.reduce_prod(w), [w])[0])[0], [6, 0, 0])


def test_lists() -> None:
    """Lists as loops of files have them: pushed, popped, set and read."""
    from graphvm.graph.conversion import apply, output

    def program(x: Any, y: Any) -> Any:
        kind = {"element_dtype": tf.float64}
        shape = tf.constant([3])
        empty = output("EmptyTensorList", (shape, -1), {**kind, "shape_type": tf.int32})
        one = output("TensorListPushBack", (empty, x * y), kind)
        two = output("TensorListPushBack", (one, tf.sin(x)), kind)
        rest, last = apply("TensorListPopBack", (two, shape), kind).outputs
        there = output("TensorListSetItem", (two, 0, last * y), kind)
        item = output("TensorListGetItem", (there, 0, shape), kind)
        stacked = output("TensorListStack", (there, shape), kind)
        first = output("TensorListGetItem", (rest, 0, shape), kind)
        unstacked = output(
            "TensorListFromTensor", (stacked * x, shape), {**kind, "shape_type": tf.int32}
        )
        again = output("TensorListGetItem", (unstacked, 1, shape), kind)
        return [item * item, stacked * stacked, first * first, again * y]

    checked(program, [np.array([0.3, -0.4, 0.7]), np.float64(1.1)])


@pytest.mark.parametrize("resource", [True, False])
def test_by_the_variable_itself(resource: bool) -> None:
    v = tf.get_variable(f"v{resource}", initializer=2.0, use_resource=resource)
    g = tf.gradients(v, v) + tf.gradients([v, v * 3.0], v)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(g) == [1.0, 4.0]


def test_what_is_no_tensor() -> None:
    x = tf.placeholder(tf.float32, [3])
    for ys, xs in ((None, x), (x, None), ([None], x), (x, [x, None])):
        with pytest.raises(TypeError, match="must be tensors, got None"):
            tf.gradients(ys, xs)
    with pytest.raises(ValueError, match=r"has the shape \[4\], not \[3\]"):
        tf.gradients(x * 2.0, x, grad_ys=tf.ones([4]))
    assert tf.gradients([], x) == [None]
