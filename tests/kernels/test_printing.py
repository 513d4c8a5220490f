"""What prints: the text, how often, and where it goes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.kernels.shown import formatted, summary
from tests.kernels.calling import Bench
from tests.ops.rows import strings


def text(value: str) -> Any:
    return np.array(value.encode(), object)


@pytest.mark.parametrize(
    ("value", "limit", "want"),
    [
        (np.array([1.5, 2, 3, 4], np.float32), 2, "[1.5 2...]"),
        (np.array([True, False]), 2, "[1 0]"),
        (strings(b"a", b"b"), 2, "[a b]"),
        (np.int64(3), 2, "[3]"),
        (np.float32(1 / 3), 2, "[0.333333343]"),
        (np.float64(1 / 3), 2, "[0.33333333333333331]"),
        (np.float16(1 / 3), 2, "[0.333251953]"),
        (np.array([1 + 2j]), 2, "[?]"),
        (np.float32(np.nan), 2, "[nan]"),
        (np.array([np.inf, -np.inf], np.float32), 2, "[inf -inf]"),
        (np.zeros(0, np.float32), 2, "[]"),
        (np.array([[1, 2], [3, 4]]), 2, "[[1 2]...]"),
        (np.array([[1, 2, 3], [4, 5, 6]]), 2, "[[1 2...]...]"),
        (np.array([[1, 2, 3], [4, 5, 6]]), 4, "[[1 2 3][4...]...]"),
        (np.array([[1, 2], [3, 4]]), -1, "[[1 2][3 4]]"),
        (np.arange(8).reshape(2, 2, 2), 5, "[[[0 1][2 3]][[4...]]...]"),
        *((np.zeros(shape), limit, "[]") for limit in (3, -1)
          for shape in ((2, 0), (0, 2), (0, 0), (2, 0, 3), (2, 3, 0), (0, 2, 3))),
    ],
    ids=repr,
)  # fmt: skip
def test_a_summary_shows_the_first_elements(value: Any, limit: int, want: str) -> None:
    assert summary(value, limit) == want


@pytest.mark.parametrize(
    ("value", "ends", "want"),
    [
        (np.arange(8), 2, "[0 1 ... 6 7]"),
        (np.arange(4), 2, "[0 1 2 3]"),
        (np.arange(3), 2, "[0 1 2]"),
        (np.arange(24).reshape(2, 3, 4), 1,
         "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]]"),
        (np.arange(4).reshape(2, 2), -1, "[[0 1]\n [2 3]]"),
        *((np.zeros(shape), ends, want) for ends in (3, -1) for shape, want in (
            ((2, 0), "[\n ...]"), ((2, 0, 3), "[\n\n ...]"), ((2, 3, 0), "[\n\n ...]"),
            ((0, 2), "[]"), ((0, 0), "[]"), ((0, 2, 3), "[]"))),
        (np.zeros(0), 3, "[]"),
        (strings(b"x", b'y"z\n\xff'), 3, '["x" "y\\"z\\n\\377"]'),
        (text("x"), 3, '"x"'),
        (np.True_, 3, "1"),
        (np.float32(3.25), 3, "3.25"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_formatted_tensor_shows_both_ends(value: Any, ends: int, want: str) -> None:
    assert formatted(value, ends) == want


def test_print_hands_on_its_input_and_writes_the_others(capsys: Any) -> None:
    bench = Bench()
    x = np.array([1, 2], np.float32)
    data = [np.arange(5, dtype=np.int32), strings(b"a")]
    assert bench("Print", x, data, message=b"says: ", summarize=2) is x
    assert capsys.readouterr().err == "says: [0 1...][a]\n"


def test_print_counts_in_the_session(capsys: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = tf.Print(x, [x], "x ", first_n=2)
        for value in range(4):
            assert session.run(y * 2.0 if value % 2 else y, {x: value}) == value * (1 + value % 2)
        assert capsys.readouterr().err == "x [0]\nx [1]\n"
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.Print(1.0, [2.0], first_n=1))
        assert capsys.readouterr().err == "[2]\n"


def test_print_is_transparent_to_derivatives(capsys: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 3.0])
        y = tf.Print(x * x, [x])
        (g,) = tf.gradients(y, x)
        (t,) = tf.jvp(y, x, tf.ones([2]))
        (gg,) = tf.gradients(g, x)
        got = session.run([g, t, gg])
        assert [v.tolist() for v in got] == [[2, 6], [2, 6], [2, 2]]


def test_print_in_a_loop_prints_each_time(capsys: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        last = tf.while_loop(
            lambda i: i < 3, lambda i: tf.Print(i, [i], "at ", first_n=4) + 1, [tf.constant(0)]
        )
        for _ in range(2):
            session.run(last)
        assert capsys.readouterr().err == "at [0]\nat [1]\nat [2]\nat [0]\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_print_v2_writes_a_line_to_a_stream(stream: str, capsys: Any) -> None:
    Bench()("PrintV2", text("hello"), output_stream=stream.encode(), end=b"!\n")
    captured = capsys.readouterr()
    assert (captured.out, captured.err)[stream == "stderr"] == "hello!\n"


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_print_v2_writes_to_the_log(level: str, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="graphvm"):
        Bench()("PrintV2", text("50%"), output_stream=f"log({level})".encode())
    assert [(r.levelname, r.message) for r in caplog.records] == [(level.upper(), "50%")]


def test_print_v2_appends_to_a_file(tmp_path: Path) -> None:
    stream = f"file://{tmp_path}/out.txt".encode()
    for line in ("a", "b"):
        Bench()("PrintV2", text(line), output_stream=stream)
    assert (tmp_path / "out.txt").read_text() == "a\nb\n"


def test_print_v2_refuses_other_streams_and_shapes() -> None:
    with pytest.raises(InvalidArgumentError, match="no output stream 'bogus', only stdout, stderr"):
        Bench()("PrintV2", text("x"), output_stream=b"bogus")
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"scalar"):
        tf.raw_ops.PrintV2(input=["a", "b"])


def test_string_format_fills_a_template() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        two = tf.strings.format("a {} b {}", (tf.constant([1, 2]), tf.constant(3.25)))
        assert session.run(two) == b"a [1 2] b 3.25"
        other = tf.strings.format("a %t b", tf.range(8), placeholder="%t", summarize=2)
        assert session.run(other) == b"a [0 1 ... 6 7] b"
        assert session.run(tf.strings.format("none", ())) == b"none"
        assert other.op.type == "StringFormat"
        with pytest.raises(ValueError, match=r"takes 1 tensors, got 0"):
            tf.strings.format("a {}", ())


def test_strings_are_joined() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        joined = tf.strings.join([["a", "b"], "x"], separator="-")
        assert session.run(joined).tolist() == [b"a-x", b"b-x"]


def printed(*inputs: Any, **kwargs: Any) -> None:
    with tf.Session() as session:
        session.run(tf.print(*inputs, **kwargs))


def test_print_function_mixes_tensors_and_values(capsys: Any) -> None:
    with tf.Graph().as_default():
        nested = {"a": tf.constant(1), "b": [1, "z"]}
        printed(tf.constant([1.5, 2, 3]), "x", nested, sep="|", end="<\n")
        printed("{} braces %s", tf.constant(1), [tf.constant(2), (3, tf.constant([4.5]))], None)
        printed(tf.constant("alone"))
        printed(tf.constant("two"), tf.constant(["a b"]))
        printed(tf.range(10), summarize=1)
    assert capsys.readouterr().err.splitlines() == [
        "[1.5 2 3]|x|{'a': 1, 'b': [1, 'z']}<",
        "{} braces %s 1 [2, (3, [4.5])] None",
        "alone",
        '"two" ["a b"]',
        "[0 ... 9]",
    ]


def test_print_function_knows_its_streams(capsys: Any, caplog: Any) -> None:
    import sys

    with tf.Graph().as_default():
        printed("out", output_stream=sys.stdout)
        with caplog.at_level(logging.WARNING, logger="graphvm"):
            printed("warned", output_stream=tf.logging.warning)
        with pytest.raises(ValueError, match="no output stream 'nowhere'"):
            printed("x", output_stream="nowhere")
    assert capsys.readouterr().out == "out\n"
    assert [r.message for r in caplog.records] == ["warned"]


def test_a_variable_is_printed_by_its_value(capsys: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=2.5)
        shown = tf.print("v:", v)
        session.run(v.initializer)
        session.run(shown)
    assert capsys.readouterr().err == "v: 2.5\n"
