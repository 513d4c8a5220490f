"""The functions that users call, by TensorFlow's families."""

import graphvm.ops.operators  # noqa: F401 (whoever has ops has the operators of tensors)
