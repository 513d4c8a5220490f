"""Datasets: sequences of elements that the graph goes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm.data.functions import Traced, copied_by_value
from graphvm.data.iterator import Iterator, resource
from graphvm.data.numbers import fillers, first_axis, number
from graphvm.data.structure import AsVariant, Structure, flatten, pack, tensors_of
from graphvm.graph.conversion import TensorLike, apply, convert_to_tensor, output
from graphvm.graph.graph import Tensor, get_default_graph
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape
from graphvm.ops.random import get_seed
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError, clipped

__all__ = ["AUTOTUNE", "Dataset"]

AUTOTUNE = -1  # where TensorFlow chooses a number itself

_MOST = np.iinfo(np.int64).max


class Dataset(AsVariant):
    """A sequence of elements: tensors, or tuples and dictionaries of them.

    It is made by the static methods, changed by the others, which give new datasets, and gone
    through by an iterator.

    Args:
        variant_tensor: the dataset as a tensor.
        structure: of an element.

    Source: `tf.compat.v1.data.Dataset`.
    """

    def __init__(self, variant_tensor: Tensor, structure: Structure) -> None:
        self._variant_tensor = variant_tensor
        self.structure = structure

    def as_variant(self) -> Tensor:
        """The dataset as a tensor, which ops take.

        Returns:
            Scalar variant tensor.
        """
        return self._variant_tensor

    def __repr__(self) -> str:
        return f"<Dataset of {self.output_types}, {self.output_shapes}>"

    @property
    def output_types(self) -> Any:
        """Element type of each component."""
        return self.structure.types

    @property
    def output_shapes(self) -> Any:
        """Static shape of each component."""
        return self.structure.shapes

    @property
    def output_classes(self) -> Any:
        """Tensor for each component."""
        return self.structure.classes

    # -- sources ---------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element.

        Args:
            tensors: a tensor, or a structure of tensors.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `TensorDataset`.
        """
        with get_default_graph().name_scope("normalize_element"):
            parts = tensors_of(tensors)
        structure = Structure.of(tensors, parts)
        attrs = {"output_shapes": structure.attrs["output_shapes"]}
        return Dataset(output("TensorDataset", (parts,), attrs, name), structure)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The parts of tensors along their first axis.

        Args:
            tensors: a tensor, or a structure of tensors, of one length.
            name: name of the operation.

        Returns:
            The dataset.

        Raises:
            ShapeError: one is a scalar, or lengths differ.

        Source: TF op `TensorSliceDataset`.
        """
        with get_default_graph().name_scope("normalize_element"):
            parts = tensors_of(tensors)
        for part in parts:
            if part.shape.rank == 0:
                raise ShapeError("a scalar has no slices", made=user_line())
        structure = Structure.of(tensors, parts).with_shapes(
            lambda s: TensorShape(None) if s.rank is None else TensorShape(s.as_list()[1:])
        )
        attrs = {"output_shapes": structure.attrs["output_shapes"]}
        return Dataset(output("TensorSliceDataset", (parts,), attrs, name), structure)

    @staticmethod
    def range(
        *args: TensorLike, output_type: Any = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """Numbers from a start to before an end.

        Args:
            *args: as of Python's `range`: the end; start and end; start, end and step.
            output_type: element type of the numbers.
            name: name of the operation.

        Returns:
            The dataset.

        Raises:
            TypeError: there are no arguments, or more than three.

        Source: TF op `RangeDataset`.
        """
        if not 1 <= len(args) <= 3:
            raise TypeError(f"range takes one to three numbers, got {len(args)}")
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        structure = Structure(as_dtype(output_type), TensorShape([]))
        numbers = (number(start, "start"), number(stop, "stop"), number(step, "step"))
        return Dataset(output("RangeDataset", numbers, structure.attrs, name), structure)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several datasets side by side, as long as each has one.

        Args:
            *args: datasets, or one structure of datasets.
            datasets: such a structure.
            name: name of the operation.

        Returns:
            The dataset, whose elements have the form of that structure.

        Raises:
            TypeError: something in it is no dataset.

        Source: TF op `ZipDataset`.
        """
        if bool(args) == (datasets is not None):
            raise TypeError("zip takes datasets, or datasets=, and not both")
        form = datasets if not args else args[0] if len(args) == 1 else args
        parts = flatten(form)
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(f"zip takes datasets in tuples or dictionaries, not {part!r}")
        structure = Structure(
            pack(form, [p.output_types for p in parts]),
            pack(form, [p.output_shapes for p in parts]),
        )
        inputs = ([p.as_variant() for p in parts],)
        return Dataset(output("ZipDataset", inputs, structure.attrs, name), structure)

    # -- functions -------------------------------------------------------------------------

    def _calling(
        self, op: str, traced: Traced, attr: str, structure: Structure, name: str | None,
        *more: Tensor, **attrs: Any,
    ) -> Dataset:  # fmt: skip
        graph = get_default_graph()
        with graph.control_dependencies(traced.control):
            made = output(
                op, (self._variant_tensor, traced.captured, *more),
                {attr: traced.ref, **structure.attrs, **attrs}, name,
            )  # fmt: skip
        return Dataset(made, structure)

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """What a function gives for each element.

        Args:
            map_func: takes an element, the parts of a tuple as arguments of their own; gives a
                tensor or a structure of tensors.
            num_parallel_calls: written into the graph; elements come in order all the same.
            deterministic: likewise.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF ops `MapDataset`, `ParallelMapDatasetV2`.
        """
        traced = Traced(map_func, self.structure, "Dataset_map")
        if num_parallel_calls is None:
            return self._calling("MapDataset", traced, "f", traced.structure, name)
        calls = number(num_parallel_calls, "num_parallel_calls")
        said = {None: b"default", True: b"true", False: b"false"}[deterministic]
        return self._calling(
            "ParallelMapDatasetV2", traced, "f", traced.structure, name, calls, deterministic=said
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function gives true.

        Args:
            predicate: takes an element; gives one bool.
            name: name of the operation.

        Returns:
            The dataset.

        Raises:
            GraphError: the function gives something else.

        Source: TF op `FilterDataset`.
        """
        traced = Traced(predicate, self.structure, "Dataset_filter")
        found = traced.tensors
        if (
            len(found) != 1
            or found[0].dtype.base is not dtypes.bool_
            or found[0].shape.rank not in (0, None)
        ):
            raise GraphError(
                f"a predicate gives one bool, not {clipped(traced.result)}", made=user_line()
            )
        return self._calling("FilterDataset", traced, "predicate", self.structure, name)

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """The elements of the datasets that a function gives, one dataset after the other.

        Args:
            map_func: takes an element; gives a dataset.
            name: name of the operation.

        Returns:
            The dataset.

        Raises:
            TypeError: the function gives no dataset.

        Source: TF op `FlatMapDataset`.
        """
        traced = Traced(map_func, self.structure, "Dataset_flat_map")
        return self._calling("FlatMapDataset", traced, "f", _inner(traced), name)

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that a function gives, which take turns.

        Args:
            map_func: takes an element; gives a dataset.
            cycle_length: how many datasets take turns; as many as there are processors otherwise.
            block_length: how many elements each gives in its turn, 1 by default.
            num_parallel_calls: not looked at: elements are made one after the other.
            deterministic: not looked at.
            name: name of the operation.

        Returns:
            The dataset.

        Raises:
            TypeError: the function gives no dataset.

        Source: TF op `InterleaveDataset`.
        """
        del num_parallel_calls, deterministic
        traced = Traced(map_func, self.structure, "Dataset_interleave")
        width = number(-1 if cycle_length is None else cycle_length, "cycle_length")
        length = number(1 if block_length is None else block_length, "block_length")
        return self._calling("InterleaveDataset", traced, "f", _inner(traced), name, width, length)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What a function of the whole dataset gives.

        Args:
            transformation_func: takes this dataset; gives another.

        Returns:
            The dataset.

        Raises:
            TypeError: it gives none.

        Source: `tf.data.Dataset.apply`.
        """
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(f"the function gave {clipped(found)}, no dataset")
        return found

    # -- order and number of elements ------------------------------------------------------

    def _same(self, op: str, name: str | None, *inputs: Tensor, **attrs: Any) -> Dataset:
        given = (self._variant_tensor, *inputs)
        made = output(op, given, {**self.structure.attrs, **attrs}, name)
        return Dataset(made, self.structure)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """All elements again and again.

        Args:
            count: how often; for ever where it is None or -1.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `RepeatDataset`.
        """
        return self._same("RepeatDataset", name, number(-1 if count is None else count, "count"))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements.

        Args:
            count: how many; all where it is -1.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `TakeDataset`.
        """
        return self._same("TakeDataset", name, number(count, "count"))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first elements.

        Args:
            count: how many are left out; all where it is -1.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `SkipDataset`.
        """
        return self._same("SkipDataset", name, number(count, "count"))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """One of several parts: every `num_shards`th element.

        Args:
            num_shards: how many parts there are.
            index: which one, counted from 0.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `ShardDataset`.
        """
        count, which = number(num_shards, "num_shards"), number(index, "index")
        return self._same("ShardDataset", name, count, which)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The same elements.

        Args:
            buffer_size: how many TensorFlow would make ahead; here each is made when it is asked
                for.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `PrefetchDataset`.
        """
        size = -1 if buffer_size is None else buffer_size
        return self._same("PrefetchDataset", name, number(size, "buffer_size"))

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """The elements in a random order, TensorFlow's where there is a seed.

        Args:
            buffer_size: from how many elements each is drawn.
            seed: of the order; see `set_random_seed`.
            reshuffle_each_iteration: another order each time it is repeated.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `ShuffleDataset`.
        """
        first, second = get_seed(seed)
        anew = reshuffle_each_iteration is None or bool(reshuffle_each_iteration)
        return self._same(
            "ShuffleDataset", name, number(buffer_size, "buffer_size"),
            number(first or 0, "seed"), number(second or 0, "seed2"),
            reshuffle_each_iteration=anew,
        )  # fmt: skip

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element.

        Args:
            start: the first number.
            name: name of the operation.

        Returns:
            The dataset.

        Source: `tf.data.Dataset.enumerate`.
        """
        return Dataset.zip((Dataset.range(start, _MOST), self), name=name)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of another dataset.

        Args:
            dataset: of the same element types.
            name: name of the operation.

        Returns:
            The dataset; its shapes are what both have in common.

        Raises:
            DTypeError: types differ.

        Source: TF op `ConcatenateDataset`.
        """
        mine, other = self.structure, dataset.structure
        if mine.dtypes != other.dtypes:
            raise DTypeError(
                f"elements of {mine.types} and of {other.types} are no one dataset",
                made=user_line(),
            )
        common = [
            a.most_specific_compatible_shape(b)
            for a, b in zip(mine.flat_shapes, other.flat_shapes, strict=True)
        ]
        structure = Structure(mine.types, mine.pack(common))
        inputs = (self._variant_tensor, dataset.as_variant())
        return Dataset(output("ConcatenateDataset", inputs, structure.attrs, name), structure)

    # -- batches ---------------------------------------------------------------------------

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements put together along a new first axis.

        Args:
            batch_size: how many.
            drop_remainder: leave out a last batch of fewer.
            num_parallel_calls: not looked at.
            deterministic: not looked at.
            name: name of the operation.

        Returns:
            The dataset.

        Source: TF op `BatchDatasetV2`.
        """
        del num_parallel_calls, deterministic
        size = number(batch_size, "batch_size")
        whole = number(drop_remainder, "drop_remainder", dtypes.bool_)
        first = first_axis(size, whole)
        structure = self.structure.with_shapes(lambda s: TensorShape([first]).concatenate(s))
        inputs = (self._variant_tensor, size, whole)
        return Dataset(output("BatchDatasetV2", inputs, structure.attrs, name), structure)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Elements put together, each filled up to the shape of the largest, or to a given one.

        Args:
            batch_size: how many.
            padded_shapes: a shape for each component, None for as much as a batch needs; the
                static shapes otherwise.
            padding_values: what each component is filled up with; 0 or the empty string otherwise.
            drop_remainder: leave out a last batch of fewer.
            name: name of the operation.

        Returns:
            The dataset.

        Raises:
            GraphError: a shape is not known, or values are not as many as components.

        Source: TF op `PaddedBatchDatasetV2`.
        """
        mine = self.structure
        if padded_shapes is None:
            shapes = list(mine.flat_shapes)
        else:
            given = Structure.given(mine.types, padded_shapes)
            shapes = list(given.flat_shapes)
        if any(s.rank is None for s in shapes):
            raise GraphError("a component of unknown rank cannot be filled up", made=user_line())
        sizes = [
            convert_to_tensor(
                np.array([-1 if d is None else d for d in s.as_list()], np.int64),
                name=f"padded_shapes_{i}",
            )
            for i, s in enumerate(shapes)
        ]
        values = fillers(padding_values, mine.dtypes)
        size = number(batch_size, "batch_size")
        whole = number(drop_remainder, "drop_remainder", dtypes.bool_)
        first = first_axis(size, whole)
        known = [TensorShape([first]).concatenate(s) for s in shapes]
        structure = Structure(mine.types, mine.pack(known))
        attrs = {"output_shapes": structure.attrs["output_shapes"]}
        inputs = (self._variant_tensor, size, sizes, values, whole)
        return Dataset(output("PaddedBatchDatasetV2", inputs, attrs, name), structure)

    # -- iterators -------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that goes through the dataset once in each session, without initializer.

        Returns:
            The iterator.

        Raises:
            GraphError: the dataset depends on a variable, or on what is fed.

        Source: TF op `OneShotIterator`.
        """
        factory = copied_by_value(self._variant_tensor, "make_dataset")
        structure = self.structure
        handle = output("OneShotIterator", (), {"dataset_factory": factory, **structure.attrs})
        return Iterator(handle, None, structure.types, structure.shapes)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that begins each time its initializer is run.

        Args:
            shared_name: iterators of one shared name are one.

        Returns:
            The iterator.

        Source: TF ops `IteratorV2`, `MakeIterator`.
        """
        structure = self.structure
        graph = self._variant_tensor.graph
        with graph.as_default(), graph.colocate_with(self._variant_tensor.op):
            handle = resource(structure, shared_name)
            initializer = apply("MakeIterator", (self._variant_tensor, handle))
        return Iterator(handle, initializer, structure.types, structure.shapes)


def _inner(traced: Traced) -> Structure:
    if not isinstance(traced.result, Dataset):
        raise TypeError(f"the function gives a dataset, not {clipped(traced.result)}")
    return traced.result.structure
