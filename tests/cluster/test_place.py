"""Where nodes go, and what crosses when they are cut apart."""

from collections.abc import Sequence
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.compiler.passes.partition import GraphPart, Partition, partition
from graphvm_runtime.compiler.passes.place import Place
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.device_spec import DeviceSpec, parsed
from graphvm_runtime.engine.graph_store import GraphStore
from graphvm_runtime.errors import InvalidArgumentError, UnimplementedError
from graphvm_runtime.ir.graph import Graph

DEVICES = tuple(
    parsed(f"/job:{job}/replica:0/task:{i}/device:CPU:0")
    for job, count in (("worker", 2), ("ps", 1))
    for i in range(count)
)
W0, W1, PS = DEVICES
_ON = {W0: "/job:worker/task:0", W1: "/job:worker/task:1", PS: "/job:ps"}


def on(device: DeviceSpec) -> Any:
    return tf.device(_ON[device])


def compiled(*fetches: Any, feeds: Sequence[Any] = (), soft: bool = True) -> tuple[Graph, Request]:
    graph = fetches[0].graph
    store = GraphStore()
    store.extend(graph.nodes_since(0), graph.library)
    tensors = [f for f in fetches if hasattr(f, "endpoint")]
    targets = tuple(f.name for f in fetches if not hasattr(f, "endpoint"))
    request = Request(tuple(f.endpoint for f in feeds), tuple(t.endpoint for t in tensors), targets)
    return Place(DEVICES, W0, soft)(*store.compiled(request, optimise=True)[:2])


def placed(*fetches: Any, **options: Any) -> dict[str, DeviceSpec]:
    graph, _ = compiled(*fetches, **options)
    return {n.name: n.device for n in graph.nodes}


def cut(*fetches: Any, **options: Any) -> dict[DeviceSpec, GraphPart]:
    return {s.device: s for s in partition(*compiled(*fetches, **options), W0)}


def sends(shares: dict[DeviceSpec, GraphPart]) -> list[str]:
    """What crosses, as `tensor: from > to`."""
    names = {str(d).encode(): k for d, k in ((W0, "w0"), (W1, "w1"), (PS, "ps"))}
    return sorted(
        f"{n.attrs['tensor_name'].decode()}: {names[n.attrs['send_device']]} > "
        f"{names[n.attrs['recv_device']]}"
        for s in shares.values()
        for nodes in (s.graph.nodes, *(f.body.nodes for f in s.graph.library.values()))
        for n in nodes
        if n.op.name == "_Send"
    )


def test_names_may_be_partial() -> None:
    with tf.device("/job:worker/task:1"):
        a = tf.random_uniform([], name="a")
    with tf.device("/job:ps"):
        b = tf.random_uniform([], name="b")
    with tf.device("/task:1/cpu:0"):
        c = tf.random_uniform([], name="c")
    with tf.device("/cpu:0"):
        d = tf.random_uniform([], name="d")
    e = tf.random_uniform([], name="e")
    found = placed(a, b, c, d, e)
    where = {k: v for k, v in found.items() if k.count("/") == 1 and k.endswith("/RandomUniform")}
    assert where == {
        "a/RandomUniform": W1, "b/RandomUniform": PS, "c/RandomUniform": W1,
        "d/RandomUniform": W0, "e/RandomUniform": W0,
    }  # fmt: skip


def test_an_unknown_task_names_the_node_and_the_line() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:7"):
        y = tf.sin(x, name="far")
    with pytest.raises(InvalidArgumentError, match="no device /job:worker/task:7") as caught:
        placed(y)
    assert caught.value.node_name == "far"
    assert "test_place.py" in caught.value.made


def test_another_kind_of_device_is_a_question_of_softness() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:1/gpu:0"):
        y = tf.sin(x, name="y")
    assert placed(y)["y"] == W1
    with pytest.raises(InvalidArgumentError, match="allow soft placement"):
        placed(y, soft=False)


def test_what_uses_a_resource_goes_with_it() -> None:
    with on(PS):
        v = tf.Variable(1.0, name="v")
    with on(W1):
        more = tf.assign_add(v, 1.0)
        read = v.read_value()
        y = tf.exp(read, name="y")
    graph, _ = compiled(more.op, y)
    assert {n.device for n in graph.nodes if "Variable" in n.op.name} == {PS}
    assert graph.by_name["y"].device == W1


def test_a_variable_stays_where_it_is_whatever_else_is_fetched() -> None:
    v = tf.Variable(1.0, name="v")
    with on(W1):
        more = tf.assign_add(v, 1.0)
    for fetch in (v.initializer, more.op):
        assert placed(fetch)["v"] == W0


def test_colocated_nodes_go_together() -> None:
    with on(W1):
        a = tf.random_uniform([], name="a")
    with tf.colocate_with(a.op):
        b = tf.random_uniform([], name="b")
    assert placed(a, b)["b/RandomUniform"] == W1


def test_constants_and_feeds_go_where_they_are_used() -> None:
    x = tf.placeholder(tf.float32, [])
    with on(W0):
        a = tf.sin(x) + 2.0
    with on(W1):
        b = tf.sin(x) + 2.0
    shares = cut(a, b, feeds=[x])
    assert sends(shares) == []
    assert [s.feeds for s in shares.values()] == [(0,), (0,)]


def test_an_unplaced_node_follows_its_inputs() -> None:
    x = tf.placeholder(tf.float32, [])
    with on(W1):
        a = tf.sin(x)
    assert sends(cut(tf.cos(a) * 2.0, feeds=[x])) == []


def test_a_value_is_sent_once_to_each_device() -> None:
    x = tf.placeholder(tf.float32, [])
    with on(W0):
        a = tf.sin(x, name="a")
    with on(W1):
        b = a + 1.0
        c = a * b
    assert sends(cut(b, c, feeds=[x])) == ["a:0: w0 > w1"]


def test_a_control_edge_crosses_as_a_signal() -> None:
    with on(W0):
        v = tf.Variable(1.0, name="v")
        more = tf.assign_add(v, 1.0)
    with on(W1), tf.control_dependencies([more]):
        y = tf.random_uniform([])
    assert sends(cut(y)) == [f"^{more.op.name}: w0 > w1"]


def test_a_group_needs_no_messages() -> None:
    variables = []
    for device in DEVICES:
        with on(device):
            variables.append(tf.Variable(1.0))
    shares = cut(tf.group([v.initializer for v in variables]))
    assert sends(shares) == []
    assert len(shares) == 3


def loop_over(body: Any, *start: Any) -> Any:
    n = tf.placeholder(tf.int32, [], name="n")
    with on(W0):
        return tf.while_loop(lambda i, *_: i < n, body, (tf.constant(0), *start))


def test_what_a_loop_only_reads_is_sent_once_before_it() -> None:
    with on(W0):
        w = tf.random_uniform([], name="w")

    with on(W1):
        start = tf.random_uniform([])

    def other(i: Any, y: Any) -> Any:
        with on(W1):
            z = y * w
        with on(W0):
            return i + 1, z

    end = loop_over(other, start)
    shares = cut(end[1], feeds=[start.graph.get_tensor_by_name("n:0")])
    outside = [n.name for s in shares.values() for n in s.graph.nodes if n.op.name == "_Send"]
    assert [n for n in outside if n.startswith("w/")]
    # inside: the predicate one way only; and the other side keeps pace
    inside = [s for s in sends(shares) if "Less" in s]
    assert inside == ["Less:0: w0 > w1"]


def test_a_device_that_only_listens_is_not_left_behind() -> None:
    n = tf.placeholder(tf.int32, [])

    def cond(i: Any, s: Any) -> Any:
        return i < n

    def one_way(i: Any, s: Any) -> Any:
        with on(W1):
            t = s + tf.cast(i, tf.float32)
        with on(W0):
            return [i + 1, t]

    with on(W0):
        end = tf.while_loop(cond, one_way, [tf.constant(0), tf.constant(0.0)])
    crossing = sends(cut(end[1], feeds=[n]))
    assert "^while/pace: w1 > w0" in crossing


def test_a_list_lives_with_what_it_collects() -> None:
    def body(i: Any, y: Any) -> Any:
        with on(W1):
            half = tf.sin(y, name="half")
        with on(W0):
            return i + 1, half + 1.0

    x = tf.placeholder(tf.float32, [])
    end = loop_over(body, x)[1]
    (slope,) = tf.gradients(end, [x], colocate_gradients_with_ops=True)
    graph, _ = compiled(slope, feeds=[x, end.graph.get_tensor_by_name("n:0")])
    lists = [
        n
        for nodes in (graph.nodes, *(f.body.nodes for f in graph.library.values()))
        for n in nodes
        if n.op.name in ("TensorListPushBack", "EmptyTensorList", "TensorListGetItem")
    ]
    assert lists
    assert {n.device for n in lists} <= {W0, W1}


def test_a_resource_cannot_leave_its_device() -> None:
    with on(W0):
        a = tf.FIFOQueue(1, [tf.float32], [[]], name="a")
    with on(W1):
        b = tf.FIFOQueue(1, [tf.float32], [[]], name="b")
    choice = tf.placeholder(tf.bool, [])
    chosen = tf.cond(choice, lambda: a.queue_ref, lambda: b.queue_ref)
    size = tf.raw_ops.QueueSizeV2(handle=chosen)
    with pytest.raises(InvalidArgumentError, match="a resource cannot leave its device"):
        cut(size, feeds=[choice])


@pytest.mark.parametrize("elsewhere", [W1, PS])
def test_dataflow_primitives_stay_in_one_place(elsewhere: DeviceSpec) -> None:
    x, choice = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    with on(W1):
        taken = tf.raw_ops.Switch(data=tf.sin(x), pred=choice).output_true
    with on(elsewhere):
        y = tf.cos(taken)
    graph, request = compiled(y, feeds=[x, choice])
    assert graph.is_dataflow
    if elsewhere == W1:
        (share,) = Partition(W0)(graph, request)
        assert share.device == W1
    else:
        with pytest.raises(UnimplementedError, match="do not span devices"):
            Partition(W0)(graph, request)


def test_a_read_goes_with_its_variable_even_if_it_is_colocated_elsewhere() -> None:
    with on(W0):
        v = tf.Variable(1.0, name="v")
    with on(W1):
        w = tf.Variable(1.0, name="w")
    with tf.colocate_with(w.op):
        read = v.read_value()
    found = placed(read + w.read_value())
    assert found["v"] == W0
    assert found["w"] == W1
