"""W12: from starting Python to the first result, and the memory it took."""

import subprocess
import sys

from measure import SAMPLES, main, report, seconds

IMPORT = {
    "graphvm": "import graphvm as tf",
    "tensorflow": "import tensorflow.compat.v1 as tf; tf.disable_eager_execution()",
}
SCRIPT = """
x = tf.placeholder(tf.float32, [])
assert tf.Session().run(x + 1.0, {x: 1.0}) == 2.0
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def row(impl: str) -> None:
    """Measures new processes; the first one only warms the file cache."""
    times, sizes = [], []
    command = [sys.executable, "-c", IMPORT[impl] + SCRIPT]
    for _ in range(SAMPLES + 1):
        output: list[str] = []
        times.append(
            1e3
            * seconds(
                lambda output=output: output.append(
                    subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL)
                )
            )
        )
        sizes.append(int(output[0].split()[-1]) / 1024)
    report("W12 cold start to the first result", "ms", times[1:])
    report("W12 peak resident memory", "MiB", sizes[1:])


if __name__ == "__main__":
    main(row, __doc__)
