"""Recurrent networks: cells, and what runs them over sequences."""

from graphvm.rnn import rnn_cell
from graphvm.rnn.dynamic import bidirectional_dynamic_rnn, dynamic_rnn
from graphvm.rnn.raw import raw_rnn
from graphvm.rnn.static import static_bidirectional_rnn, static_rnn, static_state_saving_rnn

__all__ = [
    "bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn", "rnn_cell", "static_bidirectional_rnn",
    "static_rnn", "static_state_saving_rnn",
]  # fmt: skip
