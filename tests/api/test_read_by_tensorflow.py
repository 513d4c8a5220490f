"""What is built and saved here goes on in TensorFlow, where that is installed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import graphvm as tf

GO_ON = """
import json, sys
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
folder = sys.argv[1]
saver = tf.train.import_meta_graph(folder + "/m.meta")
feeds = {"x:0": [[1.0, 2.0]]}
with tf.Session() as session:
    saver.restore(session, folder + "/m")
    out = [float(session.run("loss:0", feeds))]
    session.run(tf.get_collection("train_op"), feeds)
    out.append(float(session.run("loss:0", feeds)))
    session.run("put")
    out.append(float(session.run("taken:0")))
    out.append(sorted(v.name for v in tf.global_variables()))
print(json.dumps(out))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
)
def test_a_training_graph_with_loops_goes_on_in_tensorflow(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    tf.Variable(1.0, name="r", use_resource=False)

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i > 1, lambda: a * 2.0, lambda: a + tf.matmul(x, w))

    _, y = tf.while_loop(lambda i, a: i < 3, body, (0, tf.matmul(x, w)), maximum_iterations=9)
    loss = tf.reduce_sum(y * y, name="loss")
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    queue = tf.FIFOQueue(3, tf.float32, shapes=[()])
    queue.enqueue(5.0, name="put")
    tf.identity(queue.dequeue(), name="taken")
    feeds = {x: [[1.0, 2.0]]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step, feeds)
        tf.train.Saver(sharded=True).save(session, str(tmp_path / "m"))
        expected = [session.run(loss, feeds)]
        session.run(step, feeds)
        expected.append(session.run(loss, feeds))
    done = subprocess.run(
        [sys.executable, "-c", GO_ON, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    *numbers, names = json.loads(done.stdout.splitlines()[-1])
    assert numbers == pytest.approx([*expected, 5.0], rel=1e-5)
    assert names == sorted(v.name for v in tf.global_variables())
