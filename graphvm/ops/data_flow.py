"""Queues: tensors that wait between operations and between steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm.graph.conversion import apply, convert_to_tensor, op_scope
from graphvm.graph.graph import Operation, Tensor
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape, as_plain_shape
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import GraphError
from graphvm_runtime.shapes import is_known, shape_text

__all__ = ["FIFOQueue", "QueueBase"]


class QueueBase:
    """What all queues share.

    Args:
        dtypes: element type of each component.
        shapes: static shape of each component, or none at all.
        names: a name for each component, where elements are dictionaries.
        queue_ref: the handle.

    Source: `tf.queue.QueueBase`.
    """

    def __init__(
        self,
        dtypes: Sequence[DType],
        shapes: Sequence[Any],
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = list(dtypes)
        self._shapes = [TensorShape(s) for s in shapes] or [TensorShape(None) for _ in dtypes]
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rpartition("/")[2]

    @property
    def queue_ref(self) -> Tensor:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """Name of the operation that makes it."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """Element type of each component."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[TensorShape]:
        """Static shape of each component."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """Name of each component, where elements are dictionaries."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Puts one element in, once there is room.

        Args:
            vals: a tensor, a list of the components, or a dictionary of them by name.
            name: name of the operation.

        Returns:
            The operation. It fails with CancelledError where the queue was closed.

        Raises:
            DTypeError: a component is of another element type.
            GraphError: there are more or fewer components, or other names.
            ShapeError: a component has another shape.

        Source: TF op `QueueEnqueueV2`.
        """
        given = self._components(vals)
        with op_scope(name or f"{self._name}_enqueue", given) as scope:
            tensors = [
                convert_to_tensor(value, dtype, f"component_{place}")
                for place, (value, dtype) in enumerate(zip(given, self._dtypes, strict=True))
            ]
            for tensor, shape in zip(tensors, self._shapes, strict=True):
                tensor.shape.assert_is_compatible_with(shape)
            return apply("QueueEnqueueV2", (self._queue_ref, tensors), None, scope)

    def _components(self, vals: Any) -> list[Any]:
        if (self._names is not None) != isinstance(vals, dict):
            wanted = "dictionaries" if self._names is not None else "no dictionaries"
            raise GraphError(f"elements of queue {self.name!r} are {wanted}", made=user_line())
        if isinstance(vals, dict) and self._names is not None:
            if sorted(vals) != sorted(self._names):
                raise GraphError(
                    f"an element of queue {self.name!r} has the components {self._names}, "
                    f"not {sorted(vals)}",
                    made=user_line(),
                )
            return [vals[name] for name in self._names]
        given = list(vals) if isinstance(vals, list | tuple) else [vals]
        if len(self._dtypes) == 1 and len(given) != 1:
            given = [vals]
        if len(given) != len(self._dtypes):
            raise GraphError(
                f"an element of queue {self.name!r} has {len(self._dtypes)} components, "
                f"not {len(given)}",
                made=user_line(),
            )
        return given

    def dequeue(self, name: str | None = None) -> Any:
        """Takes the next element out, once there is one.

        Args:
            name: name of the operation.

        Returns:
            A tensor, a list of the components, or a dictionary of them by name. It fails with
            OutOfRangeError where the queue is closed and empty.

        Source: TF op `QueueDequeueV2`.
        """
        attrs = {"component_types": tuple(self._dtypes)}
        op = apply("QueueDequeueV2", (self._queue_ref,), attrs, name or f"{self._name}_Dequeue")
        for tensor, shape in zip(op.outputs, self._shapes, strict=True):
            tensor.set_shape(shape)
        if self._names is not None:
            return dict(zip(self._names, op.outputs, strict=True))
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Closes the queue: nothing more goes in, and what is in may still be taken out.

        Args:
            cancel_pending_enqueues: also cancel what waits for room.
            name: name of the operation.

        Returns:
            The operation.

        Source: TF op `QueueCloseV2`.
        """
        attrs = {"cancel_pending_enqueues": cancel_pending_enqueues}
        return apply("QueueCloseV2", (self._queue_ref,), attrs, name or f"{self._name}_Close")

    def size(self, name: str | None = None) -> Tensor:
        """Number of elements that are in it.

        Args:
            name: name of the operation.

        Returns:
            Scalar int32.

        Source: TF op `QueueSizeV2`.
        """
        return apply("QueueSizeV2", (self._queue_ref,), None, name or f"{self._name}_Size").outputs[
            0
        ]


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which they came.

    Args:
        capacity: how many elements fit in; -1 for any number.
        dtypes: element type of each component; one may stand alone.
        shapes: static shape of each component, known whole; one may stand alone.
        names: a name for each component: elements are dictionaries then.
        shared_name: queues of one shared name are one queue.
        name: name of the operation.

    Raises:
        GraphError: there is not a shape, or a name, for each component.
        ShapeError: a shape is not known whole.

    Source: `tf.queue.FIFOQueue`, TF op `FIFOQueueV2`.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        kinds = [as_dtype(d) for d in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]
        static = _shapes(shapes, len(kinds))
        labels: list[str] | None = None
        if names is not None:
            labels = list(names) if isinstance(names, list | tuple) else [names]
            if len(labels) != len(kinds):
                raise GraphError(f"{len(kinds)} components with {len(labels)} names")
        attrs = {
            "component_types": tuple(kinds),
            "shapes": tuple(static),
            "capacity": capacity,
            "shared_name": (shared_name or "").encode(),
        }
        op = apply("FIFOQueueV2", (), attrs, name)
        super().__init__(kinds, static, labels, op.outputs[0])


def _shapes(given: Any, count: int) -> list[Any]:
    if given is None:
        return []
    many = isinstance(given, list | tuple) and all(
        isinstance(s, list | tuple | TensorShape) for s in given
    )
    # one component: its shape may stand alone, `[2, 3]` or `()`
    shapes = list(given) if many and (given or count != 1) else [given]
    if len(shapes) != count:
        raise GraphError(f"{count} components with {len(shapes)} shapes")
    plain = [as_plain_shape(s) for s in shapes]
    for shape in plain:
        if not is_known(shape):
            raise GraphError(
                f"the shape of a component is known whole, or not given: {shape_text(shape)}"
            )
    return plain
