"""Strings of bytes, under the names that `tf.strings` has."""

from graphvm.ops.string import as_string
from graphvm.ops.string import string_format as format
from graphvm.ops.string import string_join as join

__all__ = ["as_string", "format", "join"]
