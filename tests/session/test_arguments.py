"""What a session refuses to take: options, targets, feeds; and what it takes as TensorFlow does."""

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import GraphError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as g:
        yield g


def test_a_session_wants_a_config_and_a_target() -> None:
    with pytest.raises(TypeError, match="config must be a ConfigProto, not int"):
        tf.Session(config=5)
    with pytest.raises(TypeError, match="config must be a ConfigProto, not RunOptions"):
        tf.Session(config=tf.RunOptions())
    with pytest.raises(TypeError, match="target must be a string, not int"):
        tf.Session(target=5)  # type: ignore[arg-type]
    for target in (None, b""):
        with tf.Session(target=target) as session:  # type: ignore[arg-type]
            assert session.sess_str == ""


def test_a_run_wants_options_and_metadata() -> None:
    one = tf.constant(1.0)
    with tf.Session() as session:
        call = session.make_callable(one, accept_options=True)
        runs: list[Callable[..., Any]] = [partial(session.run, one), call]
        for run in runs:
            with pytest.raises(TypeError, match="options must be a RunOptions, not int"):
                run(options=5)
            with pytest.raises(TypeError, match="run_metadata must be a RunMetadata, not int"):
                run(run_metadata=5)
            with pytest.raises(TypeError, match="options must be a RunOptions, not RunMetadata"):
                run(options=tf.RunMetadata())
            assert run(options=tf.RunOptions(), run_metadata=tf.RunMetadata()) == 1


@pytest.mark.parametrize(
    "value", ["ab", b"ab", np.str_("ab"), np.bytes_(b"ab"), np.array("ab"), np.array(b"ab")]
)
def test_texts_are_fed_as_bytes(value: Any) -> None:
    x = tf.placeholder(tf.string)
    with tf.Session() as session:
        got = session.run(tf.identity(x), {x: value})
        assert type(got) is bytes
        assert got == b"ab"
        two = np.array([value, value]), [value, "ab"], np.array([value, b"ab"], object)
        for several in two if not isinstance(value, np.ndarray) else two[:1]:
            assert session.run(tf.identity(x), {x: several}).tolist() == [b"ab", b"ab"]
        assert session.run(tf.identity(x), {x: np.zeros((0, 2))}).shape == (0, 2)


@pytest.mark.parametrize(
    "value",
    [5, 1.5, True, None, [None], [1, "a"], np.array([1]), {}, bytearray(b"a"), [["a"], ["b", "c"]]],
)
def test_what_is_no_text_is_not_fed_as_one(value: Any) -> None:
    x = tf.placeholder(tf.string, name="x")
    with tf.Session() as session, pytest.raises(TypeError, match="cannot be fed to 'x:0' of str"):
        session.run(tf.identity(x), {x: value})


def test_half_a_surrogate_pair_is_no_text() -> None:
    x = tf.placeholder(tf.string)
    with tf.Session() as session:
        for value in ("\ud800", ["a", "\ud800"], np.array(["\ud800"])):
            with pytest.raises(GraphError, match="half a surrogate pair"):
                session.run(tf.identity(x), {x: value})
            with pytest.raises(GraphError, match="half a surrogate pair"):
                tf.constant(value)


@pytest.mark.parametrize(
    "dtype", [tf.bfloat16, tf.float16, tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8]
)
@pytest.mark.parametrize(
    "value", [1 + 2j, [1 + 2j], np.complex64(1), np.zeros(2, np.complex128)], ids=repr
)
def test_imaginary_parts_are_not_dropped(dtype: Any, value: Any) -> None:
    x = tf.placeholder(dtype, name="x")
    with tf.Session() as session, pytest.raises(TypeError, match=r"'x:0'.* imaginary part"):
        session.run(tf.identity(x), {x: value})


def test_numbers_that_do_not_fit_are_refused() -> None:
    flag, half, real, short = (
        tf.placeholder(t) for t in (tf.bool, tf.bfloat16, tf.float32, tf.int32)
    )
    with tf.Session() as session:
        assert session.run(tf.identity(flag), {flag: 1}) == np.True_
        assert session.run(tf.identity(half), {half: 1.5}).dtype == ml_dtypes.bfloat16
        for x, value in ((flag, 2), (real, 10**400), (short, 2**70), (short, [2**70])):
            with pytest.raises(TypeError, match=r"(does not fit|cannot be fed|too large)"):
                session.run(tf.identity(x), {x: value})


def test_keys_of_feeds_may_be_nested() -> None:
    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    both = [tf.identity(a), tf.identity(b)]
    with tf.Session() as session:
        for _ in range(2):
            assert session.run(both, {(a, b): (1.0, 2.0)}) == [1, 2]
            assert session.run(both, {(a, ("b:0",)): [1.0, (2.0,)]}) == [1, 2]
            assert session.run(both, {(a,): (1.0,), b: 2.0}) == [1, 2]
        with pytest.raises(ValueError, match="has 2 tensors, its value 3"):
            session.run(both, {(a, b): (1.0, 2.0, 3.0)})
        with pytest.raises(ValueError, match=r"'b:0'.* is fed twice"):
            session.run(both, {(a, b): (1.0, 2.0), b: 3.0})
        with pytest.raises(TypeError, match="nothing"):
            session.run(both, {(a, "nothing:0"): (1.0, 2.0)})


def test_of_two_values_for_a_tensor_the_last_counts() -> None:
    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    with tf.Session() as session:
        for _ in range(2):
            assert session.run([a + 0.0, b + 0.0], {a: 1.0, "a:0": 2.0, b: 3.0}) == [2, 3]
        call = session.make_callable(a + b, [a, b])
        assert call(1.0, 2.0) == 3
        with pytest.raises(ValueError, match="tensor 'a:0' is fed twice"):
            session.make_callable(a, [a, "a:0"])


@pytest.mark.parametrize("feeds", [5, [("a", 1.0)]])
def test_feeds_are_a_dictionary(feeds: Any) -> None:
    with tf.Session() as session, pytest.raises(TypeError, match="feed_dict must be a dictionary"):
        session.run(tf.constant(1.0), feeds)
