"""What TensorFlow has as functions of a dataset or an iterator."""

from __future__ import annotations

from typing import Any

from graphvm.data.dataset import Dataset
from graphvm.data.iterator import Iterator

__all__ = [
    "get_output_classes", "get_output_shapes", "get_output_types", "make_initializable_iterator",
    "make_one_shot_iterator",
]  # fmt: skip


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """See `Dataset.make_one_shot_iterator`.

    Args:
        dataset: the dataset.

    Source: `tf.compat.v1.data.make_one_shot_iterator`.
    """
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """See `Dataset.make_initializable_iterator`.

    Args:
        dataset: the dataset.
        shared_name: iterators of one shared name are one.

    Source: `tf.compat.v1.data.make_initializable_iterator`.
    """
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Element type of each component.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Source: `tf.compat.v1.data.get_output_types`.
    """
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Static shape of each component.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Source: `tf.compat.v1.data.get_output_shapes`.
    """
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Tensor for each component.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Source: `tf.compat.v1.data.get_output_classes`.
    """
    return dataset_or_iterator.output_classes
