"""A user's own op, in a process of its own, since what is declared once stays."""

import subprocess
import sys

PROGRAM = """
import numpy as np

import graphvm as tf
from graphvm_runtime import register

register.op(
    "Cube",
    "x: T -> y: T",
    {"T": register.types(register.float32, register.float64)},
    shape=lambda ctx: [ctx.shapes[0]],
    doc="x to the third power.",
)
register.kernel("Cube")(lambda node: lambda x: x * x * x)


@tf.RegisterGradient("Cube")
def cube_gradient(op, grad):
    return 3.0 * op.inputs[0] * op.inputs[0] * grad


x = tf.placeholder(tf.float32, [3])
y = tf.raw_ops.Cube(x=x)
assert y.shape.as_list() == [3]
(gradient,) = tf.gradients(y, [x])
fed = np.array([1, 2, 3], np.float32)
with tf.Session() as sess:
    for _ in range(4):
        cubes, slopes = sess.run([y, gradient], {x: fed})
        assert cubes.tolist() == [1, 8, 27]
        assert slopes.tolist() == [3, 12, 27]
try:
    tf.raw_ops.Cube(x=tf.constant(1))
except TypeError as error:
    assert "Cube" in str(error), error
else:
    raise AssertionError("an int was taken")
try:
    register.op("Mistaken", "x: flaot -> y: float", shape=lambda ctx: [ctx.shapes[0]])
except Exception as error:
    assert "flaot" in str(error), error
else:
    raise AssertionError("a type that does not exist was taken")
register.op("Mistaken", "x: float -> y: float", shape=lambda ctx: [ctx.shapes[0]])  # mended
register.op("Careless", "x: float -> y: float", shape=lambda ctx: [ctx.shapes[0]])
register.kernel("Careless")(lambda node: lambda x: x.astype(np.float64))
register.op("Broken", "x: float -> y: float", shape=lambda ctx: [ctx.shapes[0]])
register.kernel("Broken")(lambda node: lambda x: {}["no such key"])
with tf.Session() as sess:
    try:
        sess.run(tf.raw_ops.Careless(x=x), {x: fed})
    except tf.errors.InternalError as error:
        assert "float64[3]" in str(error), error
        assert "f32[3]" in str(error), error
    else:
        raise AssertionError("the wrong type went through")
    try:
        sess.run(tf.raw_ops.Broken(x=x), {x: fed})
    except tf.errors.InternalError as error:
        assert isinstance(error.__cause__, KeyError), error.__cause__
print("done")
"""


def test_an_op_of_a_user_is_built_run_and_differentiated() -> None:
    paths = ":".join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": paths},
    )
    assert done.stdout.strip() == "done", done.stderr
