"""A script that makes nodes inside its loop of runs is warned once, with the line."""

import re
import warnings

import graphvm as tf


def test_a_graph_that_grows_before_each_run_is_reported_once() -> None:
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        warnings.catch_warnings(record=True) as w,
    ):
        warnings.simplefilter("always")
        x = tf.constant(1.0)
        for _ in range(220):
            session.run(x + 1.0)
    (said,) = (str(each.message) for each in w)
    assert re.search(r"test_growth\.py:\d+, in test_a_graph_that_grows.*once, before", said)


def test_a_graph_that_is_made_first_is_not_reported() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        nodes = [tf.constant(float(i)) for i in range(300)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for node in nodes:
                session.run(node)
