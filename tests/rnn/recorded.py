"""What TensorFlow 2.21 gave for the networks."""

from pathlib import Path

import numpy as np

_FILE = Path(__file__).resolve().parent.parent / "data" / "rnn" / "tensorflow.npz"
with np.load(_FILE) as _file:
    RECORDED = dict(_file)
