"""W14: training steps as scripts write them: batches of None fed from NumPy, the loss fetched.

A perceptron with dropout by Adam and by SGD, a conv net by Adam, a two-layer LSTM by SGD.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from measure import graph_api, main, session, timed

BATCH, PIXELS, CLASSES = 128, 784, 10


def dense(tf: Any, x: Any, name: str, inputs: int, outputs: int) -> Any:
    """One layer with weights and a bias."""
    weights = tf.get_variable(f"{name}/weights", [inputs, outputs])
    bias = tf.get_variable(f"{name}/bias", [outputs], initializer=tf.zeros_initializer())
    return tf.matmul(x, weights) + bias


def loss_of(tf: Any, labels: Any, logits: Any) -> Any:
    """Mean cross entropy."""
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )


def perceptron(tf: Any, x: Any, keep: Any) -> Any:
    """Two hidden layers of 256 with dropout."""
    hidden = tf.nn.relu(dense(tf, x, "first", PIXELS, 256))
    hidden = tf.nn.dropout(tf.nn.relu(dense(tf, hidden, "second", 256, 256)), keep)
    return dense(tf, hidden, "last", 256, CLASSES)


def conv_net(tf: Any, x: Any, keep: Any) -> Any:
    """Two convolutions with pools, a dense layer."""
    image = tf.reshape(x, [-1, 28, 28, 1])
    for name, inputs, outputs in (("one", 1, 32), ("two", 32, 64)):
        kernel = tf.get_variable(f"{name}/kernel", [5, 5, inputs, outputs])
        image = tf.nn.relu(tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME"))
        image = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    hidden = tf.nn.relu(dense(tf, tf.reshape(image, [-1, 7 * 7 * 64]), "hidden", 7 * 7 * 64, 256))
    return dense(tf, tf.nn.dropout(hidden, keep), "last", 256, CLASSES)


def lstm(tf: Any, x: Any, keep: Any) -> Any:
    """Two LSTM cells of 200 over 20 steps, written out in matrix products."""
    steps = tf.unstack(tf.reshape(x[:, :780], [-1, 20, 39]), 20, 1)
    for layer, inputs in (("below", 39), ("above", 200)):
        weights = tf.get_variable(f"{layer}/weights", [inputs + 200, 800])
        bias = tf.get_variable(f"{layer}/bias", [800], initializer=tf.zeros_initializer())
        state = output = tf.zeros([tf.shape(x)[0], 200])
        outputs = []
        for step in steps:
            gates = tf.matmul(tf.concat([step, output], 1), weights) + bias
            i, j, f, o = tf.split(gates, 4, 1)
            state = state * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            output = tf.tanh(state) * tf.sigmoid(o)
            outputs.append(output)
        steps = outputs
    return dense(tf, steps[-1], "last", 200, CLASSES)


def row(impl: str) -> None:
    """Measures steps a second."""
    tf = graph_api(impl)
    rng = np.random.default_rng(0)
    images = rng.random((BATCH, PIXELS), np.float32)
    labels = rng.integers(0, CLASSES, BATCH)
    nets: list[tuple[str, Callable[[Any, Any, Any], Any], Callable[[], Any], int]] = [
        ("perceptron, Adam", perceptron, lambda: tf.train.AdamOptimizer(1e-3), BATCH),
        ("perceptron, SGD", perceptron, lambda: tf.train.GradientDescentOptimizer(0.1), BATCH),
        ("conv net, Adam", conv_net, lambda: tf.train.AdamOptimizer(1e-3), 64),
        ("LSTM, SGD", lstm, lambda: tf.train.GradientDescentOptimizer(0.1), 20),
    ]
    for name, net, optimizer, batch in nets:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, PIXELS])
            y = tf.placeholder(tf.int64, [None])
            keep = tf.placeholder(tf.float32, [])
            loss = loss_of(tf, y, net(tf, x, keep))
            step = optimizer().minimize(loss)
            with session(tf, impl) as sess:
                sess.run(tf.global_variables_initializer())
                feeds = {x: images[:batch], y: labels[:batch], keep: 0.8}
                timed(f"W14 {name}", "steps/s", lambda: sess.run([step, loss], feeds))  # noqa: B023


if __name__ == "__main__":
    main(row, __doc__)
