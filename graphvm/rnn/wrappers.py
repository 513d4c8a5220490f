"""Cells made of other cells: stacked, with dropout, with a shortcut, on a device."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor, output
from graphvm.graph.graph import Tensor
from graphvm.graph.scopes import device, name_scope
from graphvm.graph.source import user_line
from graphvm.ops import random
from graphvm.ops.array import concat, split
from graphvm.ops.dropout import dropout
from graphvm.ops.math import cast, greater_equal
from graphvm.ops.tensor_array import TensorArray
from graphvm.rnn.cell import RNNCell, like_a_cell
from graphvm.rnn.lstm import LSTMStateTuple
from graphvm.rnn.sizes import static_size
from graphvm.variables.variable_scope import variable_scope
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import GraphError


class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of one is the input of the next.

    Args:
        cells: from the input to the output.
        state_is_tuple: whether the state is a tuple of the cells' states; otherwise these are one
            tensor, side by side.

    Raises:
        TypeError: `cells` is no list or tuple.
        ValueError: it is empty, or a cell's state is nested though states are to be one tensor.

    Source: `tf.compat.v1.nn.rnn_cell.MultiRNNCell`.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not nest.is_nested(cells):
            raise TypeError(f"cells is a list or tuple, not {cells!r}")
        if not cells:
            raise ValueError("a stack of cells has at least one")
        for i, cell in enumerate(cells):
            like_a_cell(cell, f"cell {i} of the stack")
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise GraphError(
                f"a cell's state is a structure, so states cannot be one tensor: {self._sizes()}",
                made=user_line(),
                do="leave state_is_tuple, or unset it in the cells too",
            )

    def _sizes(self) -> tuple[Any, ...]:
        return tuple(cell.state_size for cell in self._cells)

    @property
    def state_size(self) -> Any:
        """See `RNNCell`."""
        return self._sizes() if self._state_is_tuple else sum(self._sizes())

    @property
    def output_size(self) -> Any:
        """See `RNNCell`."""
        return self._cells[-1].output_size

    @property
    def _variables(self) -> list[Any]:
        return [v for cell in self._cells for v in getattr(cell, "variables", ())]

    def zero_state(self, batch_size: Any, dtype: object) -> Any:
        """See `RNNCell`."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(type(self).__name__ + "ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """See `RNNCell`."""
        if self._state_is_tuple:
            if not nest.is_nested(state) or len(state) != len(self._cells):
                raise ValueError(f"the state has one part for each of {len(self._cells)} cells")
            parts = list(state)
        else:
            parts = split(state, [int(size) for size in self._sizes()], 1)
        after = []
        for i, (cell, part) in enumerate(zip(self._cells, parts, strict=True)):
            with variable_scope(f"cell_{i}"):
                inputs, new = cell(inputs, part)
            after.append(new)
        return inputs, tuple(after) if self._state_is_tuple else concat(after, 1)


class _Wrapper(RNNCell):
    """A cell around another, whose variables and scope are that one's."""

    def __init__(self, cell: Any, dtype: object = None, name: str | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        like_a_cell(cell)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """See `RNNCell`."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """See `RNNCell`."""
        return self.cell.output_size

    @property
    def _variables(self) -> list[Any]:
        return list(getattr(self.cell, "variables", ()))

    def build(self, inputs_shape: Any) -> None:
        """See `RNNCell`."""
        self.cell.build(inputs_shape)
        self.built = True

    def zero_state(self, batch_size: Any, dtype: object) -> Any:
        """See `RNNCell`."""
        with name_scope(type(self).__name__ + "ZeroState"):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """See `RNNCell`."""

        def inner(x: Any, s: Any) -> Any:
            return self.cell(x, s, **({} if scope is None else {"scope": scope}), **kwargs)

        return self._wrapped(inner, inputs, state)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """See `RNNCell`."""
        out: tuple[Any, Any] = self._wrapped(self.cell.call, inputs, state)
        return out

    @abstractmethod
    def _wrapped(self, call: Callable[[Any, Any], Any], inputs: Any, state: Any) -> Any:
        """What `call` of the cell inside gives, with what the wrapper does around it."""


class DropoutWrapper(_Wrapper):
    """A cell of whose inputs, outputs and states some elements are dropped: set to zero.

    Elements that are kept are divided by the probability to be kept. What is dropped is drawn
    when the step runs, and the derivative of a step sees the same mask.

    Args:
        cell: the cell.
        input_keep_prob: probability with which an element of the input is kept.
        output_keep_prob: likewise of the output.
        state_keep_prob: likewise of the next state.
        variational_recurrent: draw one mask for all steps of a run, and for the whole batch; it
            belongs to this object.
        input_size: sizes of the inputs, needed for such a mask on them.
        dtype: element type of inputs, outputs and states, needed for such masks.
        seed: integer from which the seeds of the masks follow.
        dropout_state_filter_visitor: takes a part of the state, from the whole of it down, and
            gives bools: whether elements of it are dropped. By default all are but for the memory
            of an LSTM, and arrays.
        name: name of the wrapper.

    Raises:
        TypeError: `cell` is no cell, or the filter no function.
        ValueError: a probability is outside [0, 1], or what variational masks need is missing.

    Source: `tf.compat.v1.nn.rnn_cell.DropoutWrapper`; Gal and Ghahramani (2016).
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: object = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(cell, dtype, name)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor is a function of a part of the state")
        self._filter = dropout_state_filter_visitor or _all_but_memory
        self._seed = seed
        with name_scope("DropoutWrapperInit"):
            self._input_keep = _probability(input_keep_prob, "input_keep_prob")
            self._state_keep = _probability(state_keep_prob, "state_keep_prob")
            self._output_keep = _probability(output_keep_prob, "output_keep_prob")
            self._noise: dict[str, Any] = {}
            if variational_recurrent:
                if dtype is None:
                    raise ValueError("one mask for all steps needs dtype")
                self._draw(as_dtype(dtype), input_size)

    def _draw(self, dtype: DType, input_size: Any) -> None:
        """The numbers behind the masks that all steps share."""
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if _drops(self._input_keep):
            if input_size is None:
                raise ValueError("one mask on the inputs for all steps needs input_size")
            sizes = {"input": input_size, **sizes}
        for kind, structure in sizes.items():
            drawn = [
                random.random_uniform(
                    [1, *static_size(size).as_list()], dtype=dtype, seed=self._own_seed(kind, i)
                )
                for i, size in enumerate(nest.flatten(structure))
            ]
            self._noise[kind] = nest.pack_sequence_as(structure, drawn)

    def _own_seed(self, kind: str, index: int) -> int | None:
        """The seed of one mask: TensorFlow's."""
        if self._seed is None:
            return None
        text = f"{self._seed}{kind}_{index}".encode()
        digest = hashlib.md5(text, usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    def _wrapped(self, call: Callable[[Any, Any], Any], inputs: Any, state: Any) -> Any:
        inputs = self._dropped("input", self._input_keep, inputs)
        out, new = call(inputs, state)
        new = self._dropped("state", self._state_keep, new, self._filter)
        return self._dropped("output", self._output_keep, out), new

    def _dropped(
        self, kind: str, keep: Any, values: Any, chosen: Callable[[Any], Any] | None = None
    ) -> Any:
        if not _drops(keep):
            return values
        noise = nest.flatten(self._noise[kind]) if self._noise else None
        parts = [(True, v) for v in nest.flatten(values)]
        if chosen is not None:
            parts = _parts(chosen, values)
        out: list[Any] = []
        # seeds go by the parts that the filter tells apart, as TensorFlow's do
        for i, (drop, part) in enumerate(parts):
            if not drop:
                out.extend(nest.flatten(part))
            elif noise is None:
                out.append(dropout(part, rate=1.0 - keep, seed=self._own_seed(kind, i)))
            else:
                kept = cast(greater_equal(noise[len(out)] + keep, 1), part.dtype)
                masked = part / keep * kept
                masked.set_shape(part.shape)
                out.append(masked)
        return nest.pack_sequence_as(values, out)


def _probability(given: Any, name: str) -> Any:
    """A float where it is known, a tensor otherwise."""
    if not isinstance(given, Tensor):
        given = convert_to_tensor(given)
    known = given.graph.constant_of(given)
    if known is None:
        return given
    if not 0 <= float(known) <= 1:
        raise ValueError(f"{name} is a probability, not {float(known)}")
    return float(known)


def _drops(keep: Any) -> bool:
    return not isinstance(keep, float) or keep < 1


def _all_but_memory(part: Any) -> Any:
    if isinstance(part, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(part, TensorArray)


def _parts(chosen: Callable[[Any], Any], part: Any) -> list[tuple[bool, Any]]:
    """Parts of a state, each with whether it is dropped: the filter is asked from above down."""
    said = chosen(part)
    if not nest.is_nested(part):
        return [(bool(said), part)]
    if not nest.is_nested(said):
        if not said:
            return [(False, part)]
        said = nest.map_structure(lambda _: True, _shallow(part))
    pairs = zip(nest.flatten(said), nest.flatten_up_to(said, part), strict=True)
    return [
        found
        for inside, child in pairs
        for found in (_parts(chosen, child) if inside else [(False, child)])
    ]


def _shallow(part: Any) -> Any:
    """The structure one level deep."""
    if isinstance(part, dict):
        return dict.fromkeys(part, 0)
    return [0] * len(part)


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs.

    Args:
        cell: the cell.
        residual_fn: `residual_fn(inputs, outputs)` in place of the sum.

    Raises:
        TypeError: `cell` is no cell.
        ShapeError: a step's inputs and outputs have different shapes.

    Source: `tf.compat.v1.nn.rnn_cell.ResidualWrapper`; Wu et al. (2016).
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual = residual_fn

    def _wrapped(self, call: Callable[[Any, Any], Any], inputs: Any, state: Any) -> Any:
        out, new = call(inputs, state)
        if self._residual is not None:
            return self._residual(inputs, out), new
        nest.assert_same_structure(inputs, out)
        return nest.map_structure(_sum, inputs, out), new


def _sum(x: Any, y: Any) -> Tensor:
    x.shape.assert_is_compatible_with(y.shape)
    return output("AddV2", (x, y))


class DeviceWrapper(_Wrapper):
    """A cell whose steps run on a device.

    Args:
        cell: the cell.
        device: as `graphvm.device` takes it.

    Raises:
        TypeError: `cell` is no cell.

    Source: `tf.compat.v1.nn.rnn_cell.DeviceWrapper`.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: object) -> Any:
        """See `RNNCell`."""
        with device(self._device):
            return super().zero_state(batch_size, dtype)

    def _wrapped(self, call: Callable[[Any, Any], Any], inputs: Any, state: Any) -> Any:
        with device(self._device):
            return call(inputs, state)


__all__ = ["DeviceWrapper", "DropoutWrapper", "MultiRNNCell", "ResidualWrapper"]
