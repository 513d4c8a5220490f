"""Changes to the fields of a GraphDef, as a program with a fault might write them.

A mutation is a function of a random generator and a message, which it changes in place; what it
draws depends on the generator alone, so a seed says all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from graphvm_runtime.ops import names
from graphvm_runtime.protos.attr_value_pb2 import AttrValue
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.node_def_pb2 import NodeDef
from graphvm_runtime.protos.tensor_pb2 import TensorProto
from graphvm_runtime.protos.tensor_shape_pb2 import TensorShapeProto

T = TypeVar("T")
INTEGERS = (
    -(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 63, 254, 255, 1025, 2**15, 2**20, 2**30, 2**31 - 1,
    2**33, 2**40, 2**62, 2**63 - 1,
)  # fmt: skip
TEXTS = (
    b"", b"x", b"\xff\xfe", b"SAME", b"NHWC", b"loc:@nowhere", b"ab,bc->ac", b"->", b",", b"\x00",
    b"/job:worker/task:1", b"/device:GPU:0", b"no such device", b"^x", b"x:0", b"x:-1", b"a b",
    b"x:99999999999999999999", b"_x", "é".encode(), b"x" * 2000,
    b"x:" + b"9" * 5000, "x:\u0663".encode(), "x:\u00b2".encode(),
)  # fmt: skip
HINTS = (
    "_output_shapes", "_class", "_handle_type", "_gradient_op_type", "_saved", "_family",
    "_XlaScope", "_stateful_parallelism", "T", "dtype", "shape", "value", "N", "axis",
)  # fmt: skip
_MISSING = "unknown_op_"


def _pick(random: Random, items: Sequence[T]) -> T:
    return items[random.randrange(len(items))]


def _text(random: Random) -> str:
    return _pick(random, TEXTS).decode("utf-8", "replace")


def all_nodes(graph: GraphDef) -> list[NodeDef]:
    """The nodes of the graph and of its functions."""
    return [*graph.node, *(n for f in graph.library.function for n in f.node_def)]


def _attrs(graph: GraphDef) -> list[tuple[NodeDef, str]]:
    return [(node, key) for node in all_nodes(graph) for key in sorted(node.attr)]


def change_inputs(random: Random, graph: GraphDef) -> None:
    """Other inputs, fewer, more, or in another order."""
    nodes = all_nodes(graph)
    node = _pick(random, nodes)
    other = _pick(random, nodes)
    new = _pick(random, [
        other.name, f"{other.name}:1", f"^{other.name}", f"{other.name}:output:0", node.name,
        _text(random), f"{other.name}:{_pick(random, INTEGERS)}", f"{other.name}:{'9' * 5000}",
    ])  # fmt: skip
    choice = random.randrange(5)
    if not node.input or choice == 0:
        node.input.append(new)
    elif choice == 1:
        del node.input[random.randrange(len(node.input))]
    elif choice == 2:
        node.input[random.randrange(len(node.input))] = new
    else:
        inputs = list(node.input)
        random.shuffle(inputs)
        node.input[:] = inputs


def change_shape(random: Random, shape: TensorShapeProto) -> None:
    """Other dimensions."""
    choice = random.randrange(5)
    if choice == 0:
        shape.unknown_rank = not shape.unknown_rank
    elif choice == 1 and shape.dim:
        del shape.dim[random.randrange(len(shape.dim))]
    elif choice == 2 and shape.dim:
        shape.dim[random.randrange(len(shape.dim))].size = _pick(random, INTEGERS)
    elif choice == 3:
        for _ in range(_pick(random, (1, 2, 70, 300))):
            shape.dim.add(size=_pick(random, (0, 1, 1, 2)))
    else:
        shape.dim.add(size=_pick(random, INTEGERS))


def change_tensor(random: Random, tensor: TensorProto) -> None:
    """Another shape, type or content."""
    choice = random.randrange(6)
    if choice == 0:
        change_shape(random, tensor.tensor_shape)
    elif choice == 1:
        tensor.dtype = random.randrange(0, 130)  # type: ignore[assignment]
    elif choice == 2:
        tensor.tensor_content = tensor.tensor_content[: random.randrange(9)]
    elif choice == 3:
        tensor.tensor_content = random.randbytes(random.randrange(40))
    elif choice == 4:
        tensor.ClearField(_pick(random, ("int_val", "float_val", "string_val", "int64_val")))
    else:
        tensor.int_val.append(_pick(random, (-1, 0, 1, 5, 2**31 - 1, -(2**31))))


def change_attr(random: Random, graph: GraphDef) -> None:
    """Another value of an attribute, of its kind."""
    attrs = _attrs(graph)
    if not attrs:
        return
    node, key = _pick(random, attrs)
    value = node.attr[key]
    field = value.WhichOneof("value")
    if field == "i":
        value.i = _pick(random, INTEGERS)
    elif field == "s":
        value.s = _pick(random, TEXTS)
    elif field == "f":
        value.f = _pick(random, (0.0, -1.0, 1e30, float("nan"), float("inf")))
    elif field == "b":
        value.b = not value.b
    elif field == "type":
        value.type = random.randrange(0, 130)  # type: ignore[assignment]
    elif field == "shape":
        change_shape(random, value.shape)
    elif field == "tensor":
        change_tensor(random, value.tensor)
    elif field == "func":
        value.func.name = _text(random)
    elif field == "list":
        _change_list(random, value)


def _change_list(random: Random, value: AttrValue) -> None:
    for field in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        items: Any = getattr(value.list, field)
        if not items:
            continue
        choice = random.randrange(3)
        if choice == 0:
            del items[random.randrange(len(items))]
        elif choice == 1 and field == "i":
            items[random.randrange(len(items))] = _pick(random, INTEGERS)
        elif choice == 1 and field == "shape":
            change_shape(random, items[random.randrange(len(items))])
        else:
            items.extend([items[0]] * _pick(random, (1, 2, 300)))
        return
    value.list.i.append(_pick(random, INTEGERS))


def swap_attr(random: Random, graph: GraphDef) -> None:
    """The value of one attribute under the name of another."""
    attrs = _attrs(graph)
    if not attrs:
        return
    node, key = _pick(random, attrs)
    from_node, from_key = _pick(random, attrs)
    copy = AttrValue()
    copy.CopyFrom(from_node.attr[from_key])
    node.attr[_pick(random, (key, _pick(random, HINTS)))].CopyFrom(copy)


def drop_attr(random: Random, graph: GraphDef) -> None:
    """An attribute less."""
    attrs = _attrs(graph)
    if attrs:
        node, key = _pick(random, attrs)
        del node.attr[key]


def add_hint(random: Random, graph: GraphDef) -> None:
    """An attribute that a node may carry beside those of its op, of any kind."""
    value = AttrValue()
    choice = random.randrange(6)
    if choice == 0:
        value.i = _pick(random, INTEGERS)
    elif choice == 1:
        value.s = _pick(random, TEXTS)
    elif choice == 2:
        value.list.s.extend([_pick(random, TEXTS), b"loc:@x"])
    elif choice == 3:
        change_shape(random, value.list.shape.add())
    elif choice == 4:
        change_shape(random, value.shape)
    else:
        value.func.name = _text(random)
    _pick(random, all_nodes(graph)).attr[_pick(random, HINTS)].CopyFrom(value)


def change_op(random: Random, graph: GraphDef) -> None:
    """Another op with the same inputs and attributes."""
    node = _pick(random, all_nodes(graph))
    node.op = _pick(random, [*names(), "", _MISSING, _text(random)])


def change_name(random: Random, graph: GraphDef) -> None:
    """Another name: taken, unusual, or none."""
    nodes = all_nodes(graph)
    _pick(random, nodes).name = _pick(random, (_pick(random, nodes).name, _text(random), ""))


def change_device(random: Random, graph: GraphDef) -> None:
    """Another device."""
    _pick(random, all_nodes(graph)).device = _text(random)


def drop_node(random: Random, graph: GraphDef) -> None:
    """A node less, or twice, or in another place."""
    nodes: Any = graph.node
    if graph.library.function and random.random() < 0.5:
        nodes = _pick(random, list(graph.library.function)).node_def
    if not nodes:
        return
    at = random.randrange(len(nodes))
    if random.random() < 0.5:
        del nodes[at]
    else:
        nodes.add().CopyFrom(nodes[at])


def change_function(random: Random, graph: GraphDef) -> None:
    """Another signature, name or result of a function."""
    if not graph.library.function:
        return
    function = _pick(random, list(graph.library.function))
    choice = random.randrange(5)
    if choice == 0:
        function.signature.name = _text(random)
    elif choice == 1 and function.ret:
        function.ret[_pick(random, sorted(function.ret))] = _text(random)
    elif choice == 2 and function.signature.input_arg:
        del function.signature.input_arg[random.randrange(len(function.signature.input_arg))]
    elif choice == 3 and function.signature.input_arg:
        arg = _pick(random, list(function.signature.input_arg))
        arg.type = random.randrange(0, 130)  # type: ignore[assignment]
    elif function.signature.output_arg:
        arg = _pick(random, list(function.signature.output_arg))
        arg.number_attr = _text(random)


def change_versions(random: Random, graph: GraphDef) -> None:
    """Another producer or consumer."""
    graph.versions.producer = _pick(random, (-1, 0, 1, 8, 21, 27, 1000, 5000))
    graph.versions.min_consumer = _pick(random, (-1, 0, 1, 30, 10**6))


MUTATORS: tuple[Callable[[Random, GraphDef], None], ...] = (
    change_inputs, change_inputs, change_attr, change_attr, change_attr, swap_attr, drop_attr,
    add_hint, change_op, change_name, change_device, drop_node, change_function, change_versions,
)  # fmt: skip


def mutate(random: Random, graph: GraphDef) -> list[str]:
    """One to three mutations; their names."""
    done = []
    for _ in range(random.randrange(1, 4)):
        if all_nodes(graph):
            mutator = _pick(random, MUTATORS)
            mutator(random, graph)
            done.append(mutator.__name__)
    return done
