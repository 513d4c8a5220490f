"""The messages are TensorFlow's on the wire, and ours in the process."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor, text_format, unknown_fields
from google.protobuf.message import Message

from graphvm_runtime.protos import graph_pb2, meta_graph_pb2, node_def_pb2, variable_pb2

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "tests" / "data" / "graphs"
MODULES = sorted(p.stem for p in (ROOT / "runtime/graphvm_runtime/protos").glob("*_pb2.py"))


def unknown_in(message: Message) -> list[str]:
    """Paths of all messages below `message` that hold a field we do not know."""
    found = [message.DESCRIPTOR.full_name] * bool(len(unknown_fields.UnknownFieldSet(message)))
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            values = [v for v in value.values() if isinstance(v, Message)]
        else:
            values = [value] if isinstance(value, Message) else list(value)
        found += [path for v in values for path in unknown_in(v)]
    return found


@pytest.mark.parametrize("path", sorted(GRAPHS.glob("*.pb")), ids=lambda p: p.stem)
def test_a_graph_of_tensorflow_is_known_whole_and_survives(path: Path) -> None:
    data = path.read_bytes()
    graph = graph_pb2.GraphDef.FromString(data)
    assert graph.node
    assert not unknown_in(graph)
    assert len(graph.SerializeToString()) == len(data)  # the order in maps is free
    assert graph_pb2.GraphDef.FromString(graph.SerializeToString()) == graph
    assert text_format.Parse(text_format.MessageToString(graph), graph_pb2.GraphDef()) == graph


def test_a_meta_graph_of_tensorflow_is_known_whole() -> None:
    data = (GRAPHS / "resume_training.meta").read_bytes()
    meta = meta_graph_pb2.MetaGraphDef.FromString(data)
    assert not unknown_in(meta)
    assert len(meta.SerializeToString()) == len(data)
    kept = meta.collection_def["variables"].bytes_list.value
    variables = [variable_pb2.VariableDef.FromString(v) for v in kept]
    assert all(v.variable_name and v.initializer_name and not unknown_in(v) for v in variables)


def test_a_text_graph_of_tensorflow_is_read() -> None:
    text = (GRAPHS / "written_2.pbtxt").read_text()
    graph = text_format.Parse(text, graph_pb2.GraphDef())
    assert graph.node[0].op == "Const"
    assert graph.node[0].attr["value"].tensor.tensor_shape.dim[1].size == 6


def test_unknown_fields_survive() -> None:
    extra = b"\xba\x3e\x05hello"  # field 999, five bytes
    node = node_def_pb2.NodeDef(name="a", op="NoOp").SerializeToString()
    assert node_def_pb2.NodeDef.FromString(node + extra).SerializeToString() == node + extra
    graph = graph_pb2.GraphDef()
    graph.node.add().ParseFromString(node + extra)
    again = graph_pb2.GraphDef.FromString(graph.SerializeToString())
    copy = graph_pb2.GraphDef()
    copy.node.add().CopyFrom(again.node[0])
    assert copy.node[0].SerializeToString() == node + extra


def test_names_are_our_own() -> None:
    for module in MODULES:
        file = importlib.import_module(f"graphvm_runtime.protos.{module}").DESCRIPTOR
        assert file.package == "graphvm"
        assert file.name.startswith("graphvm_runtime/protos/")


def run(program: str) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'runtime'); {program}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_graph_needs_few_modules() -> None:
    loaded = run("from graphvm_runtime.protos import graph_pb2; print(*sys.modules)").split()
    ours = {m.rsplit(".", 1)[1] for m in loaded if m.startswith("graphvm_runtime.protos.")}
    assert "graph_pb2" in ours
    assert not ours & {"config_pb2", "event_pb2", "meta_graph_pb2", "step_stats_pb2"}


@pytest.mark.parametrize("order", ["ours first", "theirs first"])
@pytest.mark.skipif(not importlib.util.find_spec("tensorboard"), reason="needs tensorboard")
def test_tensorboard_lives_in_the_same_process(order: str) -> None:
    imports = [
        "from graphvm_runtime.protos import event_pb2, config_pb2, meta_graph_pb2",
        "from tensorboard.compat.proto import event_pb2 as theirs, config_pb2 as c, meta_graph_pb2",
    ]
    if order == "theirs first":
        imports.reverse()
    event = "theirs.Event.FromString(event_pb2.Event(step=3, graph_def=b'x').SerializeToString())"
    assert run("; ".join([*imports, f"e = {event}", "print(e.step, e.graph_def)"])) == "3 b'x'\n"


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs tensorflow")
def test_fields_are_those_of_the_installed_tensorflow() -> None:
    importlib.import_module("tensorflow")
    pool = importlib.import_module("google.protobuf.descriptor_pool").Default()
    compared = 0
    for module in MODULES:
        file = importlib.import_module(f"graphvm_runtime.protos.{module}").DESCRIPTOR
        for name, message in file.message_types_by_name.items():
            try:
                theirs = pool.FindMessageTypeByName(f"tensorflow.{name}")
            except KeyError:  # a message of our own, or one TensorFlow has not loaded
                continue
            compared += 1
            _compare(message, theirs)
    assert compared > 50


def _compare(ours: descriptor.Descriptor, theirs: descriptor.Descriptor) -> None:
    known = {f.number: f for f in theirs.fields}
    for field in ours.fields:
        other = known[field.number]
        assert (field.name, field.type) == (other.name, other.type), field.full_name
        assert field.is_repeated == other.is_repeated, field.full_name
        assert (field.containing_oneof is None) == (other.containing_oneof is None)
        if field.enum_type and other.enum_type:
            numbers = {v.name: v.number for v in other.enum_type.values}
            ours_ = {v.name: v.number for v in field.enum_type.values}
            assert ours_.items() <= numbers.items(), field.full_name
    for name, nested in ours.nested_types_by_name.items():
        _compare(nested, theirs.nested_types_by_name[name])
