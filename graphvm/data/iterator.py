"""Iterators: where a session stands in a dataset."""

from __future__ import annotations

from typing import Any

from graphvm.data.structure import AsVariant, Structure
from graphvm.graph.conversion import apply, output
from graphvm.graph.graph import Operation, Tensor
from graphvm.graph.source import user_line
from graphvm_runtime.errors import DTypeError, GraphError

__all__ = ["Iterator"]


class Iterator:
    """Gives the elements of a dataset, one each time it is asked in a session.

    Args:
        iterator_resource: the handle.
        initializer: the operation that goes to the beginning; None where there is none.
        output_types: element type of each component.
        output_shapes: static shape of each component.
        output_classes: not looked at: components are tensors.

    Source: `tf.compat.v1.data.Iterator`.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any = None,
    ) -> None:
        del output_classes
        self._resource = iterator_resource
        self._initializer = initializer
        self._structure = Structure.given(output_types, output_shapes)
        self._string_handle = output("IteratorToStringHandle", (iterator_resource,))

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator for any dataset of some structure; see `make_initializer`.

        Args:
            output_types: element type of each component, in the form of an element.
            output_shapes: static shapes in the same form; none is known otherwise.
            shared_name: iterators of one shared name are one.
            output_classes: not looked at.

        Returns:
            The iterator.

        Source: `tf.compat.v1.data.Iterator.from_structure`.
        """
        del output_classes
        structure = Structure.given(output_types, output_shapes)
        return Iterator(resource(structure, shared_name), None, structure.types, structure.shapes)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """The iterator that a string stands for, which may differ from run to run.

        Args:
            string_handle: scalar string tensor, a value of `string_handle`.
            output_types: element type of each component, in the form of an element.
            output_shapes: static shapes in the same form.
            output_classes: not looked at.

        Returns:
            The iterator. Running it fails with InvalidArgumentError where the string is none, or
            the elements are of other types.

        Source: `tf.compat.v1.data.Iterator.from_string_handle`.
        """
        del output_classes
        structure = Structure.given(output_types, output_shapes)
        handle = output("IteratorFromStringHandleV2", (string_handle,), structure.attrs)
        return Iterator(handle, None, structure.types, structure.shapes)

    @property
    def initializer(self) -> Operation:
        """The operation that goes to the beginning of the dataset. Raises GraphError."""
        if self._initializer is None:
            raise GraphError(
                "this iterator has no initializer of its own",
                made=user_line(),
                do="use make_initializable_iterator, or make_initializer",
            )
        return self._initializer

    def make_initializer(self, dataset: AsVariant, name: str | None = None) -> Operation:
        """The operation that goes to the beginning of a dataset.

        Args:
            dataset: of the structure of this iterator.
            name: name of the operation.

        Returns:
            The operation.

        Raises:
            DTypeError: elements of the dataset have other types or shapes.

        Source: `tf.compat.v1.data.Iterator.make_initializer`.
        """
        mine, other = self._structure, dataset.structure
        if mine.dtypes != other.dtypes:
            raise DTypeError(
                f"the iterator has elements of {mine.types}, the dataset of {other.types}",
                made=user_line(),
            )
        for a, b in zip(mine.flat_shapes, other.flat_shapes, strict=True):
            if not _covers(a, b):
                raise DTypeError(
                    f"the iterator has elements of the shape {a}, the dataset of {b}",
                    made=user_line(),
                )
        inputs = (dataset.as_variant(), self._resource)
        return apply("MakeIterator", inputs, None, name or "make_initializer")

    def get_next(self, name: str | None = None) -> Any:
        """The next element.

        Args:
            name: name of the operation.

        Returns:
            Tensors in the form of the element. Running them fails with OutOfRangeError at the
            end, and with FailedPreconditionError before the initializer.

        Source: `tf.compat.v1.data.Iterator.get_next`.
        """
        op = apply("IteratorGetNext", (self._resource,), self._structure.attrs, name)
        return self._structure.pack(op.outputs)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that stands for this iterator in its session.

        Args:
            name: name of the operation.

        Returns:
            Scalar string tensor.

        Source: `tf.compat.v1.data.Iterator.string_handle`.
        """
        if name is None:
            return self._string_handle
        return output("IteratorToStringHandle", (self._resource,), None, name)

    @property
    def output_types(self) -> Any:
        """Element type of each component."""
        return self._structure.types

    @property
    def output_shapes(self) -> Any:
        """Static shape of each component."""
        return self._structure.shapes

    @property
    def output_classes(self) -> Any:
        """Tensor for each component."""
        return self._structure.classes


def _covers(general: Any, special: Any) -> bool:
    """Whether every shape that `special` allows is one that `general` allows."""
    if general.rank is None:
        return True
    if special.rank != general.rank:
        return False
    pairs = zip(general.as_list(), special.as_list(), strict=True)
    return all(a is None or a == b for a, b in pairs)


def resource(structure: Structure, shared_name: str | None) -> Tensor:
    """A new handle of an iterator."""
    attrs = {"shared_name": (shared_name or "").encode(), "container": b"", **structure.attrs}
    return output("IteratorV2", (), attrs)
