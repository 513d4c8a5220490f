"""Strings of bytes, under the names that `tf.strings` has."""

from graphvm.ops.string import as_string

__all__ = ["as_string"]
