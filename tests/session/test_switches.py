"""Settings hold for the runs inside their `with` block, also after earlier runs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.ir.text import parse_graph


def test_checking_numbers_after_a_run_names_the_node() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(x, name="logarithm") + 1.0
    with tf.Session() as sess:
        for _ in range(4):
            assert np.isneginf(sess.run(y, {x: [0, 1]})[0])
        with (
            config.CHECK_NUMERICS.set(True),
            pytest.raises(tf.errors.InvalidArgumentError, match="logarithm"),
        ):
            sess.run(y, {x: [0, 1]})
        assert np.isneginf(sess.run(y, {x: [0, 1]})[0])


def test_a_trace_file_is_written_after_earlier_runs(tmp_path: Path) -> None:
    x = tf.constant(1.0)
    y = tf.add(x, x, name="twice")
    with tf.Session() as sess:
        sess.run([y])
        with config.TRACE.set(str(tmp_path / "trace.json")):
            sess.run([y])
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "twice" in [e["name"] for e in events]


def dumped(folder: Path) -> list[list[str]]:
    """The files of each compilation, in order."""
    return [sorted(f.name for f in d.iterdir()) for d in sorted(folder.iterdir())]


def test_the_graph_after_each_pass_and_the_program_are_dumped(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 2.0, name="sum")
    with config.DUMP.set(str(tmp_path)), tf.Session() as sess:
        for _ in range(3):
            sess.run(y, {x: 1.0})
    interpreted, emitted = dumped(tmp_path)
    for names in (interpreted, emitted):
        assert names[0] == "00-read.gvm"
        assert [int(n[:2]) for n in names] == list(range(len(names)))
        assert [n for n in names if not n.endswith(".gvm")] == names[-1:]
        assert names[-1].endswith("-program.txt")
    first, last = sorted(tmp_path.rglob("*-program.txt"))
    assert "sum" in first.read_text()
    assert "def " not in first.read_text()
    assert "def " in last.read_text()  # the Python source that runs


def test_what_each_pass_did_can_be_read_back(tmp_path: Path) -> None:
    y = tf.constant(1.0) + 2.0
    with config.DUMP.set(str(tmp_path)), config.EMIT.set(True), tf.Session() as sess:
        sess.run(y)
    graphs = {f.stem[3:]: parse_graph(f.read_text()) for f in tmp_path.rglob("*.gvm")}
    assert {n.op.name for n in graphs["read"].nodes} == {"Const", "AddV2"}
    assert {n.op.name for n in graphs["prune"].nodes} == {"Const"}


def test_a_list_of_one_and_its_element_are_fetched_apart() -> None:
    x = tf.constant(1.0)
    y = tf.constant(2.0)
    with tf.Session() as sess:
        for _ in range(3):
            assert sess.run([x], {y: 3.0}) == [1]
            assert sess.run([x, y]) == [1, 2]
            assert sess.run(x, {y: 3.0}) == 1
            assert sess.run((x,)) == (1,)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("GRAPHVM_VERIFY=maybe", "neither yes nor no"),
        ("GRAPHVM_PASSES=fold", "write -fold"),
        ("GRAPHVM_PASSES=-nosuch", "passes are"),
        ("GRAPHVM_LOG=nosuch", "compile, place, rpc"),
        ("GRAPHVM_TRACEBACK=x", "write full"),
        ("GRAPHVM_NOSUCH=1", "unknown setting"),
        (
            "GRAPHVM_DUMP=/dev/null/dump",
            "GraphError: GRAPHVM_DUMP: the folder '/dev/null/dump' cannot",
        ),
        ("GRAPHVM_TRACE=/dev/null/trace", "'/dev/null/trace' is in no folder that exists"),
        ("GRAPHVM_TRACE=/dev", "'/dev' is a folder"),
    ],
)
def test_a_setting_that_nobody_knows_is_an_error(setting: str, says: str) -> None:
    name, _, value = setting.partition("=")
    program = "import graphvm as tf; tf.Session().run(tf.constant(1.0) + 1.0)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), name: value},
    )
    assert done.returncode == 1
    assert says in done.stderr
    assert name in done.stderr


def test_an_error_while_building_the_run_hides_behind_no_other() -> None:
    with tf.Session() as sess:
        sess.run(tf.constant(1.0))
        with pytest.raises(TypeError, match="nothing") as caught:
            sess.run(tf.constant(1.0), {"nothing:0": 1.0})
    assert not isinstance(caught.value.__context__, KeyError) or (
        "nothing" in str(caught.value.__context__)
    )
