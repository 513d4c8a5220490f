"""What scripts get wrong first, and what they rightly expect."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import graphvm as tf


@pytest.mark.parametrize("labels", ["int32", "float64", "list"])
@pytest.mark.parametrize("name", ["", "_v2"])
def test_labels_are_cast_to_the_logits(labels: str, name: str) -> None:
    hot = [[0, 1, 0]]
    with tf.Graph().as_default(), tf.Session() as sess:
        given: Any = hot if labels == "list" else tf.constant(hot, getattr(tf, labels))
        loss = getattr(tf.nn, f"softmax_cross_entropy_with_logits{name}")
        found = sess.run(loss(labels=given, logits=[[1.0, 2.0, 3.0]]))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, [1.407606], rtol=1e-6)


def test_a_loop_without_variables_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="loop_vars is empty"):
        tf.while_loop(lambda: True, lambda: (), [])


def test_an_op_that_no_kernel_computes_names_its_node_and_the_users_line() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        number = tf.cast(tf.placeholder_with_default("1", []), tf.float32)
        with pytest.raises(TypeError, match="no cast from string to float32") as raised:
            sess.run(number)
        assert "Cast" in str(raised.value)
        assert "test_first_mistakes.py" in str(raised.value)


def test_a_gradient_that_is_none_is_no_fetch() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x, y = tf.placeholder(tf.float32), tf.constant(1.0)
        with pytest.raises(TypeError, match="a gradient is None where nothing connects"):
            sess.run(tf.gradients(y, x)[0])


def test_handles_may_state_the_shape_that_tensorflow_gives_them() -> None:
    with tf.Graph().as_default() as graph:
        tf.Variable([1.0], use_resource=True, name="v")
        definition = graph.as_graph_def()
    for node in definition.node:
        if node.op == "VarHandleOp":
            node.attr["_output_shapes"].list.shape.add().dim.add().size = 2
    with tf.Graph().as_default(), warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.import_graph_def(definition)
