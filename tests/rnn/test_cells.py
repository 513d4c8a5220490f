"""Cells and networks: what they are asked for, what they refuse, and both modes of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from tests.derivatives.checks import checked

cells = tf.nn.rnn_cell
THREE: Any = 3  # where something else is wanted


def value(*shape: int) -> Any:
    return np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def sizes(structure: Any) -> Any:
    return tf.nest.map_structure(lambda t: t.shape.as_list(), structure)


def test_first_states_have_the_structure_of_the_cell() -> None:
    stack = cells.MultiRNNCell([cells.LSTMCell(3, num_proj=2), cells.GRUCell(4)])
    assert stack.state_size == (cells.LSTMStateTuple(3, 2), 4)
    assert stack.output_size == 4
    assert sizes(stack.zero_state(5, tf.float32)) == (cells.LSTMStateTuple([5, 3], [5, 2]), [5, 4])
    batch = tf.placeholder(tf.int32, [])
    assert sizes(cells.GRUCell(4).zero_state(batch, tf.float64)) == [None, 4]
    x = tf.placeholder(tf.float64, [None, 2])
    state = cells.BasicLSTMCell(2).get_initial_state(x)
    assert state.dtype is tf.float64
    with tf.Session() as session:
        assert session.run(state, {x: np.zeros([7, 2])}).h.shape == (7, 2)


def test_a_first_state_needs_a_batch_and_a_type() -> None:
    cell = cells.GRUCell(3)
    with pytest.raises(ValueError, match="needs the batch, or its size and element type"):
        cell.get_initial_state(batch_size=3)
    with pytest.raises(ValueError, match="has 2 entries, not 3"):
        cell.get_initial_state(tf.zeros([2, 1]), 3)
    with pytest.raises(ValueError, match="are of float32, not "):
        cell.get_initial_state(tf.zeros([2, 1]), dtype=tf.float64)


def test_a_cell_knows_its_variables_and_its_scope() -> None:
    inner = cells.BasicLSTMCell(3)
    cell = cells.MultiRNNCell([cells.DropoutWrapper(inner, 0.5), cells.GRUCell(2, name="g")])
    with pytest.raises(ValueError, match="no scope before its first call"):
        _ = cell.scope_name
    cell(tf.zeros([2, 4]), cell.zero_state(2, tf.float32))
    assert cell.scope_name == "multi_rnn_cell"
    assert [v.name for v in inner.trainable_weights] == [
        "multi_rnn_cell/cell_0/basic_lstm_cell/kernel:0",
        "multi_rnn_cell/cell_0/basic_lstm_cell/bias:0",
    ]
    assert cell.variables == tf.global_variables()
    assert cell.non_trainable_weights == []
    assert cells.GRUCell(2, name="g").name == "g"


def test_a_frozen_cell_has_no_trainable_variables() -> None:
    class Cell(cells.RNNCell):
        state_size = output_size = 2

        def build(self, shape: Any) -> None:
            self.w = self.add_weight("w", [2])

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs * self.w, state

    cell = Cell(trainable=False)
    cell(tf.zeros([1, 2]), tf.zeros([1, 2]))
    assert tf.trainable_variables() == []
    assert [v.name for v in cell.non_trainable_weights] == ["cell/w:0"]


def test_half_precision_and_double_precision() -> None:
    for dtype in (tf.float16, tf.float64):
        x = tf.placeholder(dtype, [2, 3, 4])
        with tf.variable_scope(dtype.name):
            for cell in (cells.BasicLSTMCell(2), cells.GRUCell(2), cells.LSTMCell(2, True)):
                out, _ = tf.nn.dynamic_rnn(cell, x, dtype=dtype)
                assert run(out, {x: value(2, 3, 4)}).dtype == dtype.as_numpy_dtype
                assert {v.dtype.base_dtype for v in cell.variables} == {dtype}


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tf.nn.dynamic_rnn(3, tf.zeros([1, 2, 3])), TypeError, "no output_size"),
    (
        lambda: tf.nn.dynamic_rnn(cells.GRUCell(2), tf.zeros([1, 2, 3])),
        ValueError, "needs an element type",
    ),
    (
        lambda: tf.nn.dynamic_rnn(
            cells.GRUCell(2), tf.placeholder(tf.float32, [1, 2, None]), dtype=tf.float32
        ),
        ValueError, "set_shape on the inputs",
    ),
    (
        lambda: tf.nn.dynamic_rnn(cells.GRUCell(2), tf.zeros([3]), dtype=tf.float32),
        ValueError, "a batch axis and a time axis",
    ),
    (
        lambda: tf.nn.dynamic_rnn(cells.GRUCell(2), tf.zeros([2, 1, 3]), [1], dtype=tf.float32),
        ValueError, "an entry for each of 2 sequences",
    ),
    (
        lambda: tf.nn.dynamic_rnn(
            cells.GRUCell(2), (tf.zeros([2, 1, 3]), tf.zeros([2, 4, 3])), dtype=tf.float32
        ),
        ValueError, "different times",
    ),
    (lambda: tf.nn.raw_rnn(cells.GRUCell(2), THREE), TypeError, "loop_fn is a function"),
    (
        lambda: tf.nn.raw_rnn(cells.GRUCell(2), lambda *a: (False, THREE, None)),
        ValueError, "gives 3 results; raw_rnn needs 5: .elements_finished, next_input",
    ),
    (
        lambda: tf.nn.raw_rnn(cells.GRUCell(2), lambda *a: ([False], THREE, None, None, None)),
        ValueError, "gives None as next_cell_state when it is called first, at time 0",
    ),
    (
        lambda: tf.nn.raw_rnn(
            cells.GRUCell(2),
            lambda *a: (tf.constant([False]), tf.zeros([1, 3]), tf.zeros([1, 2]), None, None),
        ),
        ValueError, "gives None as emit_output at a step",
    ),
    (
        lambda: tf.nn.static_rnn(cells.GRUCell(2), tf.zeros([1, 2]), dtype=tf.float32),
        TypeError, "inputs is a list or tuple",
    ),
    (
        lambda: tf.nn.static_rnn(cells.GRUCell(2), [], dtype=tf.float32),
        ValueError, "there is no input",
    ),
    (
        lambda: cells.GRUCell(2)(tf.placeholder(tf.float32, [1, None]), tf.zeros([1, 2])),
        ValueError, "the last dimension of the inputs must be known",
    ),
    (lambda: cells.GRUCell(2, activation="frob"), ValueError, "no activation 'frob'"),
    (lambda: cells.GRUCell(2, frob=1), TypeError, "no argument 'frob'"),
    (lambda: cells.LSTMCell(2, num_unit_shards=2), ValueError, "None or 1"),
    (lambda: cells.MultiRNNCell([]), ValueError, "at least one"),
    (lambda: cells.MultiRNNCell(THREE), TypeError, "list or tuple"),
    (lambda: cells.MultiRNNCell([3]), TypeError, "cell 0 of the stack is no RNNCell"),
    (
        lambda: cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False),
        ValueError, "cannot be one tensor",
    ),
    (lambda: cells.DropoutWrapper(cells.GRUCell(2), 1.5), ValueError, "is a probability"),
    (
        lambda: cells.DropoutWrapper(cells.GRUCell(2), 0.5, variational_recurrent=True),
        ValueError, "needs dtype",
    ),
    (
        lambda: cells.DropoutWrapper(
            cells.GRUCell(2), 0.5, variational_recurrent=True, dtype=tf.float32
        ),
        ValueError, "needs input_size",
    ),
    (
        lambda: cells.DropoutWrapper(cells.GRUCell(2), dropout_state_filter_visitor=THREE),
        TypeError, "a function",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_is_wrong_is_refused(
    make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_lengths_are_checked_when_they_run() -> None:
    x = tf.placeholder(tf.float32, [None, 2, 3])
    n = tf.placeholder(tf.int32, [None])
    out, _ = tf.nn.dynamic_rnn(cells.GRUCell(2), x, n, dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="sequence_length has the shape"):
        run(out, {x: value(3, 2, 3), n: [1, 2]})


def test_no_steps_give_no_outputs_and_the_first_state() -> None:
    x = tf.placeholder(tf.float32, [2, None, 3])
    out, state = tf.nn.dynamic_rnn(cells.GRUCell(2), x, dtype=tf.float32)
    got = run([out, state], {x: value(2, 0, 3)})
    assert got[0].shape == (2, 0, 2)
    assert not got[1].any()


def test_sequences_of_no_length_give_zeros() -> None:
    x = tf.placeholder(tf.float32, [2, 3, 3])
    out, state = tf.nn.dynamic_rnn(cells.GRUCell(2), x, [0, 0], dtype=tf.float32)
    got = run([out, state], {x: value(2, 3, 3)})
    assert got[0].shape == (2, 3, 2)
    assert not got[0].any()
    assert not got[1].any()


def test_a_state_filter_chooses_what_is_dropped() -> None:
    def chosen(part: Any) -> Any:
        if isinstance(part, cells.LSTMStateTuple):
            return cells.LSTMStateTuple(c=True, h=False)
        return not isinstance(part, list)

    class Cell(cells.RNNCell):
        state_size = [3], cells.LSTMStateTuple(50, 3), 50
        output_size = 3

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, tf.nest.map_structure(tf.ones_like, state)

    cell = cells.DropoutWrapper(Cell(), state_keep_prob=0.5, dropout_state_filter_visitor=chosen)
    _, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    (listed,), pair, last = run(state)
    assert (listed == 1).all()
    assert set(np.unique(pair.c)) == {0.0, 2.0}
    assert (pair.h == 1).all()
    assert set(np.unique(last)) == {0.0, 2.0}


def test_forward_and_backward_see_one_mask() -> None:
    x = tf.placeholder(tf.float32, [3, 4, 50])

    class Copy(cells.RNNCell):
        state_size = 1
        output_size = 50

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, state

    out, _ = tf.nn.dynamic_rnn(cells.DropoutWrapper(Copy(), 0.5, 0.5), x, dtype=tf.float32)
    (slope,) = tf.gradients(out, [x])
    got, by_x = run([out, slope], {x: np.ones([3, 4, 50], np.float32)})
    np.testing.assert_array_equal(got, by_x)
    assert set(np.unique(got)) == {0.0, 4.0}
    assert any((got[:, 0] != got[:, 1]).ravel())


class Fixed(cells.RNNCell):
    """A cell whose weights are given."""

    def __init__(self, w: Any) -> None:
        super().__init__()
        self.w = w

    state_size = output_size = 2

    def call(self, inputs: Any, state: Any) -> Any:
        new = tf.tanh(tf.matmul(tf.concat([inputs, state], 1), self.w))
        return new * state, new


@pytest.mark.parametrize("lengths", [None, [3, 1]])
def test_both_modes_to_second_order(lengths: Any) -> None:
    def program(x: Any, w: Any, h: Any) -> Any:
        out, state = tf.nn.dynamic_rnn(Fixed(w), x, lengths, initial_state=h)
        return [out, state]

    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, s) for s in ((2, 3, 2), (4, 2), (2, 2))]
    checked(program, arrays, order=2)


def test_a_saver_finds_variables_by_tensorflow_1s_names(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [1, 2, 3])
    out, _ = tf.nn.dynamic_rnn(cells.BasicLSTMCell(2), x, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        want = session.run(out, {x: value(1, 2, 3)})
        file = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert file is not None
    names = dict(tf.train.list_variables(file))
    assert names == {"rnn/basic_lstm_cell/kernel": [5, 8], "rnn/basic_lstm_cell/bias": [8]}
    with tf.Session() as session:
        tf.train.Saver().restore(session, file)
        np.testing.assert_array_equal(session.run(out, {x: value(1, 2, 3)}), want)


class Saved:
    """States kept in variables."""

    def __init__(self) -> None:
        self.variables = {n: tf.Variable(tf.ones([1, 2]), name=n) for n in ("c", "h")}

    def state(self, name: str) -> Any:
        return self.variables[name].read_value()

    def save_state(self, name: str, tensor: Any) -> Any:
        return self.variables[name].assign(tensor).op


def test_a_saved_state_goes_on() -> None:
    saved = Saved()
    inputs = [tf.ones([1, 3])] * 2
    outputs, state = tf.nn.static_state_saving_rnn(
        cells.BasicLSTMCell(2), inputs, saved, ("c", "h")
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _, first = session.run([outputs[-1], state])
        np.testing.assert_array_equal(session.run(saved.variables["c"]), first.c)
        _, second = session.run([outputs[-1], state])
    assert (first.c != second.c).all()
    with pytest.raises(ValueError, match="a name for each part"):
        tf.nn.static_state_saving_rnn(cells.BasicLSTMCell(2), inputs, saved, "c")
