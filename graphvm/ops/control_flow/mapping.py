"""Functions applied to the rows of tensors, in loops: map_fn, foldl, foldr, scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape
from graphvm.ops.control_flow.bodies import check_callable
from graphvm.ops.control_flow.loops import while_loop
from graphvm.ops.tensor_array import TensorArray
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError

__all__ = ["foldl", "foldr", "map_fn", "scan"]


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """What `fn` gives for each row of `elems`, stacked.

    Args:
        fn: takes a row, in the structure of `elems`, and gives tensors in the structure of `dtype`.
        elems: tensors in any structure, of one length along their first axis.
        dtype: element types of what `fn` gives; those of `elems` otherwise.
        parallel_iterations: how many iterations may run at once on several devices.
        back_prop: False stops derivatives.
        swap_memory: not looked at.
        infer_shape: False where shapes differ from row to row.
        name: name scope.
        fn_output_signature: the same as `dtype`.

    Returns:
        Tensors in the structure of `dtype`, with a new first axis.

    Raises:
        DTypeError: `fn` gives another type, or is no function.
        GraphError: there are no elements.
        ShapeError: lengths of the elements differ.
        ValueError: `fn` gives another structure.

    Source: `tf.map_fn`.
    """
    check_callable("map_fn", fn=fn)
    with op_scope(name or "map", nest.flatten(elems)):
        rows = _Rows(elems)
        given = fn_output_signature if dtype is None else dtype
        if given is None:
            kinds = nest.pack_sequence_as(elems, [t.dtype.base for t in rows.tensors])
        else:
            kinds = nest.map_structure(as_dtype, given)
        arrays = rows.arrays()
        types = nest.flatten(kinds)
        results = [
            TensorArray(d, rows.count, dynamic_size=False, infer_shape=infer_shape) for d in types
        ]

        def body(i: Tensor, outs: list[TensorArray]) -> Any:
            made = _flat("map_fn", kinds, types, fn(rows.row(arrays, i)))
            return output("AddV2", (i, 1)), _written(outs, i, made)

        _, outs = while_loop(
            lambda i, _: output("Less", (i, rows.count)),
            body, (convert_to_tensor(0), results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop, swap_memory=swap_memory,
        )  # fmt: skip
        return nest.pack_sequence_as(kinds, [rows.stacked(a) for a in outs])


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """What is left when `fn` has taken in the rows of `elems`, from the first to the last.

    Args:
        fn: takes what there is so far and a row, gives what there is then.
        elems: tensors in any structure, of one length along their first axis.
        initializer: what there is at first; the first row otherwise.
        parallel_iterations: how many iterations may run at once on several devices.
        back_prop: False stops derivatives.
        swap_memory: not looked at.
        name: name scope.

    Returns:
        The last result of `fn`.

    Raises:
        DTypeError: `fn` changes an element type, or is no function.
        GraphError: there are no elements.
        ShapeError: lengths of the elements differ, or `fn` changes a shape.
        ValueError: `fn` changes the structure.

    Source: `tf.foldl`.
    """
    options = _options(parallel_iterations, back_prop, swap_memory)
    with op_scope(name or "foldl", nest.flatten(elems)):
        return _folded("foldl", fn, elems, initializer, options, reverse=False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """What is left when `fn` has taken in the rows of `elems`, from the last to the first.

    Args:
        fn: takes what there is so far and a row, gives what there is then.
        elems: tensors in any structure, of one length along their first axis.
        initializer: what there is at first; the last row otherwise.
        parallel_iterations: how many iterations may run at once on several devices.
        back_prop: False stops derivatives.
        swap_memory: not looked at.
        name: name scope.

    Returns:
        The last result of `fn`.

    Raises:
        DTypeError: `fn` changes an element type, or is no function.
        GraphError: there are no elements.
        ShapeError: lengths of the elements differ, or `fn` changes a shape.
        ValueError: `fn` changes the structure.

    Source: `tf.foldr`.
    """
    options = _options(parallel_iterations, back_prop, swap_memory)
    with op_scope(name or "foldr", nest.flatten(elems)):
        return _folded("foldr", fn, elems, initializer, options, reverse=True)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All that there is, stacked, while `fn` takes in the rows of `elems` one after the other.

    Args:
        fn: takes what there is so far and a row, gives what there is then.
        elems: tensors in any structure, of one length along their first axis.
        initializer: what there is at first; the first row otherwise, which is the first result
            then.
        parallel_iterations: how many iterations may run at once on several devices.
        back_prop: False stops derivatives.
        swap_memory: not looked at.
        infer_shape: False where shapes differ from row to row.
        reverse: from the last row to the first; results stay at the places of their rows.
        name: name scope.

    Returns:
        Tensors in the structure of the initializer, as long as `elems` along a new first axis.

    Raises:
        DTypeError: `fn` changes an element type, or is no function.
        GraphError: there are no elements.
        ShapeError: lengths of the elements differ, or `fn` changes a shape.
        ValueError: `fn` changes the structure.

    Source: `tf.scan`.
    """
    check_callable("scan", fn=fn)
    with op_scope(name or "scan", nest.flatten(elems)):
        rows = _Rows(elems)
        arrays = rows.arrays()
        start = rows.start(arrays, initializer, reverse)
        outs = [
            TensorArray(
                t.dtype.base, rows.count, dynamic_size=False, infer_shape=infer_shape,
                element_shape=t.shape if infer_shape else None,
            )
            for t in start.values
        ]  # fmt: skip
        if initializer is None:
            outs = _written(outs, start.taken, start.values)

        def body(i: Tensor, values: list[Tensor], outs: list[TensorArray]) -> Any:
            so_far = nest.pack_sequence_as(start.structure, values)
            made = _flat("scan", start.structure, start.types, fn(so_far, rows.row(arrays, i)))
            return rows.after(i, reverse), made, _written(outs, i, made)

        options = _options(parallel_iterations, back_prop, swap_memory)
        _, _, outs = while_loop(
            lambda i, *_: rows.goes_on(i, reverse),
            body,
            (start.index, start.values, outs),
            **options,
        )
        return nest.pack_sequence_as(start.structure, [rows.stacked(a) for a in outs])


def _folded(
    function: str,
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any,
    options: dict[str, Any],
    reverse: bool,
) -> Any:
    check_callable(function, fn=fn)
    rows = _Rows(elems)
    arrays = rows.arrays()
    start = rows.start(arrays, initializer, reverse)

    def body(i: Tensor, values: list[Tensor]) -> Any:
        so_far = nest.pack_sequence_as(start.structure, values)
        made = _flat(function, start.structure, start.types, fn(so_far, rows.row(arrays, i)))
        return rows.after(i, reverse), made

    _, values = while_loop(
        lambda i, _: rows.goes_on(i, reverse), body, (start.index, start.values), **options
    )
    return nest.pack_sequence_as(start.structure, values)


class _Start:
    """What there is before the first iteration.

    Attributes:
        structure: of what is carried on.
        values: its tensors.
        types: their element types.
        index: the first row to take in.
        taken: the row that is the first value, where there is no other.
    """

    def __init__(self, structure: Any, values: list[Tensor], index: Any, taken: Any) -> None:
        self.structure = structure
        self.values = values
        self.types = [value.dtype.base for value in values]
        self.index = index
        self.taken = taken


class _Rows:
    """The rows of tensors in a structure.

    Attributes:
        tensors: the tensors.
        count: how many rows there are.
    """

    def __init__(self, elems: Any) -> None:
        self.tensors = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        self._structure = elems
        if not self.tensors:
            raise GraphError("there are no elements to go through", made=user_line())
        length = TensorShape([None])
        for tensor in self.tensors:
            shape = tensor.shape.with_rank_at_least(1)
            first = shape[:1] if shape.rank is not None else TensorShape([None])
            if not length.is_compatible_with(first):
                raise ShapeError(
                    f"elements have {first[0]} rows and {length[0]} rows",
                    node=tensor.op.node.signature(),
                    made=user_line(),
                )
            length = length.merge_with(first)
        self._length = length
        known = length.as_list()[0] if length.rank is not None else None
        self.count: Any = known
        if known is None:
            attrs = {"shrink_axis_mask": 1}
            rows = output("Shape", (self.tensors[0],))
            self.count = output("StridedSlice", (rows, [0], [1], [1]), attrs, "strided_slice")

    def arrays(self) -> list[TensorArray]:
        """The rows, one array a tensor."""
        made = [TensorArray(t.dtype.base, self.count, dynamic_size=False) for t in self.tensors]
        return [a.unstack(t) for a, t in zip(made, self.tensors, strict=True)]

    def row(self, arrays: list[TensorArray], index: Any) -> Any:
        """A row in the structure of the elements."""
        return nest.pack_sequence_as(self._structure, [a.read(index) for a in arrays])

    def start(self, arrays: list[TensorArray], initializer: Any, reverse: bool) -> _Start:
        """What there is before the first iteration."""
        last = output("Sub", (self.count, 1)) if reverse else convert_to_tensor(0)
        if initializer is None:
            values = nest.flatten(self.row(arrays, last))
            return _Start(self._structure, values, self.after(last, reverse), last)
        values = [convert_to_tensor(v) for v in nest.flatten(initializer)]
        return _Start(initializer, values, last, None)

    def after(self, index: Tensor, reverse: bool) -> Tensor:
        """The row after this one."""
        return output("Sub" if reverse else "AddV2", (index, 1))

    def goes_on(self, index: Tensor, reverse: bool) -> Tensor:
        """Whether there is such a row."""
        if reverse:
            return output("GreaterEqual", (index, 0))
        return output("Less", (index, self.count))

    def stacked(self, array: TensorArray) -> Tensor:
        """One result for each row."""
        made = array.stack()
        made.set_shape(self._length + array.element_shape)
        return made


def _written(arrays: list[TensorArray], index: Any, values: list[Tensor]) -> list[TensorArray]:
    return [a.write(index, v) for a, v in zip(arrays, values, strict=True)]


def _flat(function: str, structure: Any, types: list[DType], given: Any) -> list[Any]:
    """What a function gave, in the structure and of the types that it has to be of."""
    wanted = nest.pack_sequence_as(structure, types)
    parts = nest.flatten(given)
    found = []
    for i, part in enumerate(parts):
        if isinstance(part, Tensor) or i >= len(types):
            found.append(convert_to_tensor(part).dtype.base)
        else:
            found.append(types[i])  # a Python value becomes what is wanted, or is refused
    try:
        nest.assert_same_structure(structure, given, check_types=False)
        same = True
    except (TypeError, ValueError):
        same = False
    if same and found == types:
        return parts
    gives = _written_types(nest.pack_sequence_as(given, found))
    if function == "map_fn":
        do = f"give map_fn dtype={gives}"
    else:
        do = f"let it give {_written_types(wanted)}, or give {function} an initializer of {gives}"
    kind = DTypeError if same else GraphError
    raise kind(
        f"the function of {function} gives {'other types' if same else 'another structure'} than "
        f"is wanted: {gives} for {_written_types(wanted)}",
        made=user_line(),
        do=do,
    )


def _written_types(structure: Any) -> str:
    """A structure of types as one writes it."""
    if isinstance(structure, DType):
        return f"tf.{structure.name}"
    if isinstance(structure, Mapping):
        return "{" + ", ".join(f"{k!r}: {_written_types(v)}" for k, v in structure.items()) + "}"
    if isinstance(structure, list | tuple):
        parts = ", ".join(map(_written_types, structure))
        if isinstance(structure, list):
            return f"[{parts}]"
        return f"({parts},)" if len(structure) == 1 else f"({parts})"
    return repr(structure)


def _options(parallel_iterations: int, back_prop: bool, swap_memory: bool) -> dict[str, Any]:
    return {
        "parallel_iterations": parallel_iterations,
        "back_prop": back_prop,
        "swap_memory": swap_memory,
    }
