"""One program, every way to run it, one answer."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphvm as tf
from graphvm_runtime import config
from tests.session.programs import built, recipes

START = np.array([[0.5, -1.0, 2.0], [0.1, 0.0, -0.3], [1.5, 0.7, -2.0]])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes(), st.booleans())
def test_interpreted_emitted_and_through_bytes_agree(steps: Any, negate: Any) -> None:
    fed = -START if negate else START
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [3, 3])
        fetches = built(steps, [x])
        with config.INTERPRET.set(True), tf.Session() as sess:
            want = sess.run(fetches, {x: fed})
        with tf.Session() as sess:
            first = sess.run(fetches, {x: fed})
            for _ in range(3):
                emitted = sess.run(fetches, {x: fed})
            assert sess.stats(fetches, [x])["interpreted"] == 0
        with config.STRICT.set(True), tf.Session(graph=graph) as sess:
            crossed = sess.run(fetches, {x: fed})
    for w, f, e, c in zip(want, first, emitted, crossed, strict=True):
        np.testing.assert_array_equal(f, w)
        # folding may compute a constant in another order than the run would
        np.testing.assert_allclose(e, w, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(c, w)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int32, tf.uint8, tf.bool])
def test_scalar_constants_meet_arrays_and_scalars(dtype: tf.DType) -> None:
    with tf.Graph().as_default():
        x, s = tf.placeholder(dtype, [3]), tf.placeholder(dtype, [])
        two = tf.constant(dtype is tf.bool or 2, dtype)
        ops: list[Any] = [tf.equal, tf.not_equal]
        if dtype is not tf.bool:
            ops += [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.less]
        found = [op(*args) for op in ops for args in ((x, two), (two, x), (s, two), (two, s))]
        feeds = {x: np.array([0, 1, 3], dtype.as_numpy_dtype), s: dtype.as_numpy_dtype(1)}
        results = []
        for switch in (config.INTERPRET, config.EMIT):
            with switch.set(True), tf.Session() as sess:
                results.append(sess.run(found, feeds))
        for mine, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert (type(mine), mine.dtype) == (type(theirs), theirs.dtype)
