"""Optimizers, the global step, Saver, MetaGraphs."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf

KINDS = pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])


def two(resource: bool = True) -> tuple[Any, Any]:
    a = tf.Variable([1.0, 2.0], name="a", use_resource=resource)
    b = tf.get_variable("b", [2, 3], initializer=tf.zeros_initializer(), use_resource=resource)
    return a, b


def nodes(scope: str) -> dict[str, str]:
    return {
        op.name: op.type
        for op in tf.get_default_graph().get_operations()
        if op.name.startswith(scope)
    }


# -- optimizers -------------------------------------------------------------------------------


def test_descent_is_built_of_tensorflows_nodes() -> None:
    a, b = two()
    step = tf.train.get_or_create_global_step()
    op = tf.train.GradientDescentOptimizer(0.1).apply_gradients(
        [(tf.ones([2]), a), (tf.ones([2, 3]), b)], global_step=step
    )
    assert nodes("GradientDescent") == {
        "GradientDescent/learning_rate": "Const",
        "GradientDescent/update_a/ResourceApplyGradientDescent": "ResourceApplyGradientDescent",
        "GradientDescent/update_b/ResourceApplyGradientDescent": "ResourceApplyGradientDescent",
        "GradientDescent/update": "NoOp",
        "GradientDescent/Const": "Const",
        "GradientDescent": "AssignAddVariableOp",
    }
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [op]


def test_adam_is_built_of_tensorflows_nodes() -> None:
    a, b = two()
    optimizer = tf.train.AdamOptimizer(0.1)
    op = optimizer.apply_gradients([(tf.ones([2]), a), (tf.ones([2, 3]), b)])
    assert (op.name, op.type) == ("Adam", "NoOp")
    assert optimizer.get_slot_names() == ["m", "v"]
    assert [v.name for v in optimizer.variables()] == [
        "a/Adam:0", "a/Adam_1:0", "b/Adam:0", "b/Adam_1:0", "beta1_power:0", "beta2_power:0",
    ]  # fmt: skip
    assert optimizer.get_slot(a, "m").name == "a/Adam:0"
    assert optimizer.get_slot(b, "v").name == "b/Adam_1:0"
    assert len(tf.trainable_variables()) == 2
    assert nodes("a/Adam_1") == {
        "a/Adam_1/Initializer/zeros": "Const",
        "a/Adam_1": "VarHandleOp",
        "a/Adam_1/IsInitialized/VarIsInitializedOp": "VarIsInitializedOp",
        "a/Adam_1/Assign": "AssignVariableOp",
        "a/Adam_1/Read/ReadVariableOp": "ReadVariableOp",
    }
    inside = nodes("Adam/")
    assert inside["Adam/update_a/ResourceApplyAdam"] == "ResourceApplyAdam"
    assert inside["Adam/AssignVariableOp_1"] == "AssignVariableOp"


def by_hand(kind: str, steps: int) -> Any:
    """Minimising the sum of (w - 3)**2 from w = [1, 2]."""
    w, m, v = np.array([1.0, 2.0]), np.zeros(2), np.zeros(2)
    for t in range(1, steps + 1):
        g = 2 * (w - 3)
        if kind == "descent":
            w = w - 0.1 * g
        else:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            w = w - rate * m / (np.sqrt(v) + 1e-8)
    return w


@KINDS
@pytest.mark.parametrize("kind", ["descent", "adam"])
def test_optimizers_follow_their_formulas(kind: str, resource: bool) -> None:
    w = tf.Variable([1.0, 2.0], use_resource=resource)
    step = tf.Variable(0, trainable=False, use_resource=resource)
    loss = tf.reduce_sum(tf.square(w - 3.0))
    makers: dict[str, Any] = {
        "descent": tf.train.GradientDescentOptimizer,
        "adam": tf.train.AdamOptimizer,
    }
    op = makers[kind](0.1).minimize(loss, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(op)
        np.testing.assert_allclose(session.run(w), by_hand(kind, 5), rtol=1e-5)
        assert session.run(step) == 5


def test_a_rate_may_be_a_tensor_or_a_function() -> None:
    w, rate = tf.Variable(1.0), tf.placeholder(tf.float32, [])
    one = tf.train.GradientDescentOptimizer(rate).minimize(2.0 * w)
    two = tf.train.GradientDescentOptimizer(lambda: 0.5, name="other").minimize(2.0 * w)
    assert two.name == "other"
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(one, {rate: 0.25})
        assert session.run(w) == 0.5
        session.run(two)
        assert session.run(w) == -0.5


def test_gradients_can_be_changed_on_the_way() -> None:
    w = tf.Variable([3.0, -4.0])
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(w * w))
    op = optimizer.apply_gradients([(tf.minimum(g, 1.0), v) for g, v in pairs])
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(op)
        np.testing.assert_array_equal(session.run(w), [2, 4])


def test_a_constraint_holds_after_the_update() -> None:
    w = tf.Variable(1.0, constraint=lambda v: tf.maximum(v, 0.5))
    op = tf.train.GradientDescentOptimizer(1.0).minimize(3.0 * w)
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(op)
        assert session.run(w) == 0.5


def test_a_gather_gives_a_gradient_by_rows() -> None:
    w = tf.Variable(np.ones((3, 2), np.float32))
    op = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(tf.gather(w, [0, 0, 2])))
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(op)
        np.testing.assert_array_equal(session.run(w), [[-1, -1], [1, 1], [0, 0]])


def test_what_cannot_be_trained_says_so() -> None:
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    with pytest.raises(ValueError, match="no variables to train"):
        optimizer.minimize(tf.constant(1.0))
    w = tf.Variable(1.0, name="w")
    with pytest.raises(ValueError, match="no gradient reaches any of the variables 'w:0'"):
        optimizer.minimize(tf.constant(1.0))
    with pytest.raises(ValueError, match="no gradient reaches"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(TypeError, match="is no variable"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])
    with pytest.raises(TypeError, match="must be floating or complex to be trained"):
        optimizer.compute_gradients(tf.constant(1), [w])
    with pytest.raises(ValueError, match="needs a name"):
        tf.train.GradientDescentOptimizer(1.0, name="")


def test_the_global_step() -> None:
    assert tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    assert (step.name, step.dtype) == ("global_step:0", tf.int64)
    assert tf.train.get_or_create_global_step() is tf.train.get_global_step() is step
    assert step not in tf.trainable_variables()
    with pytest.raises(ValueError, match="already"):
        tf.train.create_global_step()
    with tf.Session() as session:
        session.run(step.initializer)
        assert tf.train.global_step(session, step) == 0
    with pytest.raises(TypeError, match="integer"):
        tf.train.assert_global_step(tf.constant(1.0))


# -- Saver --------------------------------------------------------------------------------------


def test_a_saver_is_built_of_tensorflows_nodes() -> None:
    two()
    saver = tf.train.Saver()
    assert nodes("save/") == {
        "save/filename/input": "Const",
        "save/filename": "PlaceholderWithDefault",
        "save/Const": "PlaceholderWithDefault",
        "save/SaveV2/tensor_names": "Const",
        "save/SaveV2/shape_and_slices": "Const",
        "save/SaveV2": "SaveV2",
        "save/control_dependency": "Identity",
        "save/RestoreV2/tensor_names": "Const",
        "save/RestoreV2/shape_and_slices": "Const",
        "save/RestoreV2": "RestoreV2",
        "save/Identity": "Identity",
        "save/AssignVariableOp": "AssignVariableOp",
        "save/Identity_1": "Identity",
        "save/AssignVariableOp_1": "AssignVariableOp",
        "save/restore_all": "NoOp",
    }
    message = saver.as_saver_def()
    assert (message.filename_tensor_name, message.save_tensor_name, message.restore_op_name) == (
        "save/Const:0", "save/control_dependency:0", "save/restore_all",
    )  # fmt: skip


@KINDS
@pytest.mark.parametrize("sharded", [False, True])
def test_what_is_saved_is_restored(tmp_path: Path, resource: bool, sharded: bool) -> None:
    a, _ = two(resource)
    saver = tf.train.Saver(sharded=sharded)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(a.assign([5.0, 6.0]))
        path = saver.save(session, str(tmp_path / "model"), global_step=7)
        assert path == str(tmp_path / "model-7")
        session.run(a.assign([0.0, 0.0]))
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(a), [5, 6])
    with tf.Session() as session:  # no initializer needed
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(a), [5, 6])
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_variable_to_shape_map() == {"a": [2], "b": [2, 3]}
    assert reader.get_variable_to_dtype_map()["a"] is tf.float32
    np.testing.assert_array_equal(reader.get_tensor("a"), [5, 6])
    assert tf.train.list_variables(path) == [("a", [2]), ("b", [2, 3])]
    np.testing.assert_array_equal(tf.train.load_variable(path, "a:0"), [5, 6])
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint", "model-7.data-00000-of-00001", "model-7.index", "model-7.meta",
    ]  # fmt: skip


def test_names_in_the_checkpoint_can_be_chosen(tmp_path: Path) -> None:
    a, b = two()
    saver = tf.train.Saver({"z": a, "y": b}, name="mine")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    assert path is not None
    assert [name for name, _ in tf.train.list_variables(path)] == ["y", "z"]
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [2])
        tf.train.Saver({"z": w}).restore(session, path)
        np.testing.assert_array_equal(session.run(w), [1, 2])


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    two()
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(4):
            saver.save(session, str(tmp_path / "m"), step)
    kept = [str(tmp_path / f"m-{n}") for n in (2, 3)]
    assert saver.last_checkpoints == kept
    assert not list(tmp_path.glob("m-0*")) + list(tmp_path.glob("m-1*"))
    assert tf.train.latest_checkpoint(str(tmp_path)) == kept[-1]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state is not None
    assert list(state.all_model_checkpoint_paths) == kept
    later = tf.train.Saver(max_to_keep=2)
    later.recover_last_checkpoints([*kept, str(tmp_path / "gone")])
    with tf.Session() as session:
        later.restore(session, kept[-1])
        later.save(session, str(tmp_path / "m"), 4)
    assert later.last_checkpoints == [kept[1], str(tmp_path / "m-4")]


def test_a_directory_of_checkpoints_may_move(tmp_path: Path) -> None:
    two()
    (tmp_path / "old").mkdir()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver(save_relative_paths=True).save(session, str(tmp_path / "old" / "m"))
    (tmp_path / "old").rename(tmp_path / "new")
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == str(tmp_path / "new" / "m")


def test_what_cannot_be_saved_or_restored_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no variables to save"):
        tf.train.Saver()
    assert tf.train.Saver(allow_empty=True).last_checkpoints == []
    a, b = two()
    with pytest.raises(ValueError, match="two variables are called 'a'"):
        tf.train.Saver([a, a])
    with pytest.raises(TypeError, match="is no variable"):
        tf.train.Saver([tf.constant(1.0)])
    with pytest.raises(ValueError, match="from two names, 'x' and 'y'"):
        tf.train.Saver({"x": a, "y": a})
    with pytest.raises(TypeError, match="5 is no name"):
        tf.train.Saver({5: a})
    with pytest.raises(TypeError, match="a list or a dictionary"):
        tf.train.Saver(5)
    with pytest.raises(TypeError, match="sess must be a session, not None"):
        tf.train.Saver().save(None, str(tmp_path / "m"))
    saver = tf.train.Saver()
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="before it was initialised"):
            saver.save(session, str(tmp_path / "m"))
        session.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match="there is no directory"):
            saver.save(session, str(tmp_path / "missing" / "m"))
        with pytest.raises(ValueError, match="is no checkpoint"):
            saver.restore(session, str(tmp_path / "other"))
        path = tf.train.Saver([a]).save(session, str(tmp_path / "m"))
        with pytest.raises(tf.errors.NotFoundError, match="b"):
            saver.restore(session, path)
        wrong = tf.get_variable("wrong", [3])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has the shape \[2\]") as caught:
            tf.train.Saver({"a": wrong}).restore(session, path)
        for text in (str(path), "'wrong'", "reshape=True"):
            assert text in str(caught.value)
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.load_checkpoint(str(tmp_path / "other"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        tf.train.load_checkpoint(str(tmp_path / "empty"))
    assert tf.train.latest_checkpoint(str(tmp_path / "empty")) is None
    assert b is not None


def test_a_checkpoint_may_be_restored_in_another_shape(tmp_path: Path) -> None:
    tf.get_variable("v", [2, 3], initializer=tf.ones_initializer())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [6])
        tf.train.Saver(reshape=True).restore(session, path)
        np.testing.assert_array_equal(session.run(v), np.ones(6))


# -- MetaGraphs -----------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("scope", [None, "in/side"])
def test_a_meta_graph_goes_on_where_it_stopped(
    tmp_path: Path, resource: bool, scope: str | None
) -> None:
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer(), use_resource=resource)
    loss = tf.reduce_sum(w * w, name="loss")
    step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    tf.add_to_collection("words", "hello")
    tf.add_to_collection("numbers", 3)
    tf.add_to_collection("tensors", loss)
    tf.add_to_collection(("not", "text"), object())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{path}.meta", import_scope=scope)
        saver.restore(session, path)
        (v,) = tf.trainable_variables()
        assert tf.global_variables() == [v]
        assert v.name == (f"{scope}/w:0" if scope else "w:0")
        np.testing.assert_array_equal(session.run(v), [0.5, 0.5])
        session.run(tf.get_collection(tf.GraphKeys.TRAIN_OP))
        np.testing.assert_array_equal(session.run(v), [0.25, 0.25])
        assert session.run(tf.get_collection("tensors")) == [0.125]
        assert tf.get_collection("words") == ["hello"]
        assert tf.get_collection("numbers") == [3]


def test_a_meta_graph_of_text_and_without_devices(tmp_path: Path) -> None:
    with tf.device("/job:worker/task:3"):
        tf.constant(1.0, name="c")
    file = str(tmp_path / "g.pbtxt")
    message = tf.train.export_meta_graph(file, as_text=True)
    assert message.graph_def.node[0].device == "/job:worker/task:3"
    assert b'name: "c"' in Path(file).read_bytes()
    with tf.Graph().as_default() as graph:
        assert tf.train.import_meta_graph(file, clear_devices=True) is None
        assert graph.get_operation_by_name("c").device == ""
    (tmp_path / "bad").write_bytes(b"\xff\xff\xff")
    with pytest.raises(tf.errors.DataLossError, match="is no MetaGraphDef"):
        tf.train.import_meta_graph(str(tmp_path / "bad"))
    with pytest.raises(tf.errors.NotFoundError, match="there is no file"):
        tf.train.import_meta_graph(str(tmp_path / "missing"))


def test_part_of_a_graph_is_exported(tmp_path: Path) -> None:
    with tf.name_scope("part"):
        x = tf.placeholder(tf.float32, [], name="x")
        tf.add(x, 1.0, name="y")
    tf.constant(1.0, name="outside")
    message = tf.train.export_meta_graph(export_scope="part")
    assert [node.name for node in message.graph_def.node] == ["x", "y/y", "y"]
    with tf.name_scope("torn"):
        tf.add(x, 1.0)
    with pytest.raises(ValueError, match="which is outside of 'torn'"):
        tf.train.export_meta_graph(export_scope="torn")


def test_a_graph_is_written_as_text_or_bytes(tmp_path: Path) -> None:
    tf.constant(1.0, name="c")
    text = tf.train.write_graph(tf.get_default_graph(), str(tmp_path / "d"), "g.pbtxt")
    assert 'name: "c"' in Path(text).read_text()
    binary = tf.train.write_graph(
        tf.get_default_graph().as_graph_def(), str(tmp_path / "d"), "g.pb", as_text=False
    )
    message = tf.GraphDef.FromString(Path(binary).read_bytes())
    assert [node.name for node in message.node] == ["c"]
