"""A user's own op: declared, built, run, differentiated."""

import numpy as np

import graphvm as tf
from graphvm_runtime import register
from graphvm_runtime.ops import known

if not known("TestCube"):
    register.op(
        "TestCube",
        "x: T -> y: T",
        {"T": register.types(register.float32, register.float64)},
        shape=lambda ctx: [ctx.shapes[0]],
        doc="x to the third power.",
    )
    register.kernel("TestCube")(lambda node: lambda x: x * x * x)

    @tf.RegisterGradient("TestCube")
    def _cube_gradient(op: tf.Operation, grad: tf.Tensor) -> tf.Tensor:
        return 3.0 * op.inputs[0] * op.inputs[0] * grad


def test_an_op_of_a_user_is_built_run_and_differentiated() -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.raw_ops.TestCube(x=x)
    assert y.shape.as_list() == [3]
    (gradient,) = tf.gradients(y, [x])
    fed = np.array([1, 2, 3], np.float32)
    with tf.Session() as sess:
        for _ in range(4):
            cubes, slopes = sess.run([y, gradient], {x: fed})
            assert cubes.tolist() == [1, 8, 27]
            assert slopes.tolist() == [3, 12, 27]
