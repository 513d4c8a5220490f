"""`graphvm inspect` prints graphs, also those with ops that are not known here."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphvm as tf
from graphvm_runtime.__main__ import main
from graphvm_runtime.protos.saved_model_pb2 import SavedModel


@pytest.fixture
def strange() -> tf.GraphDef:
    """A constant, an op that nobody knows, and a function of both."""
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="one")
    message = graph.as_graph_def()
    node = message.node.add(name="lost", op="NoSuchOp", input=["one", "^one"])
    node.attr["T"].type = 1  # type: ignore[assignment]
    node.attr["text"].s = b"hi"
    node.device = "/device:CPU:0"
    message.node.add(name="called", op="body", input=["one"])
    function = message.library.function.add()
    function.signature.name = "body"
    function.signature.input_arg.add(name="x", type_attr="T")
    function.signature.output_arg.add(name="y", type_attr="T")
    function.signature.attr.add(name="T", type="type")
    function.ret["y"] = "inner:out:0"
    inner = function.node_def.add(name="inner", op="NoOtherOp", input=["x"])
    inner.attr["T"].placeholder = "T"
    return message


def test_a_file_with_unknown_ops_is_printed_with_these_marked(
    strange: tf.GraphDef, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "strange.pb"
    file.write_bytes(strange.SerializeToString())
    assert main(["inspect", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "%one = Const() {dtype=f32, value=f32[2]{1.0, 2.0}}" in lines
    assert '%lost = ? NoSuchOp(one, ^one) {T=f32, text="hi"} @/device:CPU:0' in lines
    assert "%called = body(one)" in lines
    assert "function body(x) -> (y=inner:out:0) {" in lines
    assert "  %inner = ? NoOtherOp(x) {T=$T}" in lines
    assert lines[-1] == "# ops not known here, marked by ?: NoOtherOp, NoSuchOp"


def test_a_summary_marks_unknown_ops(
    strange: tf.GraphDef, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = SavedModel()
    model.meta_graphs.add().graph_def.CopyFrom(strange)
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    assert main(["inspect", "--summary", str(tmp_path)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert {"1 Const", "1 ? NoSuchOp", "1 ? NoOtherOp", "1 body"} <= set(lines)
    assert lines[-1].endswith("NoOtherOp, NoSuchOp")


def test_a_file_of_known_ops_is_printed_with_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
    file = tmp_path / "plain.pb"
    file.write_bytes(graph.as_graph_def().SerializeToString())
    assert main(["inspect", str(file)]) == 0
    out = capsys.readouterr().out
    assert "%one = Const() {dtype=f32, value=f32[]{1.0}} : f32[]" in out
    assert "not known here" not in out
