"""W2: the price of an op: a thousand small ones, in a chain and side by side."""

import numpy as np
from measure import graph_api, main, session, timed

OPS = 1000


def row(impl: str) -> None:
    """Measures a chain of scalar additions and as many independent ones, per op."""
    tf = graph_api(impl)
    x = tf.placeholder(tf.float32, [])
    chain = x
    for _ in range(OPS):
        chain = chain + x
    v = tf.placeholder(tf.float32, [16])
    wide = tf.group(*[v + float(k) for k in range(1, OPS + 1)])
    sess = session(tf, impl, rewrite=False)
    one, ones = np.float32(1), np.ones(16, np.float32)
    run_chain = sess.make_callable(chain, feed_list=[x])
    assert run_chain(one) == OPS + 1
    timed("W2 chain of 1000 adds, per op", "ns", lambda: run_chain(one), OPS)
    run_wide = sess.make_callable(wide, feed_list=[v])
    timed("W2 1000 independent adds, per op", "ns", lambda: run_wide(ones), OPS)


if __name__ == "__main__":
    main(row, __doc__)
