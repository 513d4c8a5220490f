"""W16: what each common form of feed and fetch costs above the plainest."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import graph_api, main, session, timed

Pair = namedtuple("Pair", "first second")


def row(impl: str) -> None:
    """Measures one run of a small graph in each form."""
    tf = graph_api(impl)
    fixed = tf.placeholder(tf.float32, [128, 784])
    batch = tf.placeholder(tf.float32, [None, 784], name="batch")
    scalar = tf.placeholder(tf.float32, [])
    vector = tf.placeholder(tf.int32, [None])
    rows, more, length = tf.shape(fixed)[0] + 0, tf.shape(batch)[0] + 0, tf.size(vector) + 0
    y = scalar + 1.0
    variable = tf.Variable(1.0, use_resource=True)
    nothing = tf.no_op()
    sess = session(tf, impl, rewrite=False)
    sess.run(variable.initializer)
    single, double = np.zeros((128, 784), np.float32), np.zeros((128, 784))
    short, one = np.arange(10, dtype=np.int32), np.float32(1)
    run = sess.run
    call_nothing, call_one = sess.make_callable(nothing), sess.make_callable(y, [scalar])
    forms: dict[str, Callable[[], Any]] = {
        "feed [128, 784]": lambda: run(rows, {fixed: single}),
        "feed [None, 784]": lambda: run(more, {batch: single}),
        "feed by name": lambda: run(more, {"batch:0": single}),
        "feed float64 as float32": lambda: run(more, {batch: double}),
        "the cast of that alone": lambda: double.astype(np.float32),
        "feed int32 [None]": lambda: run(length, {vector: short}),
        "feed int64 as int32": lambda: run(length, {vector: short.astype(np.int64)}),
        "feed a list": lambda: run(length, {vector: [1, 2, 3, 4]}),
        "feed np.float32": lambda: run(y, {scalar: one}),
        "feed a Python float": lambda: run(y, {scalar: 1.0}),
        "feed a Python int": lambda: run(y, {scalar: 1}),
        "fetch a name": lambda: run(y.name, {scalar: one}),
        "fetch a list": lambda: run([y, scalar], {scalar: one}),
        "fetch a tuple": lambda: run((y, scalar), {scalar: one}),
        "fetch a dictionary": lambda: run({"a": y, "b": scalar}, {scalar: one}),
        "fetch a named tuple": lambda: run(Pair(y, scalar), {scalar: one}),
        "fetch nested lists": lambda: run([y, [scalar, y]], {scalar: one}),
        "fetch a variable": lambda: run(variable),
        "fetch an operation": lambda: run(nothing),
        "callable with nothing": call_nothing,
        "callable with a feed": lambda: call_one(one),
    }
    for name, form in forms.items():
        timed(f"W16 {name}", "us", form)


if __name__ == "__main__":
    main(row, __doc__)
