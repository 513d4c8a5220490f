"""Recurrent networks of TensorFlow 1, told so that they run on TensorFlow and on GraphVM alike.

Each takes the module to run on and its module of cells, and gives what to feed and what to look
at. `told` says what came out: outputs, names and shapes of variables, and derivatives. Running
`record` on TensorFlow 2.21 (with `tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl` as the
cells) made `tests/data/rnn/tensorflow.npz`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Network = tuple[dict[Any, Any], list[Any]]


def numbers(name: str, *shape: int) -> Any:
    """Numbers that a name decides."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return rng.uniform(-1, 1, shape)


def fed(tf: Any, name: str, *shape: int, known: Any = None, dtype: str = "float32") -> Any:
    """A placeholder and its value."""
    place = tf.placeholder(getattr(tf, dtype), shape if known is None else known, name)
    return place, numbers(name, *shape).astype(dtype)


def leaves(structure: Any) -> list[Any]:
    """All tensors of a structure, from left to right."""
    if isinstance(structure, list | tuple):
        return [leaf for part in structure for leaf in leaves(part)]
    return [structure]


def basic(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 3, 4, 5)
    return {x: value}, leaves(tf.nn.dynamic_rnn(cells.BasicRNNCell(4), x, dtype=tf.float32))


def lengths_of_unknown_batch(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 3, 5, 2, known=[None, None, 2])
    n = tf.placeholder(tf.int64, [None])
    net = tf.nn.dynamic_rnn(cells.BasicLSTMCell(4), x, n, dtype=tf.float32)
    return {x: value, n: np.array([5, 0, 2])}, leaves(net)


def lengths_that_end_early(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 6, 3)
    cell = cells.GRUCell(3)
    return {x: value}, leaves(tf.nn.dynamic_rnn(cell, x, [2, 3], dtype=tf.float32))


def peepholes_and_projection(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 5, 3, 4)
    cell = cells.LSTMCell(
        6, use_peepholes=True, cell_clip=0.4, num_proj=3, proj_clip=0.2, forget_bias=0.5,
        initializer=tf.zeros_initializer(), activation=tf.nn.relu,
    )  # fmt: skip
    net = tf.nn.dynamic_rnn(cell, x, [5, 1, 4], dtype=tf.float32, time_major=True, scope="deep")
    return {x: value}, leaves(net)


def states_side_by_side(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3, 4)
    stack = cells.MultiRNNCell(
        [cells.BasicLSTMCell(3, state_is_tuple=False),
         cells.LSTMCell(4, num_proj=2, state_is_tuple=False)],
        state_is_tuple=False,
    )  # fmt: skip
    return {x: value}, leaves(tf.nn.dynamic_rnn(stack, x, dtype=tf.float32))


def first_state_given(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3, 4, dtype="float64")
    h, start = fed(tf, "h", 2, 5, dtype="float64")
    cell = cells.GRUCell(5, activation=tf.sigmoid, dtype=tf.float64)
    return {x: value, h: start}, leaves(tf.nn.dynamic_rnn(cell, x, initial_state=h))


def wrapped_stack(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3, 4)
    stack = cells.MultiRNNCell([
        cells.ResidualWrapper(cells.BasicLSTMCell(4)),
        cells.DeviceWrapper(cells.LSTMCell(4, name="named"), "/device:CPU:0"),
        cells.ResidualWrapper(cells.GRUCell(4), lambda i, o: i * o),
    ])  # fmt: skip
    return {x: value}, leaves(tf.nn.dynamic_rnn(stack, x, [3, 1], dtype=tf.float32))


def two_directions(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 4, 3)
    net = tf.nn.bidirectional_dynamic_rnn(
        cells.BasicLSTMCell(3), cells.GRUCell(2), x, [2, 4], dtype=tf.float32
    )
    return {x: value}, leaves(net)


def two_whole_directions(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 4, 2, 3)
    net = tf.nn.bidirectional_dynamic_rnn(
        cells.GRUCell(3), cells.GRUCell(3), x, dtype=tf.float32, time_major=True, scope="both"
    )
    return {x: value}, leaves(net)


def laid_out(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 4, 3)
    cell = cells.LSTMCell(3, use_peepholes=True)
    return {x: value}, leaves(tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32))


def laid_out_with_lengths(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 3, 5, 2)
    n = tf.placeholder(tf.int32, [3])
    net = tf.nn.static_rnn(
        cells.BasicLSTMCell(3), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=n
    )
    return {x: value, n: np.array([1, 3, 2])}, leaves(net)


def laid_out_in_two_directions(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 4, 3)
    steps = tf.unstack(x, axis=1)
    net = tf.nn.static_bidirectional_rnn(
        cells.GRUCell(3), cells.BasicRNNCell(3), steps, dtype=tf.float32, sequence_length=[4, 2]
    )
    other = tf.nn.static_bidirectional_rnn(
        cells.GRUCell(3), cells.BasicRNNCell(3), steps, dtype=tf.float32, scope="whole"
    )
    return {x: value}, leaves([net, other])


def raw(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 5, 3, 2)
    rows = tf.TensorArray(tf.float32, 5).unstack(x)
    n = tf.constant([5, 0, 3])
    cell = cells.BasicLSTMCell(4)

    def loop(time: Any, out: Any, state: Any, kept: Any) -> Any:
        after = cell.zero_state(3, tf.float32) if out is None else state
        done = time >= n
        zeros = tf.zeros([3, 2])
        now = tf.cond(tf.reduce_all(done), lambda: zeros, lambda: rows.read(time))
        return done, now, after, out, None

    arrays, state, _ = tf.nn.raw_rnn(cell, loop)
    return {x: value}, leaves([arrays.stack(), state])


def raw_with_outputs_of_its_own(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3)
    cell = cells.GRUCell(3)

    def loop(time: Any, out: Any, state: Any, kept: Any) -> Any:
        if out is None:
            return tf.zeros([2], tf.bool), x, cell.zero_state(2, tf.float32), (
                tf.zeros([2]), tf.zeros([], tf.int32)), tf.constant(0.0)  # fmt: skip
        emitted = tf.concat([out[:, :1], out[:, 1:2] * 2.0], 1), tf.fill([2], time)
        ends = tf.stack([time >= 2, time >= 4])
        return ends, out * 0.5, state, emitted, kept + tf.reduce_sum(out)

    arrays, state, total = tf.nn.raw_rnn(cell, loop, scope="own")
    return {x: value}, [arrays[0].stack(), arrays[1].stack(), state, total]


def dropped(tf: Any, cells: Any) -> Network:
    tf.set_random_seed(5)
    x, value = fed(tf, "x", 3, 4, 6)
    cell = cells.DropoutWrapper(
        cells.BasicLSTMCell(5), input_keep_prob=0.7, output_keep_prob=0.6, state_keep_prob=0.8,
        seed=11,
    )  # fmt: skip
    net = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, parallel_iterations=1)
    return {x: value}, leaves(net)


def dropped_by_a_tensor(tf: Any, cells: Any) -> Network:
    tf.set_random_seed(6)
    x, value = fed(tf, "x", 3, 4)
    keep = tf.placeholder(tf.float32, [])
    cell = cells.DropoutWrapper(cells.GRUCell(5), output_keep_prob=keep, seed=3)
    return {x: value, keep: np.float32(0.5)}, leaves(cell(x, cell.zero_state(3, tf.float32)))


def one_mask_for_all_steps(tf: Any, cells: Any) -> Network:
    tf.set_random_seed(7)
    x, value = fed(tf, "x", 3, 4, 6)
    cell = cells.DropoutWrapper(
        cells.GRUCell(5), 0.5, 0.6, 0.7, variational_recurrent=True, input_size=6,
        dtype=tf.float32, seed=9,
    )  # fmt: skip
    return {x: value}, leaves(tf.nn.dynamic_rnn(cell, x, [4, 2, 3], dtype=tf.float32))


def shared(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3, 4)
    cell = cells.BasicLSTMCell(4)
    first = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    second = tf.nn.dynamic_rnn(cell, first[0], dtype=tf.float32, scope="ignored")
    start = cell.zero_state(2, tf.float32)
    with tf.variable_scope("rnn"):
        other = cells.BasicLSTMCell(4)(x[:, 1], start)
    with tf.variable_scope("rnn", reuse=True):
        third = cells.BasicLSTMCell(4)(x[:, 0], start, scope="basic_lstm_cell")
    with tf.variable_scope("own"):
        fourth = [cells.GRUCell(4)(x[:, 0], first[1].h) for _ in range(2)]
        fifth = cells.GRUCell(4, reuse=True, name="gru_cell")(x[:, 1], first[1].h)
        sixth = cells.BasicRNNCell(4)(x[:, 1], first[1].h, scope="scoped")
    return {x: value}, leaves([first, second, third, other, fourth, fifth, sixth])


def nested(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3, 4)
    y, other = fed(tf, "y", 2, 3, 2, 2)

    class Cell(cells.RNNCell):  # type: ignore[misc]  # its class is not known here
        @property
        def state_size(self) -> Any:
            return [3, tf.TensorShape([2, 2])], ()

        @property
        def output_size(self) -> Any:
            return tf.TensorShape([2, 2]), 3

        def call(self, inputs: Any, state: Any) -> Any:
            (a, b), nothing = state
            first, second = inputs
            w = tf.get_variable("w", [7, 3])
            new_a = tf.tanh(tf.matmul(tf.concat([first, a], 1), w))
            new_b = b * 0.5 + second * self.scale()
            return (new_b, new_a), ([new_a, new_b], nothing)

        def scale(self) -> Any:
            with tf.variable_scope("inner"):
                return tf.get_variable("scale", [2, 2])

    net = tf.nn.dynamic_rnn(Cell(name="pair"), (x, y), [3, 2], dtype=tf.float32)
    return {x: value, y: other}, leaves(net)


def built(tf: Any, cells: Any) -> Network:
    x, value = fed(tf, "x", 2, 3, 4)

    class MinimalCell(cells.RNNCell):  # type: ignore[misc]  # its class is not known here
        state_size = output_size = 3

        def build(self, shape: Any) -> None:
            self.kernel = self.add_variable("kernel", [4, 3])
            self.built = True

        def call(self, inputs: Any, state: Any) -> Any:
            new = state + tf.matmul(inputs, self.kernel)
            return tf.sin(new), new

    return {x: value}, leaves(tf.nn.dynamic_rnn(MinimalCell(), x, dtype=tf.float32))


NETWORKS: list[Callable[[Any, Any], Network]] = [
    basic, lengths_of_unknown_batch, lengths_that_end_early, peepholes_and_projection,
    states_side_by_side, first_state_given, wrapped_stack, two_directions, two_whole_directions,
    laid_out, laid_out_with_lengths, laid_out_in_two_directions, raw,
    raw_with_outputs_of_its_own, dropped, dropped_by_a_tensor, one_mask_for_all_steps, shared,
    nested, built,
]  # fmt: skip


def told(network: Callable[[Any, Any], Network], tf: Any, cells: Any) -> dict[str, Any]:
    """What comes out of a network: values, variables, derivatives, and static shapes."""
    with tf.Graph().as_default():
        feeds, outputs = network(tf, cells)
        variables = tf.global_variables()
        floats = [t for t in outputs if t.dtype.is_floating]
        total = tf.add_n([
            tf.cast(tf.reduce_sum(tf.cos(t) * numbers(f"weight{i}")), tf.float32)
            for i, t in enumerate(floats)
        ])  # fmt: skip
        places = [p for p in feeds if p.dtype.is_floating and p.shape.rank]
        by = [*places, *(v for v in variables if v.trainable)]
        gradients = [
            tf.convert_to_tensor(g) for g in tf.gradients(total, by) if g is not None
        ]  # fmt: skip
        values = {v: numbers(v.name, *v.shape.as_list()) for v in variables}
        loads = [tf.assign(v, value.astype(v.dtype.as_numpy_dtype)) for v, value in values.items()]
        with tf.Session() as session:
            session.run(loads)
            got = session.run([outputs, gradients], feeds)
    said = {f"output{i}": value for i, value in enumerate(got[0])}
    said |= {f"gradient{i}": value for i, value in enumerate(got[1])}
    said["variables"] = np.array([f"{v.name} {v.shape.as_list()}" for v in variables])
    said["shapes"] = np.array([str(t.shape.as_list()) for t in outputs])
    return said


def record(file: str, tf: Any, cells: Any) -> None:
    """Writes what comes out of all networks to a file."""
    lines = {
        f"{network.__name__}/{key}": value
        for network in NETWORKS
        for key, value in told(network, tf, cells).items()
    }
    np.savez_compressed(file, **lines)
