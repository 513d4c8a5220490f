"""Checkpoints that TensorFlow wrote, and files of our own that it reads."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphvm_runtime.checkpoint import (
    BundleReader,
    BundleWriter,
    TensorSlice,
    V1Reader,
    latest_checkpoint,
    open_checkpoint,
)
from graphvm_runtime.errors import DataLossError, NotFoundError

FILES = Path(__file__).parents[1] / "data" / "checkpoints"


def test_variables_and_slots() -> None:
    reader = open_checkpoint(str(FILES / "resume_training" / "model.ckpt"))
    assert isinstance(reader, BundleReader)
    assert {n: reader.shape(n) for n in reader.names()} == {
        "beta1_power": (),
        "beta2_power": (),
        "global_step": (),
        "w": (2, 1),
        "w/Adam": (2, 1),
        "w/Adam_1": (2, 1),
    }
    assert reader.get_tensor("global_step").item() == 3
    assert reader.dtype("global_step").name == "int64"
    want = np.array([[-0.4030144214630127], [1.3740360736846924]], np.float32)
    assert reader.get_tensor("w").tolist() == want.tolist()


def test_slices() -> None:
    reader = open_checkpoint(str(FILES / "save_op_slices" / "model.ckpt"))
    assert [str(s) for s in reader.stored("t").slices] == ["0,2:-", "2,2:0,3", "2,2:3,3"]
    t = reader.get_tensor("t")
    assert t.shape == (4, 6)
    assert t[0, 0] == np.float32(0.5666421055793762)
    assert t[3, 5] == np.float32(1.5263384580612183)
    assert reader.get_slice("t", TensorSlice.parse("2,2:3,3")).tolist() == t[2:, 3:].tolist()
    assert reader.get_tensor("u").tolist() == [1, 2]


def test_objects_and_a_string() -> None:
    reader = open_checkpoint(str(FILES / "tf2_object_based" / "ckpt"))
    assert reader.get_tensor("step/.ATTRIBUTES/VARIABLE_VALUE").item() == 5
    graph = reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH").item()
    assert b"net/a/.ATTRIBUTES/VARIABLE_VALUE" in graph


def test_many_names_that_share_their_beginning() -> None:
    reader = open_checkpoint(str(FILES / "many_variables" / "model.ckpt"))
    names = [f"layer_{i:03d}/weights_with_a_long_name" for i in range(300)]
    assert reader.names() == names
    assert [reader.get_tensor(n).item() for n in names] == [43 * i % 300 for i in range(300)]


def test_the_newest_of_a_directory() -> None:
    newest = latest_checkpoint(str(FILES / "state_rotation"))
    assert newest == str(FILES / "state_rotation" / "model.ckpt-3")
    assert open_checkpoint(newest).get_tensor("v").shape == ()


def test_the_old_format() -> None:
    reader = open_checkpoint(str(FILES / "v1" / "model.ckpt"))
    assert isinstance(reader, V1Reader)
    assert reader.names() == ["label", "many", "part"]
    part = np.arange(28, dtype=np.float32).reshape(7, 4)
    assert reader.get_tensor("part").tolist() == part.tolist()
    assert (
        reader.get_slice("part", TensorSlice.parse("2,3:1,2")).tolist() == part[2:5, 1:3].tolist()
    )
    assert reader.get_tensor("many").tolist() == list(range(50)) * 40
    assert reader.get_tensor("label").tolist() == [[-1, 2**40]]
    assert reader.dtype("many").name == "int32"
    with pytest.raises(NotFoundError, match="no tensor 'other'"):
        reader.get_tensor("other")


def test_the_old_format_with_strings_and_by_pattern() -> None:
    reader = open_checkpoint(str(FILES / "v1" / "*s.ckpt"))
    assert reader.get_tensor("v_s").tolist() == [b"ab", b""]


def test_the_old_format_cut_off(tmp_path: Path) -> None:
    data = (FILES / "v1" / "model.ckpt").read_bytes()
    (tmp_path / "model.ckpt").write_bytes(data[:-100])
    with pytest.raises(DataLossError, match=r"model\.ckpt"):
        open_checkpoint(str(tmp_path / "model.ckpt"))


_READ_BY_TENSORFLOW = """
import sys
import numpy as np
import tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
assert reader.get_tensor("w").tolist() == [[1.5, 2.5]]
assert reader.get_tensor("b").tolist() == [True, False]
assert reader.get_tensor("s").tolist() == [b"x" * 300, b""]
assert (reader.get_tensor("p") == np.arange(24).reshape(4, 6)).all()
assert len(reader.get_variable_to_shape_map()) == 1004
"""


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs tensorflow")
def test_tensorflow_reads_ours(tmp_path: Path) -> None:
    full = np.arange(24, dtype=np.int64).reshape(4, 6)
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add("w", np.array([[1.5, 2.5]], np.float32))
        writer.add("b", np.array([True, False]))
        writer.add("s", np.array([b"x" * 300, b""], object))
        for i in (0, 2):
            writer.add_slice("p", (4, 6), TensorSlice(((i, 2), (0, -1))), full[i : i + 2])
        for i in range(1000):
            writer.add(f"layer/{i:04d}/kernel", np.float32(i))
    command = [sys.executable, "-c", _READ_BY_TENSORFLOW, str(tmp_path / "m")]
    subprocess.run(command, check=True, timeout=200)
