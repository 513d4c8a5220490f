"""TensorArray: an array of tensors that loops read and write."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import convert_to_tensor, op_scope, output
from graphvm.graph.graph import Graph, Operation, Tensor
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape, as_shape
from graphvm.ops.array_elements import Elements, ListElements, ResourceElements
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError
from graphvm_runtime.shapes import TensorType

__all__ = ["TensorArray"]


class TensorArray:
    """An array of tensors of one element type, whose writes give new arrays.

    An array is a value, a list of tensors: it may be a loop variable, the result of a branch, an
    argument of a function, and differentiates like any tensor. An array whose handle is given
    stands for the ops on that handle instead, as TensorFlow 1's graphs have them.

    Args:
        dtype: type of the elements.
        size: how many there are; may be left out where `flow` or `handle` is given.
        dynamic_size: whether a write behind the end makes the array longer.
        clear_after_read: not looked at, except of ops on a handle: elements that nobody can read
            any more are let go in any case.
        tensor_array_name: not looked at.
        handle: the resource that TensorFlow 1's op `TensorArrayV3` gives.
        flow: the list that is the array's value; with a handle, what orders its operations.
        infer_shape: whether elements must have one shape, which the array then knows.
        element_shape: what is known of the shape of each element.
        colocate_with_first_write_call: not looked at: a value is where it is made.
        name: name of the operation.

    Raises:
        GraphError: neither a size nor a value is given.

    Source: `tf.TensorArray`, in the form of TF ops `TensorList*`.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        del clear_after_read, tensor_array_name, colocate_with_first_write_call
        self._dtype = as_dtype(dtype).base
        self._infer = infer_shape
        self._shape = as_shape(element_shape)
        if handle is None and flow is not None and flow.dtype.base is not dtypes.variant:
            raise DTypeError(
                f"the value of an array is a list, not {flow.dtype.name}",
                made=user_line(),
                do="give the handle too, or leave both out",
            )
        if flow is None and (size is None or handle is not None):
            missing = "size" if handle is None else "flow"
            raise GraphError(
                f"a TensorArray needs {missing!r}",
                made=user_line(),
                do="say how many elements it has",
            )
        if handle is not None:
            self._elements: Elements = ResourceElements(self._dtype, handle)
            assert flow is not None
            self._flow = flow
            return
        with op_scope(name or "TensorArrayV2", (size, flow)) as scope:
            if flow is not None:
                self._elements = ListElements(self._dtype, bool(dynamic_size), None)
                self._flow = flow
            else:
                count = convert_to_tensor(size, dtypes.int32, "size")
                self._elements = ListElements(self._dtype, bool(dynamic_size), count)
                self._flow = self._elements.made(self._shape, count, scope)

    def __repr__(self) -> str:
        return f"<TensorArray {self._flow.name!r} of {TensorType(self._dtype, self._shape.tuple)}>"

    @property
    def flow(self) -> Tensor:
        """The array's value; of an array on a handle, what orders its operations."""
        return self._flow

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def handle(self) -> Tensor | None:
        """The resource, where one was given."""
        return self._elements.handle

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of each element."""
        return self._shape

    @property
    def dynamic_size(self) -> bool:
        """Whether a write behind the end makes it longer."""
        return self._elements.dynamic

    @property
    def graph(self) -> Graph:
        """The graph that it is in."""
        graph: Graph = self._flow.graph
        return graph

    # ------------------------------------------------------------------------------------- whole

    def identity(self) -> TensorArray:
        """The same array, with the control dependencies that are in force here."""
        return self.with_flow(output("Identity", (self._flow,)))

    def with_flow(self, flow: Tensor, shape: TensorShape | None = None) -> TensorArray:
        """An array like this one with another value, and with what else is known of elements."""
        made = TensorArray.__new__(TensorArray)
        made._dtype, made._infer, made._elements = self._dtype, self._infer, self._elements
        made._shape = self._shape if shape is None else shape
        made._flow = flow
        return made

    def size(self, name: str | None = None) -> Tensor:
        """Number of elements, a scalar int32."""
        with op_scope(name or "TensorListLength", (self._flow,)) as scope:
            return self._elements.size(self._flow, scope)

    def close(self, name: str | None = None) -> Operation:
        """Lets an array on a handle go; nothing where the array is a value."""
        with op_scope(name or "NoOp", (self._flow,)) as scope:
            return self._elements.close(scope)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """An array of zeros for the gradients of the elements: writes to it add up.

        Args:
            source: says whose gradients they are; of a handle, one array for each source.
            flow: the value of this array to look at.
            name: name of the operation.

        Returns:
            The other array.

        Source: TF op `TensorArrayGradV3`.
        """
        with op_scope(name or "TensorArrayV2Grad", (self._flow,)) as scope:
            elements, value = self._elements.gradient(
                source, self._flow if flow is None else flow, scope
            )
        made = self.with_flow(value)
        made._elements = elements
        return made

    # ---------------------------------------------------------------------------------- elements

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at an index.

        Args:
            index: scalar int32.
            name: name of the operation.

        Returns:
            The element; zeros where it was never written and its shape is known.
        """
        with op_scope(name or "TensorArrayV2Read", (self._flow, index)):
            at = convert_to_tensor(index, dtypes.int32, "index")
            return self._known(self._elements.read(self._flow, at, self._shape), self._shape)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """An array with another element at an index.

        Args:
            index: scalar int32.
            value: the element.
            name: name of the operation.

        Returns:
            The new array, which is to be used from here on.

        Raises:
            DTypeError: it is of another type.
            ShapeError: its shape is not that of the other elements.
        """
        with op_scope(name or "TensorArrayV2Write", (self._flow, index, value)):
            tensor = self._value(value)
            shape = self._merged(tensor.shape, tensor)
            at = convert_to_tensor(index, dtypes.int32, "index")
            return self.with_flow(self._elements.write(self._flow, at, tensor), shape)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, as one tensor with a new first axis."""
        with op_scope(name or "TensorArrayV2Stack", (self._flow,)):
            made = self._elements.stack(self._flow, self._shape)
            return self._known(made, TensorShape([None]) + self._shape)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Some elements, as one tensor with a new first axis.

        Args:
            indices: vector of int32.
            name: name of the operation.
        """
        with op_scope(name or "TensorListGather", (self._flow, indices)) as scope:
            at = convert_to_tensor(indices, dtypes.int32, "indices")
            made = self._elements.gather(self._flow, at, self._shape, scope)
            return self._known(made, TensorShape([None]) + self._shape)

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one after the other along their first axis, where they may differ."""
        with op_scope(name or "TensorListConcatV2", (self._flow,)) as scope:
            made = self._elements.concat(self._flow, _uneven(self._shape), scope)
            return self._known(made, _uneven(self._shape))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """An array of the rows of a tensor.

        Args:
            value: the tensor, of rank 1 or more.
            name: name of the operation.

        Returns:
            The new array, which has as many elements as the tensor has rows.
        """
        with op_scope(name or "TensorArrayUnstack", (self._flow, value)):
            tensor = self._value(value)
            shape = self._merged(_row(tensor), tensor)
            return self.with_flow(self._elements.unstack(self._flow, tensor), shape)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """An array with the rows of a tensor at some indices.

        Args:
            indices: vector of int32, an index for each row.
            value: the tensor, of rank 1 or more.
            name: name of the operation.

        Returns:
            The new array.
        """
        with op_scope(name or "TensorArrayScatter", (self._flow, indices, value)):
            tensor = self._value(value)
            shape = self._merged(_row(tensor), tensor)
            at = convert_to_tensor(indices, dtypes.int32, "indices")
            return self.with_flow(self._elements.scatter(self._flow, at, tensor), shape)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """An array of parts of a tensor along its first axis.

        Args:
            value: the tensor, of rank 1 or more.
            lengths: vector of int64, the length of each part.
            name: name of the operation.

        Returns:
            The new array.
        """
        with op_scope(name or "TensorArraySplit", (self._flow, value, lengths)):
            tensor = self._value(value)
            sizes = convert_to_tensor(lengths, dtypes.int64, "lengths")
            known = sizes.graph.constant_of(sizes)
            even = known is not None and known.size > 0 and (known == known.flat[0]).all()
            first = int(known.flat[0]) if known is not None and even else None
            shape = self._shape
            if tensor.shape.rank is not None:
                part = TensorShape([first]) + _row(tensor)
                # parts that differ in length have no shape in common
                shape = self._merged(part, tensor) if even or known is None else _uneven(part)
            return self.with_flow(self._elements.split(self._flow, tensor, sizes), shape)

    # ------------------------------------------------------------------------------------ checks

    def _value(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else self._dtype)
        if tensor.dtype.is_ref:
            tensor = output("Identity", (tensor,))
        if tensor.dtype.base is not self._dtype:
            raise DTypeError(
                f"a TensorArray of {self._dtype.name} takes no {tensor.dtype.base.name}",
                node=tensor.op.node.signature(),
                made=user_line(),
                do="cast it, or make the array of that type",
            )
        return tensor

    def _merged(self, shape: TensorShape, value: Tensor) -> TensorShape:
        """What is known of elements when there is one of this shape among them."""
        if not self._shape.is_compatible_with(shape):
            raise ShapeError(
                f"an element of shape {shape} in a TensorArray of elements {self._shape}",
                node=value.op.node.signature(),
                made=user_line(),
                do="" if not self._infer else "give infer_shape=False where shapes may differ",
            )
        return self._shape.merge_with(shape) if self._infer else self._shape

    def _known(self, tensor: Tensor, shape: TensorShape) -> Tensor:
        tensor.set_shape(shape)
        return tensor


def _row(value: Tensor) -> TensorShape:
    return _row_of(value.shape)


def _row_of(given: TensorShape) -> TensorShape:
    shape = given.with_rank_at_least(1)
    row: TensorShape = TensorShape(None) if shape.rank is None else shape[1:]
    return row


def _uneven(shape: TensorShape) -> TensorShape:
    """A shape whose first dimension is not known."""
    if shape.rank is None:
        return shape
    return TensorShape([None]) + _row_of(shape)
