"""W3: a loop over scalars: while i < n: i, x = i + 1, x * a + b."""

from typing import Any

import numpy as np
from measure import graph_api, main, session, timed

STEPS = 100_000


def row(impl: str) -> None:
    """Measures iterations a second; TensorFlow in both of its forms of control flow."""
    tf: Any = graph_api(impl)
    n = tf.placeholder(tf.int32, [])
    a = tf.placeholder(tf.float32, [])
    b = tf.placeholder(tf.float32, [])

    def loop() -> Any:
        start = (tf.constant(0), tf.constant(1.0))
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * a + b), start)[1]

    sess = session(tf, impl)
    values = (STEPS, np.float32(0.999), np.float32(0.5))
    for form in ("dataflow", "functional"):
        if impl == "tensorflow":
            (tf.disable_control_flow_v2 if form == "dataflow" else tf.enable_control_flow_v2)()
        call = sess.make_callable(loop(), feed_list=[n, a, b])
        timed(
            f"W3 scalar while_loop, {form} form", "iter/s", lambda call=call: call(*values), STEPS
        )


if __name__ == "__main__":
    main(row, __doc__)
