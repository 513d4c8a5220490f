"""TensorFlow's faces of other versions: `v1` is GraphVM's own."""

from graphvm.compat import v1

__all__ = ["v1"]
