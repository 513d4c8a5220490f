"""Datasets on one device feed work on others; their functions run where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import OutOfRangeError
from tests.cluster.conftest import Cluster


def test_a_dataset_feeds_another_task(cluster: Cluster) -> None:
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/job:worker/task:1"):
            scale = tf.get_variable("scale", initializer=np.int64(3))
            started = scale.initializer
            three = tf.constant(5, tf.int64)

            def odd(x: Any) -> Any:
                return tf.equal(tf.cond(x > 3, lambda: x % 2, lambda: (x + 2) % 2), 1)

            numbers = tf.data.Dataset.range(6).filter(odd).map(lambda x: x * scale + three)
            iterator = numbers.batch(2).make_initializable_iterator()
            following = iterator.get_next()
            once = tf.data.Dataset.from_tensor_slices(["a"]).make_one_shot_iterator().get_next()
        with tf.device("/job:worker/task:0"):
            total = tf.reduce_sum(following) * 2
    with cluster.session(graph) as session:
        session.run(started)
        for _ in range(2):
            session.run(iterator.initializer)
            assert session.run([following, total])[1] == 2 * (8 + 14)
            assert session.run(following).tolist() == [20]
            with pytest.raises(OutOfRangeError, match="end of sequence"):
                session.run(total)
        assert session.run(once) == b"a"


def test_a_function_that_calls_functions_goes_along(cluster: Cluster) -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.device("/job:worker/task:1"), tf.name_scope("nested"):

        def grown(i: Any) -> Any:
            return tf.cond(i > 9, lambda: i * 2, lambda: i + 5)

        def steps(x: Any) -> Any:
            return tf.while_loop(lambda i: i < 20, grown, [x])

        nested = tf.data.Dataset.range(3).flat_map(lambda x: tf.data.Dataset.range(x).map(steps))
        following = nested.make_one_shot_iterator().get_next()
    with cluster.session(graph) as session:
        assert [session.run(following) for _ in range(3)] == [20, 20, 22]
