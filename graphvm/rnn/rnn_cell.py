"""Cells of recurrent networks: TensorFlow 1's `tf.nn.rnn_cell`."""

from graphvm.rnn.basic import BasicRNNCell, GRUCell
from graphvm.rnn.cell import RNNCell
from graphvm.rnn.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple
from graphvm.rnn.wrappers import DeviceWrapper, DropoutWrapper, MultiRNNCell, ResidualWrapper

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell",
    "LSTMStateTuple", "MultiRNNCell", "RNNCell", "ResidualWrapper",
]  # fmt: skip
