"""Gated gradients keep their form: rows of a table, one element of a list."""

from __future__ import annotations

import numpy as np

import graphvm as tf
from graphvm_runtime import dtypes


def test_rows_of_a_table_stay_rows() -> None:
    table = tf.placeholder(tf.float32, [5, 2])
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.gather(table, [1, 1]) * x
    by_table, by_x = tf.gradients(y, [table, x], gate_gradients=True)
    assert isinstance(by_table, tf.IndexedSlices)
    with tf.Session() as session:
        feeds = {table: np.ones([5, 2]), x: np.full([2, 2], 3.0)}
        dense, other = session.run([tf.convert_to_tensor(by_table), by_x], feeds)
    assert dense.tolist() == [[0, 0], [6, 6], [0, 0], [0, 0], [0, 0]]
    assert other.tolist() == [[1, 1], [1, 1]]


def test_a_loop_that_reads_a_list_adds_one_element_a_step() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)
    w = tf.placeholder(tf.float32, [3])

    def body(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        row = rows.read(i)
        row.set_shape([3])
        return i + 1, y * row + w

    _, y = tf.while_loop(lambda i, y: i < 4, body, (0, w))
    found = tf.gradients(y, [x, w], gate_gradients=True)
    library = tf.get_default_graph().library.values()
    sums = [
        node
        for function in library
        for node in function.body.nodes
        if node.op.name == "AddN" and node.outputs[0].dtype is dtypes.variant
    ]
    assert sums == []
    with tf.Session() as session:
        by_x, by_w = session.run(found, {x: np.full([4, 3], 2.0), w: np.ones(3)})
    assert by_w.tolist() == [31, 31, 31]
    assert by_x[:, 0].tolist() == [8, 12, 14, 15]
