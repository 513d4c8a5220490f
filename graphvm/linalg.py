"""Linear algebra, under the names that `tf.linalg` has."""

from graphvm.ops.array import eye
from graphvm.ops.clipping import global_norm
from graphvm.ops.linalg import cholesky
from graphvm.ops.linalg import matrix_determinant as det
from graphvm.ops.linalg import matrix_diag as diag
from graphvm.ops.linalg import matrix_diag_part as diag_part
from graphvm.ops.linalg import matrix_inverse as inv
from graphvm.ops.linalg import matrix_set_diag as set_diag
from graphvm.ops.linalg import matrix_solve as solve
from graphvm.ops.math import einsum, matmul

__all__ = [
    "cholesky", "det", "diag", "diag_part", "einsum", "eye", "global_norm", "inv", "matmul",
    "set_diag", "solve",
]  # fmt: skip
