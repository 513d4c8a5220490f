"""Datasets and iterators.

Source: `tf.compat.v1.data`.
"""

from graphvm.data.dataset import AUTOTUNE, Dataset
from graphvm.data.functions_of_datasets import (
    get_output_classes,
    get_output_shapes,
    get_output_types,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from graphvm.data.iterator import Iterator

__all__ = [
    "AUTOTUNE", "Dataset", "Iterator", "get_output_classes", "get_output_shapes",
    "get_output_types", "make_initializable_iterator", "make_one_shot_iterator",
]  # fmt: skip
