"""Programs whose nodes can be put on any device without a change of what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import graphvm as tf

Program: TypeAlias = Callable[[Any, Any], Sequence[Any]]


def straight(x: Any, n: Any) -> Sequence[Any]:
    y = tf.sin(x) * x
    return [y + tf.cast(n, tf.float32), tf.stack([x, y])]


def loop(x: Any, n: Any) -> Sequence[Any]:
    def body(i: Any, a: Any, b: Any) -> Any:
        c = tf.cond(tf.less(i, 2), lambda: b + x, lambda: b - a)
        return i + 1, a * 0.5 + b, c

    return list(tf.while_loop(lambda i, a, b: i < n, body, (tf.constant(0), x, x * 2.0))[1:])


def nested(x: Any, n: Any) -> Sequence[Any]:
    def inner(i: Any, a: Any) -> Any:
        return tf.while_loop(
            lambda j, c: j < i + 1, lambda j, c: (j + 1, c * 0.9 + x), (tf.constant(0), a)
        )[1]

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i > 1, lambda: inner(i, a), lambda: tf.sin(a))

    return [tf.while_loop(lambda i, a: i < n, body, (tf.constant(0), x))[1]]


def branches(x: Any, n: Any) -> Sequence[Any]:
    def otherwise() -> Any:
        return x, tf.cond(n > 1, lambda: tf.exp(x), lambda: x)

    first, second = tf.cond(n > 3, lambda: (x * 2.0, x), otherwise)
    return [first + second, second]


def rotation(x: Any, n: Any) -> Sequence[Any]:
    def body(i: Any, a: Any, b: Any, c: Any) -> Any:
        return i + 1, b, c, a + 1.0

    start = (tf.constant(0), x, x * 2.0, x * 3.0)
    return list(tf.while_loop(lambda i, a, b, c: i < n, body, start)[1:])


def invariant(x: Any, n: Any) -> Sequence[Any]:
    y = tf.cos(x)

    def body(i: Any, a: Any, c: Any) -> Any:
        return i + 1, a * c + y, c

    start = (tf.constant(0), x, x * 0.5)
    return list(tf.while_loop(lambda i, a, c: i < n, body, start)[1:])


def variables(x: Any, n: Any) -> Sequence[Any]:
    v, w = tf.Variable(tf.ones([2])), tf.Variable([1.0, 2.0])
    with tf.control_dependencies([tf.group(v.initializer, w.initializer)]):
        added = tf.assign_add(v, [1.0, 1.0] * x)
    with tf.control_dependencies([added]):
        doubled = tf.assign(w, v.read_value() * 2.0)
    with tf.control_dependencies([tf.group(doubled, added)]):
        both = tf.identity(v.read_value() + w.read_value())

    def body(i: Any, s: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, [1.0, 0.5])]):
            return i + 1, s + v.read_value()

    return [both, tf.while_loop(lambda i, s: i < n, body, (tf.constant(0), both))[1]]


def effects(x: Any, n: Any) -> Sequence[Any]:
    v = tf.Variable(0.0)
    with tf.control_dependencies([v.initializer]):
        zero = tf.identity(tf.constant(0))

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, x)]):
            return tf.identity(i) + 1

    ended = tf.while_loop(lambda i: i < n, body, [zero])
    with tf.control_dependencies([tf.group(ended)]):
        return [v.read_value()]


def queues(x: Any, n: Any) -> Sequence[Any]:
    q = tf.FIFOQueue(4, [tf.float32], [[]])
    puts = [q.enqueue([x * 2.0]), q.enqueue([tf.sin(x)])]
    both = q.dequeue() + q.dequeue()
    with tf.control_dependencies(puts):
        return [both, x * 3.0]


def waiting_queues(x: Any, n: Any) -> Sequence[Any]:
    """What is dequeued first is enqueued last, in the order of the nodes."""
    first, second = (tf.FIFOQueue(1, [tf.float32], [[]]) for _ in range(2))
    one = first.dequeue()
    forth = second.enqueue([one + 1.0])
    two = second.dequeue()
    back = first.enqueue([x])
    with tf.control_dependencies([forth, back]):
        return [two * 2.0]


def strings(x: Any, n: Any) -> Sequence[Any]:
    return [
        tf.cond(
            n > 2,
            lambda: tf.constant([b"a", b"\x00\xff"]),
            lambda: tf.constant([b"", b"long" * 20000]),
        )
    ]


def one_sided(x: Any, n: Any) -> Sequence[Any]:
    """The loop's decision never depends on what most of the body computes."""
    v = tf.Variable(0.0)
    with tf.control_dependencies([v.initializer]):
        zero = tf.identity(tf.constant(0))

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, tf.sin(tf.cast(i, tf.float32)))]):
            return tf.identity(i + 1)

    ended = tf.while_loop(lambda i: i < n * 20, body, [zero], parallel_iterations=3)
    with tf.control_dependencies([tf.group(ended)]):
        return [v.read_value()]


def cases(x: Any, n: Any) -> Sequence[Any]:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.switch_case(
            i, [lambda: a * x, lambda: tf.sin(a), lambda: a], default=lambda: a + x
        )

    return [tf.while_loop(lambda i, a: i < n, body, (tf.constant(0), x))[1]]


def arrays(x: Any, n: Any) -> Sequence[Any]:
    rows = tf.TensorArray(tf.float32, 3, element_shape=[]).unstack(tf.stack([x, x * x, x * 2.0]))
    made = tf.TensorArray(tf.float32, n, element_shape=[])

    def body(i: Any, a: Any, out: Any) -> Any:
        a = a * rows.read(i % 3)
        return i + 1, a, out.write(i, tf.sin(a))

    start = (tf.constant(0), x, made)
    _, a, out = tf.while_loop(lambda i, a, out: i < n, body, start)
    return [a, out.stack()]


def derived(program: Program, order: int) -> Program:
    """The program's outputs and their derivatives by x up to an order."""

    def derivatives(x: Any, n: Any) -> Sequence[Any]:
        outputs = list(program(x, n))
        total = sum(tf.reduce_sum(y) for y in outputs)
        for _ in range(order):
            (total,) = tf.gradients(total, [x])
            outputs.append(total)
        return outputs

    derivatives.__name__ = f"{program.__name__}_{order}"
    return derivatives


PLAIN: tuple[Program, ...] = (
    straight, loop, nested, branches, rotation, invariant, variables, effects, queues,
    waiting_queues, strings, one_sided, cases, arrays,
)  # fmt: skip
DERIVED = tuple(
    derived(p, order)
    for p, order in ((loop, 1), (loop, 2), (nested, 1), (nested, 2), (branches, 1), (rotation, 1),
                     (invariant, 2), (cases, 2), (arrays, 1))
)  # fmt: skip
