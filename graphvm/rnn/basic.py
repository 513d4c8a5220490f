"""The plain cell, and the gated recurrent unit."""

from __future__ import annotations

from typing import Any

from graphvm.ops.array import concat, split
from graphvm.ops.math import matmul
from graphvm.ops.nn import bias_add, sigmoid, tanh
from graphvm.rnn.cell import RNNCell, activation_of, width_of
from graphvm.variables.initializers import Constant, Zeros


class BasicRNNCell(RNNCell):
    """The plain cell: output = state = activation([input, state] kernel + bias).

    Args:
        num_units: size of the state, and of the output.
        activation: a function or its name; tanh by default.
        reuse: as `variable_scope` takes it.
        name: name of the scope of its variables.
        dtype: element type of its variables.
        **kwargs: see `RNNCell`.

    Source: `tf.compat.v1.nn.rnn_cell.BasicRNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: object = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = int(num_units)
        self._activation = activation_of(activation, tanh)

    @property
    def state_size(self) -> int:
        """See `RNNCell`."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """See `RNNCell`."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """See `RNNCell`."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", [width_of(inputs_shape) + units, units])
        self._bias = self.add_variable("bias", [units], initializer=Zeros(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """See `RNNCell`."""
        gates = matmul(concat([inputs, state], 1), self._kernel)
        out = self._activation(bias_add(gates, self._bias))
        return out, out


class GRUCell(RNNCell):
    """The gated recurrent unit: output = state = u * state + (1 - u) * candidate.

    Reset gate r and update gate u are the two halves of sigmoid([input, state] gates), the
    candidate is activation([input, r * state] candidate).

    Args:
        num_units: size of the state, and of the output.
        activation: a function or its name; tanh by default.
        reuse: as `variable_scope` takes it.
        kernel_initializer: of both matrices.
        bias_initializer: of both biases; ones for the gates and zeros for the candidate otherwise.
        name: name of the scope of its variables.
        dtype: element type of its variables.
        **kwargs: see `RNNCell`.

    Source: `tf.compat.v1.nn.rnn_cell.GRUCell`; Cho et al. (2014).
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: object = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = int(num_units)
        self._activation = activation_of(activation, tanh)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> int:
        """See `RNNCell`."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """See `RNNCell`."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """See `RNNCell`."""
        units = self._num_units
        rows = width_of(inputs_shape) + units
        kernel, bias = self._kernel_initializer, self._bias_initializer
        # open gates at first: the state is kept
        ones = bias if bias is not None else Constant(1.0, self.dtype)
        zeros = bias if bias is not None else Zeros(self.dtype)
        add = self.add_variable
        self._gate_kernel = add("gates/kernel", [rows, 2 * units], initializer=kernel)
        self._gate_bias = add("gates/bias", [2 * units], initializer=ones)
        self._candidate_kernel = add("candidate/kernel", [rows, units], initializer=kernel)
        self._candidate_bias = add("candidate/bias", [units], initializer=zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """See `RNNCell`."""
        gates = matmul(concat([inputs, state], 1), self._gate_kernel)
        r, u = split(sigmoid(bias_add(gates, self._gate_bias)), 2, 1)
        reset = matmul(concat([inputs, r * state], 1), self._candidate_kernel)
        candidate = self._activation(bias_add(reset, self._candidate_bias))
        new = u * state + (1 - u) * candidate
        return new, new


__all__ = ["BasicRNNCell", "GRUCell"]
