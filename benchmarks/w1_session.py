"""W1: what one run costs beside the work it does: x + 1 on a scalar."""

import numpy as np
from measure import graph_api, main, session, timed


def row(impl: str) -> None:
    """Measures Session.run, make_callable and a callable that fetches nothing."""
    tf = graph_api(impl)
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    state = tf.Variable(1.0)
    sess = session(tf, impl)
    sess.run(tf.global_variables_initializer())
    value = np.float32(3)
    timed("W1 Session.run(x + 1)", "us", lambda: sess.run(y, {x: value}))
    if impl == "tensorflow":
        here = tf.RunOptions(inter_op_thread_pool=-1)  # its fastest way: no hop to the pool
        run_here = lambda: sess.run(y, {x: value}, options=here)  # noqa: E731
    else:
        run_here = lambda: sess.run(y, {x: value})  # noqa: E731
    timed("W1 Session.run(x + 1), calling thread", "us", run_here)
    call = sess.make_callable(y, feed_list=[x])
    timed("W1 make_callable(x + 1)", "us", lambda: call(value))
    target = sess.make_callable(state.op)
    timed("W1 make_callable of a target", "us", target)


if __name__ == "__main__":
    main(row, __doc__)
