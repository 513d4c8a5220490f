"""SavedModels: written, read again, here and in TensorFlow."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.saved_model.builder import SavedModelBuilder
from graphvm_runtime.errors import GraphError, NameNotFoundError, NotFoundError
from graphvm_runtime.protos.saved_model_pb2 import SavedModel

sm = tf.saved_model


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def model(path: Path, **more: Any) -> tuple[Any, Any]:
    """Writes a model of a variable; gives its input and output."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=[[1.0], [2.0]])
    y = tf.matmul(x, w, name="y")
    signature = sm.predict_signature_def({"x": x}, {"y": y})
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(tf.assign_add(w, [[10.0], [10.0]]))
        builder = SavedModelBuilder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature},
                                             **more)  # fmt: skip
    builder.save()
    return x, y


def message(path: Path) -> SavedModel:
    return SavedModel.FromString((path / "saved_model.pb").read_bytes())


def test_a_model_loads_with_its_variables(tmp_path: Path) -> None:
    model(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as session:
        found = sm.loader.load(session, ["serve"], str(tmp_path / "m"))
        inputs = found.signature_def["serving_default"].inputs
        x = sm.get_tensor_from_tensor_info(inputs["x"])
        got = session.run("y:0", {x: [[1.0, 1.0]]})
    assert got.tolist() == [[23.0]]
    assert sorted(os.listdir(tmp_path / "m")) == ["saved_model.pb", "variables"]


def test_a_model_loads_under_a_scope(tmp_path: Path) -> None:
    model(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as session:
        found = sm.load(session, "serve", str(tmp_path / "m"), import_scope="in")
        inputs = found.signature_def["serving_default"].inputs
        x = sm.get_tensor_from_tensor_info(inputs["x"], import_scope="in")
        assert session.run("in/y:0", {x: [[1.0, 1.0]]}).tolist() == [[23.0]]
        with pytest.raises(NameNotFoundError):
            sm.get_tensor_from_tensor_info(inputs["x"])


def test_a_simple_model_is_saved_in_one_call(tmp_path: Path) -> None:
    x = tf.placeholder(tf.int32, [], name="x")
    y = x * 2
    with tf.Session() as session:
        sm.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as session:
        found = sm.load(session, [sm.tag_constants.SERVING], str(tmp_path / "m"))
        (signature,) = found.signature_def.values()
        assert sm.is_valid_signature(signature)
        assert session.run(signature.outputs["y"].name, {signature.inputs["x"].name: 4}) == 8


def test_graphs_of_other_tags_share_the_variables(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    w = tf.get_variable("w", initializer=3.0)
    tf.multiply(x, w, name="y")
    builder = sm.builder.SavedModelBuilder(str(tmp_path / "m"))
    with pytest.raises(AssertionError, match="the first graph goes by"):
        builder.add_meta_graph(["a"])
    with tf.Session() as session:
        session.run(w.initializer)
        builder.add_meta_graph_and_variables(session, ["a", "b"])
        with pytest.raises(AssertionError, match="saved already"):
            builder.add_meta_graph_and_variables(session, ["c"])
    with tf.Graph().as_default():
        tf.identity(tf.get_variable("w", initializer=0.0), name="z")
        builder.add_meta_graph(["c"])
    assert builder.save(as_text=True) == str(tmp_path / "m" / "saved_model.pbtxt").encode()
    with tf.Graph().as_default(), tf.Session() as session:
        sm.load(session, ["b", "a"], str(tmp_path / "m"))
        assert session.run("y:0", {"x:0": 2.0}) == 6.0
    with tf.Graph().as_default(), tf.Session() as session:
        sm.load(session, ["c"], str(tmp_path / "m"))
        assert session.run("z:0") == 3.0
        with pytest.raises(RuntimeError, match=r"tags \['a'\].*\['a', 'b'\], \['c'\]"):
            sm.load(session, ["a"], str(tmp_path / "m"))


@pytest.mark.parametrize("argument", ["main_op", "legacy_init_op"])
def test_the_main_operation_runs_after_the_variables_are_restored(
    tmp_path: Path, argument: str
) -> None:
    w = tf.get_variable("w", initializer=1.0)
    count = tf.get_local_variable("count", initializer=0.0, use_resource=False)
    with tf.control_dependencies([sm.main_op.main_op()]):
        more = tf.group(tf.assign(count, 7.0))
    with tf.Session() as session:
        session.run(w.initializer)
        builder = SavedModelBuilder(str(tmp_path / "m"))
        given: Any = {argument: more}
        builder.add_meta_graph_and_variables(session, ["t"], **given)
        builder.save()
        with pytest.raises(GraphError, match="one argument"):
            builder.add_meta_graph(["u"], main_op=more, legacy_init_op=more)
        with pytest.raises(GraphError, match="already"):
            builder.add_meta_graph(["u"], main_op=more)
        with pytest.raises(TypeError, match="main_op is an operation"):
            builder.add_meta_graph(["u"], main_op=7)  # type: ignore[arg-type]  # what is refused
    with tf.Graph().as_default(), tf.Session() as session:
        sm.load(session, ["t"], str(tmp_path / "m"))
        assert session.run("count:0") == 7.0


def test_main_op_with_restore_runs_it_last(tmp_path: Path) -> None:
    w = tf.get_variable("w", initializer=1.0, use_resource=False)
    two = tf.assign(w, 2.0)
    op = sm.main_op_with_restore(two.name)
    with tf.Session() as session:
        session.run(op)
        assert session.run(w) == 2.0


def test_assets_are_copied_and_their_paths_fed(tmp_path: Path) -> None:
    for folder, text in (("a", "one"), ("b", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words.txt").write_text(text)
    paths = [tf.constant(str(tmp_path / f / "words.txt"), name=f"asset_{f}") for f in "ab"]
    kept = tf.get_local_variable("kept", initializer=["", ""], collections=[], use_resource=False)
    op = tf.group(tf.assign(kept, tf.stack(paths)))
    model(tmp_path / "m", assets_collection=paths, main_op=op)
    assert (tmp_path / "m" / "assets" / "words.txt").read_text() == "one"
    assert (tmp_path / "m" / "assets" / "words.txt_1").read_text() == "two"
    moved = tmp_path / "moved"
    (tmp_path / "m").rename(moved)
    with tf.Graph().as_default(), tf.Session() as session:
        sm.load(session, ["serve"], str(moved))
        got = session.run("kept:0").tolist()
    assert got == [str(moved / "assets" / n).encode() for n in ("words.txt", "words.txt_1")]


def test_an_asset_is_a_constant_path_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no file"):
        model(tmp_path / "m", assets_collection=[tf.constant("/nowhere/at/all")])
    with tf.Graph().as_default(), pytest.raises(GraphError, match="a constant tensor of one path"):
        model(tmp_path / "n", assets_collection=[tf.placeholder(tf.string, [])])


def test_default_attributes_are_left_out_when_asked(tmp_path: Path) -> None:
    model(tmp_path / "m", strip_default_attrs=True)
    (written,) = message(tmp_path / "m").meta_graphs
    (matmul,) = [n for n in written.graph_def.node if n.op == "MatMul"]
    assert "transpose_a" not in matmul.attr
    assert "T" in matmul.attr
    assert written.meta_info_def.stripped_default_attrs
    with tf.Graph().as_default(), tf.Session() as session:
        sm.load(session, ["serve"], str(tmp_path / "m"))
        assert session.run("y:0", {"x:0": [[1.0, 0.0]]}).tolist() == [[11.0]]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with tf.Session() as session:
        with pytest.raises(OSError, match="there is no SavedModel"):
            sm.load(session, ["serve"], str(tmp_path))
        (tmp_path / "saved_model.pbtxt").write_text("meta_graphs {")
        with pytest.raises(OSError, match="is no SavedModel"):
            sm.load(session, ["serve"], str(tmp_path))
        (tmp_path / "saved_model.pb").write_bytes(b"\xff\xff\xff")
        with pytest.raises(OSError, match="is no SavedModel"):
            sm.load(session, ["serve"], str(tmp_path))
    assert sm.contains_saved_model(str(tmp_path))
    assert not sm.maybe_saved_model_directory(str(tmp_path / "other"))
    with pytest.raises(AssertionError, match="is not empty"):
        sm.Builder(str(tmp_path))
    with pytest.raises(TypeError, match="sess must be a session"):
        sm.load(None, ["serve"], str(tmp_path))  # type: ignore[arg-type]  # what is refused


def test_more_than_one_main_operation_is_refused(tmp_path: Path) -> None:
    model(tmp_path / "m", main_op=tf.no_op())
    damaged = message(tmp_path / "m")
    nodes = damaged.meta_graphs[0].collection_def["saved_model_main_op"].node_list
    nodes.value.append("w")
    (tmp_path / "m" / "saved_model.pb").write_bytes(damaged.SerializeToString())
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(RuntimeError, match="names 2 operations"),
    ):
        sm.load(session, ["serve"], str(tmp_path / "m"))


def test_signatures_name_tensors_of_the_right_types() -> None:
    utils = sm.signature_def_utils
    examples, scores = tf.placeholder(tf.string), tf.placeholder(tf.float32, [None])
    regress = utils.regression_signature_def(examples, scores)
    assert (regress.method_name, list(regress.outputs)) == (
        "tensorflow/serving/regress", ["outputs"],
    )  # fmt: skip
    classify = utils.classification_signature_def(examples, examples, scores)
    assert sorted(classify.outputs) == ["classes", "scores"]
    info = sm.utils.build_tensor_info(tf.get_variable("v", [3], use_resource=True))
    assert info.tensor_shape.dim[0].size == 3
    built = utils.build_signature_def({"a": info}, {"b": info}, "mine")
    assert not utils.is_valid_signature(built)
    assert not utils.is_valid_signature(None)
    for good in (regress, classify):
        assert utils.is_valid_signature(good)
        good.inputs["other"].CopyFrom(info)
        assert not utils.is_valid_signature(good)
    with pytest.raises(GraphError, match="examples of the signature are string, got float32"):
        utils.regression_signature_def(scores, scores)
    with pytest.raises(GraphError, match="predictions of the signature are float32"):
        utils.regression_signature_def(examples, examples)
    with pytest.raises(GraphError, match="needs examples"):
        utils.regression_signature_def(None, scores)
    with pytest.raises(GraphError, match="needs classes or scores"):
        utils.classification_signature_def(examples, None, None)
    with pytest.raises(GraphError, match="needs an input"):
        utils.predict_signature_def({}, {"y": scores})
    with pytest.raises(TypeError, match="a signature names tensors"):
        utils.predict_signature_def({"x": 3}, {"y": scores})
    with pytest.raises(GraphError, match="no single tensor"):
        sm.get_tensor_from_tensor_info(tf.TensorInfo())


def test_a_signature_is_checked_before_it_is_written(tmp_path: Path) -> None:
    empty = sm.build_signature_def({"x": tf.TensorInfo()}, {}, "m")
    with tf.Session() as session:
        builder = sm.Builder(str(tmp_path / "m"))
        with pytest.raises(TypeError, match="is no SignatureDef"):
            builder.add_meta_graph_and_variables(
                session, ["t"], {"k": 1}  # type: ignore[dict-item]  # what is refused
            )  # fmt: skip
        with pytest.raises(AssertionError, match="without name or type"):
            builder.add_meta_graph_and_variables(session, ["t"], {"k": empty})


GO_ON = """
import json, sys
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
with tf.Session() as session:
    found = tf.saved_model.loader.load(session, ["serve"], sys.argv[1])
    signature = found.signature_def["serving_default"]
    feeds = {signature.inputs["x"].name: [[1.0, 1.0]]}
    out = session.run([signature.outputs["y"].name, "kept:0"], feeds)
print(json.dumps([out[0].tolist(), out[1].decode()]))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
)
@pytest.mark.parametrize("strip", [False, True])
def test_a_model_loads_in_tensorflow(tmp_path: Path, strip: bool) -> None:
    (tmp_path / "words.txt").write_text("one")
    path = tf.constant(str(tmp_path / "words.txt"))
    kept = tf.get_local_variable("kept", initializer="", collections=[], use_resource=False)
    op = tf.group(tf.assign(kept, path))
    folder = tmp_path / "m"
    model(folder, assets_collection=[path], main_op=op, strip_default_attrs=strip)
    done = subprocess.run(
        [sys.executable, "-c", GO_ON, str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    y, kept_path = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_array_equal(y, [[23.0]])
    assert kept_path == str(folder / "assets" / "words.txt")
