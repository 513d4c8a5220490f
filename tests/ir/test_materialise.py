"""What `materialise` carries from bodies to derived bodies, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.derivatives.materialise import materialise
from graphvm_runtime.ir.derivatives.saved import FAMILY, SAVED, path_attr, path_of
from graphvm_runtime.ir.graph import Endpoint, Graph, reachable
from graphvm_runtime.ir.verify import verify
from graphvm_runtime.protos import types_pb2
from tests.derivatives.evaluate import Machine

FLOAT = types_pb2.DT_FLOAT
Step = Callable[[Any, Any], Any]


def needed(*fetches: Any) -> tuple[Graph, list[Endpoint]]:
    """The part of the default graph that some tensors need."""
    graph = tf.get_default_graph().ir()
    ends = [t.endpoint for t in fetches]
    return graph.with_nodes(reachable(graph.by_name, [e.node for e in ends])), ends


def made(*fetches: Any) -> Graph:
    """The same, materialised and checked."""
    graph = materialise(*needed(*fetches))
    verify(graph)
    every = [*graph.nodes, *(n for f in graph.library.values() for n in f.body.nodes)]
    assert all(n.op.name != SAVED and FAMILY not in n.attrs for n in every)
    return graph


def pushed(graph: Graph) -> list[str]:
    """What is accumulated, as text: type of the elements of each list."""
    return sorted(
        str(f.body.type_of(n.inputs[1]))
        for f in graph.library.values()
        for n in f.body.nodes
        if n.op.name == "TensorListPushBack"
    )


def loop(step: Step, known: bool = True) -> tuple[Any, Any, Any]:
    """A loop over a vector with a scalar from outside: both, and the result."""
    x = tf.placeholder(tf.float32, [3] if known else None, name="x")
    y = tf.placeholder(tf.float32, [], name="y")
    invariants = [tf.TensorShape([]), x.shape]
    z = tf.while_loop(lambda i, r: i < 4, lambda i, r: (i + 1, step(r, y)), [0, x], invariants)[1]
    return x, y, z


@pytest.mark.parametrize(
    ("step", "want"),
    [
        (lambda r, y: r + 1.0, []),
        (lambda r, y: r * 2.0 - y, []),
        (lambda r, y: r * y, ["f32[3]"]),
        (lambda r, y: tf.tanh(r), ["f32[3]"]),
        (lambda r, y: tf.tanh(r * tf.exp(y)), ["f32[3]", "f32[3]"]),
        (lambda r, y: tf.sin(r) * tf.cos(r), ["f32[3]", "f32[3]", "f32[3]"]),
        (lambda r, y: tf.tanh(tf.tanh(r)), ["f32[3]", "f32[3]"]),
        (lambda r, y: r * tf.exp(tf.sin(y)), ["f32[3]"]),
    ],
    ids=["add", "scale", "multiply", "tanh", "of invariants", "two", "chain", "deep invariants"],
)
def test_only_what_backward_needs(step: Step, want: list[str]) -> None:
    x, y, z = loop(step)
    assert pushed(made(*[g for g in tf.gradients(z, [x, y]) if g is not None])) == want


def test_nothing_forwards() -> None:
    x, y, z = loop(lambda r, y: tf.sin(r) * y)
    tf.gradients(z, [x, y])
    graph, ends = needed(z)
    assert materialise(graph, ends) is graph


def test_a_gradient_that_nobody_fetches_costs_nothing() -> None:
    x, y, z = loop(lambda r, y: r * y)
    by_x, by_y = tf.gradients(z, [x, y])
    assert pushed(made(by_x)) == []
    assert pushed(made(by_y)) == ["f32[3]"]
    value = {"x:0": np.array([1, 2, 3], np.float32), "y:0": np.float32(2)}
    got = Machine(tf.get_default_graph().ir(), [by_x.name]).run([by_x.name], value)
    np.testing.assert_array_equal(got[0], [16, 16, 16])


def test_shapes_in_place_of_values() -> None:
    """What only broadcasting asks for is its shape; of the other values none is carried."""
    w = tf.placeholder(tf.float32, None)
    x, _, z = loop(lambda r, y: (r + y) - w, known=False)
    graph = made(*tf.gradients(z, [x]))
    assert pushed(graph) == ["i32[?]"]


def test_a_value_named_twice_is_carried_once() -> None:
    x, y, z = loop(lambda r, y: tf.sin(r) * y)
    first = tf.gradients(z, [x, y])
    (second,) = tf.gradients(first[1], [y])
    graph = made(*first, second)
    forward = graph.by_name[z.op.inputs[0].op.name]
    body = graph.function(forward.attrs["body"]).body
    pushes = [n.inputs[1] for n in body.nodes if n.op.name == "TensorListPushBack"]
    assert len(pushes) == len(set(pushes)) == 2


def test_loops_in_loops_carry_lists_of_lists() -> None:
    def step(r: Any, y: Any) -> Any:
        return tf.while_loop(lambda j, s: j < 2, lambda j, s: (j + 1, tf.sin(s)), [0, r])[1] * y

    x, _, z = loop(step)
    graph = made(*tf.gradients(z, [x]))
    # the integers count the inner iterations
    assert pushed(graph) == ["f32[3]", "i32[]", "variant[]"]


def test_branches_give_more_outputs() -> None:
    x = tf.placeholder(tf.float32, [3])
    z = tf.cond(x[0] > 0.0, lambda: tf.sin(tf.exp(x)), lambda: x)
    graph = made(*tf.gradients(z, [x]))
    branch = graph.by_name[z.op.inputs[0].op.name]
    assert len(branch.outputs) == 2
    other = graph.function(branch.attrs["else_branch"]).body
    assert "FakeParam" in {n.op.name for n in other.nodes}


def test_bodies_that_do_not_change_are_shared() -> None:
    x, _, z = loop(lambda r, y: r + y)
    graph = tf.get_default_graph().ir()
    again = made(*tf.gradients(z, [x]))
    name = z.op.inputs[0].op.name
    assert again.by_name[name].attrs["cond"].name in again.library
    assert set(graph.library) & set(again.library) <= set(graph.library)


def test_a_body_used_by_two_loops_is_made_for_each() -> None:
    x, _, z = loop(lambda r, y: tf.sin(r) * y)
    node = z.op.inputs[0].op
    twin = tf.get_default_graph().add_node(node.type, (list(node.inputs),), node.node.attrs, "twin")
    g = tf.gradients(z, [x])[0] + tf.gradients(twin.outputs[1], [x])[0]
    feeds = {"x:0": np.array([0.1, 0.2, 0.3], np.float32), "y:0": np.float32(1.5)}
    alone = tf.gradients(z, [x])[0]
    one, both = Machine(tf.get_default_graph().ir()).run([alone.name, g.name], feeds)
    np.testing.assert_allclose(both, 2 * one, rtol=1e-6)


def test_paths_round_trip() -> None:
    steps = (("while", "body"), ("cond/if", "then_branch"))
    graph = tf.get_default_graph()
    for last in ("mul_1:2", "inner/loop#trips"):
        parts = path_attr(steps, last.removesuffix("#trips"))
        if last.endswith("#trips"):
            parts = (*parts, b"#trips")
        node = graph.add_node("_Saved", (), {"dtype": tf.float32, "path": parts}, "saved").node
        assert path_of(node) == (steps, last)


def test_a_path_that_leads_nowhere() -> None:
    x, _, z = loop(lambda r, y: tf.sin(r))
    (g,) = tf.gradients(z, [x])
    graph, ends = needed(g)
    loop_name = z.op.inputs[0].op.name
    without = [
        n.changed(after=[a for a in n.after if a != loop_name])
        for n in graph.nodes
        if n.name != loop_name
    ]
    with pytest.raises(GraphError, match=r"leads through|which is not there"):
        materialise(graph.with_nodes(without), ends)


def chain(depth: int, last: str | None) -> Any:
    """A file in which each function calls the next; the last negates, or calls one of them."""
    file = tf.GraphDef()
    for number in range(depth):
        function = file.library.function.add()
        function.signature.name = f"f{number}"
        given, result = function.signature.input_arg.add(), function.signature.output_arg.add()
        given.name, given.type, result.name, result.type = "x", FLOAT, "y", FLOAT
        end = number + 1 == depth
        node = function.node_def.add(name="c", op="PartitionedCall", input=["x"])
        if end and last is None:
            node.op = "Neg"
            node.attr["T"].type = FLOAT
            function.ret["y"] = "c:y:0"
            continue
        node.attr["f"].func.name = f"f{number + 1}" if not end or last is None else last
        node.attr["Tin"].list.type.append(FLOAT)
        node.attr["Tout"].list.type.append(FLOAT)
        function.ret["y"] = "c:output:0"
    call = file.node.add(name="call", op="PartitionedCall", input=["x"])
    call.attr["f"].func.name = "f0"
    call.attr["Tin"].list.type.append(FLOAT)
    call.attr["Tout"].list.type.append(FLOAT)
    return file


def test_long_chains_of_calls() -> None:
    """What a function holds is found without going as deep as its calls."""
    x = tf.placeholder(tf.float32, [], name="x")
    file = chain(2000, None)
    file.node.add(name="x", op="Placeholder").attr["dtype"].type = FLOAT
    with tf.Graph().as_default():
        tf.import_graph_def(file, name="")
        graph = tf.get_default_graph().ir()
    assert materialise(graph) is graph
    tf.import_graph_def(chain(200, None), {"x": x}, name="")
    with tf.Session() as session:
        assert session.run("call:0", {x: 2.0}) == -2.0


def test_calls_without_end() -> None:
    """They are an error that names the function."""
    x = tf.placeholder(tf.float32, [], name="x")
    tf.import_graph_def(chain(2, "f0"), {"x": x}, name="")
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.ResourceExhaustedError, match=r"limit of \d+ frames, here 'f"),
    ):
        session.run("call:0", {x: 2.0})
