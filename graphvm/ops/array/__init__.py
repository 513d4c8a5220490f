"""Functions that make, shape, join and cut tensors."""

from graphvm.ops.array.constants import (
    constant,
    fill,
    ones,
    ones_like,
    placeholder,
    placeholder_with_default,
    zeros,
    zeros_like,
)
from graphvm.ops.array.indexing import (
    boolean_mask,
    eye,
    gather_nd,
    one_hot,
    scatter_nd,
    sequence_mask,
)
from graphvm.ops.array.joining import (
    concat,
    pad,
    stack,
    tile,
    unstack,
    where,
    where_v2,
)
from graphvm.ops.array.shaping import (
    broadcast_to,
    expand_dims,
    identity,
    identity_n,
    invert_permutation,
    rank,
    reshape,
    reverse,
    shape,
    shape_n,
    size,
    squeeze,
    stop_gradient,
    transpose,
)
from graphvm.ops.array.slicing import (
    gather,
    newaxis,
    slice,
    strided_slice,
    subscript,
)
from graphvm.ops.array.splitting import (
    reverse_sequence,
    split,
)

__all__ = [
    "boolean_mask", "broadcast_to", "concat", "constant", "expand_dims", "eye", "fill",
    "gather", "gather_nd", "identity", "identity_n", "invert_permutation", "newaxis", "one_hot",
    "ones", "ones_like", "pad", "placeholder", "placeholder_with_default", "rank", "reshape",
    "reverse", "reverse_sequence", "scatter_nd", "sequence_mask", "shape", "shape_n", "size",
    "slice", "split", "squeeze", "stack", "stop_gradient", "strided_slice", "subscript", "tile",
    "transpose", "unstack", "where", "where_v2", "zeros", "zeros_like",
]  # fmt: skip
