"""Long short-term memory: the basic cell, and the one with peepholes and a projection."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphvm.ops.array import concat, split
from graphvm.ops.math import matmul, maximum, minimum
from graphvm.ops.nn import bias_add, sigmoid, tanh
from graphvm.rnn.cell import RNNCell, activation_of, whole, width_of
from graphvm.variables.initializers import Zeros
from graphvm_runtime.errors import DTypeError


class LSTMStateTuple(NamedTuple):
    """State of an LSTM: its memory and its last output.

    Attributes:
        c: the memory.
        h: the output.

    Source: `tf.compat.v1.nn.rnn_cell.LSTMStateTuple`.
    """

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """Element type of both. Raises DTypeError where they differ."""
        if self.c.dtype != self.h.dtype:
            raise DTypeError(f"c is of {self.c.dtype.name} and h of {self.h.dtype.name}")
        return self.c.dtype


class BasicLSTMCell(RNNCell):
    """Long short-term memory without peepholes, clipping or projection.

    `[i, j, f, o]` are the quarters of `[input, h] kernel + bias`; then
    `c = sigmoid(f + forget_bias) * c + sigmoid(i) * activation(j)` and
    `h = sigmoid(o) * activation(c)`.

    Args:
        num_units: size of the memory, and of the output.
        forget_bias: added to the forget gate; must be 0 for checkpoints of CudnnLSTM.
        state_is_tuple: whether states are an LSTMStateTuple; otherwise c and h are one tensor,
            side by side.
        activation: a function or its name; tanh by default.
        reuse: as `variable_scope` takes it.
        name: name of the scope of its variables.
        dtype: element type of its variables.
        **kwargs: see `RNNCell`.

    Source: `tf.compat.v1.nn.rnn_cell.BasicLSTMCell`; Zaremba et al. (2014).
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: object = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = int(num_units)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation, tanh)

    @property
    def state_size(self) -> Any:
        """See `RNNCell`."""
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self) -> int:
        """See `RNNCell`."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """See `RNNCell`."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", [width_of(inputs_shape) + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """See `RNNCell`."""
        c, h = state if self._state_is_tuple else split(state, 2, 1)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * self._activation(j)
        new_h = sigmoid(o) * self._activation(new_c)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)


class LSTMCell(RNNCell):
    """Long short-term memory, with peepholes, clipping and a projection where asked for.

    Args:
        num_units: size of the memory.
        use_peepholes: whether the gates see the memory, through diagonal weights.
        cell_clip: bound of the memory's absolute value.
        initializer: of the matrices and of the peepholes.
        num_proj: size of the output, which is a matrix times h then.
        proj_clip: bound of the projected output's absolute value.
        num_unit_shards: None or 1: variables are whole.
        num_proj_shards: likewise.
        forget_bias: added to the forget gate.
        state_is_tuple: whether states are an LSTMStateTuple; otherwise c and h are one tensor,
            side by side.
        activation: a function or its name; tanh by default.
        reuse: as `variable_scope` takes it.
        name: name of the scope of its variables.
        dtype: element type of its variables.
        **kwargs: see `RNNCell`.

    Source: `tf.compat.v1.nn.rnn_cell.LSTMCell`; Sak et al. (2014).
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: object = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        whole(num_unit_shards, "num_unit_shards")
        whole(num_proj_shards, "num_proj_shards")
        self._num_units = int(num_units)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = None if num_proj is None else int(num_proj)
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation, tanh)

    @property
    def state_size(self) -> Any:
        """See `RNNCell`."""
        units, out = self._num_units, self.output_size
        return LSTMStateTuple(units, out) if self._state_is_tuple else units + out

    @property
    def output_size(self) -> int:
        """See `RNNCell`."""
        return self._num_proj or self._num_units

    def build(self, inputs_shape: Any) -> None:
        """See `RNNCell`."""
        units, initializer, add = self._num_units, self._initializer, self.add_variable
        rows = width_of(inputs_shape) + self.output_size
        self._kernel = add("kernel", [rows, 4 * units], initializer=initializer)
        self._bias = add("bias", [4 * units], initializer=Zeros(self.dtype))
        if self._use_peepholes:
            self._f_diagonal = add("w_f_diag", [units], initializer=initializer)
            self._i_diagonal = add("w_i_diag", [units], initializer=initializer)
            self._o_diagonal = add("w_o_diag", [units], initializer=initializer)
        if self._num_proj:
            shape = [units, self._num_proj]
            self._projection = add("projection/kernel", shape, initializer=initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """See `RNNCell`."""
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = split(state, [self._num_units, self.output_size], 1)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f = f + self._f_diagonal * c
            i = i + self._i_diagonal * c
        new_c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = _clipped(new_c, self._cell_clip)
        if self._use_peepholes:
            o = o + self._o_diagonal * new_c
        new_h = sigmoid(o) * self._activation(new_c)
        if self._num_proj:
            new_h = matmul(new_h, self._projection)
            if self._proj_clip is not None:
                new_h = _clipped(new_h, self._proj_clip)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)


def _clipped(x: Any, bound: float) -> Any:
    return maximum(minimum(x, bound), -bound)


__all__ = ["BasicLSTMCell", "LSTMCell", "LSTMStateTuple"]
