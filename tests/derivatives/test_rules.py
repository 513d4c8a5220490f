"""Every rule: both modes against differences and each other, to second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.graph.conversion import apply, output
from graphvm.ops.array import stop_gradient
from graphvm.rules import RULES
from graphvm.rules.registry import NoRule, NotDifferentiable
from graphvm_runtime import dtypes
from graphvm_runtime.ops import lookup, names
from tests.derivatives.checks import checked
from tests.derivatives.windows import convolution_cases, pool_cases
from tests.ops.rows import Case, apart, positive, real
from tests.ops.table import TABLES

UNARY = ["Neg", "Abs", "Expm1", "Sign", "Square", "Exp", "Sin", "Cos", "Tanh", "Sigmoid", "Relu",
         "Softmax", "LogSoftmax", "L2Loss", "Identity"]  # fmt: skip
POSITIVE = ["Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal"]
BINARY = ["Add", "AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "Pow", "SquaredDifference",
          "Maximum", "Minimum", "FloorMod"]  # fmt: skip
GRADS = ["SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad", "ReluGrad", "ReciprocalGrad"]
I32 = np.int32

AXES = [([0], False), ([-1, 0], True), ([0, 1, 2], False), ([], False), (1, True)]
CASES = [
    *(Case(op, (real(2, 3),)) for op in UNARY),
    *(Case(op, (positive(2, 3),)) for op in POSITIVE),
    *(
        # no element of one is near one of the other, where a maximum would turn
        Case(
            op,
            (positive(*a), positive(*b)) if "imum" not in op else (apart(*a), apart(*b) + 0.01),
        )
        for op in BINARY
        for a, b in [((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (3,)), ((3,), ())]
    ),
    *(Case(op, (positive(2, 3), positive(2, 3))) for op in GRADS),
    *(
        Case("MatMul", (real(*((3, 2) if a else (2, 3))), real(*((4, 3) if b else (3, 4)))),
             {"transpose_a": a, "transpose_b": b})
        for a in (False, True) for b in (False, True)
    ),
    *(
        Case("BatchMatMulV2",
             (real(*left, *((3, 2) if a else (2, 3))), real(*right, *((4, 3) if b else (3, 4)))),
             {"adj_x": a, "adj_y": b})
        for a, b, left, right in [(False, False, (2,), (2,)), (True, False, (1, 2), (3, 1)),
                                  (False, True, (), (2,)), (True, True, (2,), ())]
    ),
    *(
        Case(op, (apart(2, 3, 2), np.array(axes, I32)), {"keep_dims": keep})
        for op in ("Sum", "Mean", "Max", "Min", "Prod")
        for axes, keep in AXES
    ),
    *(
        Case(op, (positive(2, 3), np.array(axis, I32)), {"exclusive": e, "reverse": r})
        for op in ("Cumprod", "Cumsum") for axis in (0, -1)
        for e in (False, True) for r in (False, True)
    ),
    Case("Cast", (real(3),), {"DstT": dtypes.float64}),
    Case("AddN", ((real(2), real(2), real(2)),)),
    Case("UnsortedSegmentSum", (real(4, 2), np.array([2, 0, -1, 2], I32), np.array(3, I32))),
    Case("UnsortedSegmentSum", (real(2, 2, 3), np.array([[2, 0], [-1, 2]], I32), np.array(4, I32))),
    Case("PlaceholderWithDefault", (real(2),), {"shape": (2,)}),
    Case("IdentityN", ((real(2), real(3)),)),
    Case("Reshape", (real(2, 3), np.array([3, -1], I32))),
    Case("ExpandDims", (real(2, 3), np.array(1, I32))),
    Case("Squeeze", (real(2, 1, 3),)),
    Case("Fill", (np.array([2, 3], I32), np.float64(0.7))),
    Case("Transpose", (real(2, 3, 4), np.array([2, 0, 1], I32))),
    Case("Tile", (real(2, 3), np.array([2, 1], I32))),
    Case("BroadcastTo", (real(2, 1), np.array([4, 2, 3], I32))),
    Case("ReverseV2", (real(2, 3), np.array([-1, 0], I32))),
    Case("ReverseV2", (real(2, 3), np.array([0], I32))),
    *(
        Case(op, (real(*batch, 2, 2) + 3 * np.eye(2), *more), {"adjoint": adjoint})
        for adjoint in (False, True)
        for op, batch, more in [("MatrixInverse", (), ()), ("MatrixInverse", (2,), ()),
                                ("MatrixSolve", (), (real(2, 3),)),
                                ("MatrixSolve", (2,), (real(2, 2, 1),))]
    ),
    Case("MatrixDeterminant", (real(2, 2, 2) + 3 * np.eye(2),)),
    Case("MatrixDeterminant", (real(3, 3) + 3 * np.eye(3),)),
    Case("MatrixDiagV3", (real(2, 2), np.array(1, I32), np.array(-1, I32), np.array(-1, I32),
                          np.float64(0.5))),
    Case("MatrixDiagV3", (real(3, 2), np.array([-1, 1], I32), np.array(2, I32), np.array(2, I32),
                          np.float64(0.5)), {"align": b"LEFT_RIGHT"}),
    Case("MatrixDiagPartV3", (real(2, 3, 2), np.array([-1, 1], I32), np.float64(0.5))),
    Case("MatrixSetDiagV3", (real(2, 3), real(2), np.array(0, I32))),
    Case("MatrixSetDiagV3", (real(2, 3), real(2, 2), np.array([0, 1], I32))),
    Case("Select", (np.array([True, False, True]), real(3), real(3))),
    Case("Select", (np.array([True, False, True]), real(3, 2), real(3, 2))),
    Case("SelectV2", (np.array([True, False, True]), real(2, 1), real(3))),
    Case("ConcatV2", ((real(2, 3), real(2, 1)), np.array(1, I32))),
    Case("ConcatV2", ((real(2, 3), real(2, 1)), np.array(-1, I32))),
    Case("Pack", ((real(2, 3), real(2, 3)),), {"axis": 1}),
    Case("Unpack", (real(2, 3),), {"num": 3, "axis": 1}),
    Case("Unpack", (real(2, 3),), {"num": 3, "axis": 1}, outputs=(1, 2)),
    Case("Split", (np.array(1, I32), real(2, 4)), {"num_split": 2}),
    Case("Split", (np.array(-2, I32), real(4, 2)), {"num_split": 4}, outputs=(1, 3)),
    Case("SplitV", (real(2, 5), np.array([1, -1, 2], I32), np.array(1, I32)), {"num_split": 3}),
    Case("ReverseSequence", (real(2, 3, 2), np.array([3, 1], I32)), {"seq_dim": 1}),
    Case("Slice", (real(3, 4), np.array([1, 0], I32), np.array([2, -1], I32))),
    Case("Pad", (real(2, 3), np.array([[1, 0], [0, 2]], I32))),
    Case("StridedSlice",
         (real(4, 5), np.array([3, 0, 1], I32), np.array([0, 9, 5], I32),
          np.array([-2, 1, 2], I32)),
         {"new_axis_mask": 2}),
    Case("StridedSlice",
         (real(4, 5), np.array([1], I32), np.array([2], I32), np.array([1], I32)),
         {"shrink_axis_mask": 1}),
    Case("StridedSliceGrad",
         (np.array([4, 5], I32), np.array([3], I32), np.array([0], I32), np.array([-2], I32),
          real(2, 5))),
    Case("GatherV2", (real(4, 2), np.array([3, 0, 3], I32), np.array(0, I32))),
    Case("GatherV2", (real(2, 4, 3), np.array([[3, 0], [1, 1]], I32), np.array(1, I32))),
    Case("GatherV2", (real(2, 4, 3), np.array([2, 0], I32), np.array(-1, I32))),
    Case("GatherV2", (real(2, 4, 3), np.array([[3, 0, 1], [1, 1, 2]], I32), np.array(1, I32)),
         {"batch_dims": 1}),
    Case("GatherV2", (real(2, 4, 3), np.array([[2, 0, 1], [1, 1, 2]], I32), np.array(2, I32)),
         {"batch_dims": 1}),
    Case("BiasAdd", (real(2, 3), real(3))),
    Case("BiasAdd", (real(2, 3, 2, 1), real(3)), {"data_format": b"NCHW"}),
    Case("BiasAddGrad", (real(2, 4, 3),)),
    Case("BiasAddGrad", (real(2, 3, 2, 1),), {"data_format": b"NCHW"}),
    *(
        Case(op, (real(2, 3, low=-3.0, high=7.0),))
        for op in ("LeakyRelu", "Relu6", "Elu", "Selu", "Softplus", "Softsign")
    ),
    *(
        Case(op, (real(2, 3), apart(2, 3) * 8 - 7))
        for op in ("LeakyReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad",
                   "SoftsignGrad")
    ),
    Case("ClipByValue", (real(3, 4), np.float64(-0.4), np.float64(0.6))),
    Case("ClipByValue", (apart(3, 4), apart(3, 4) / 2 + 0.27, np.float64(1.29))),
    Case("GatherNd", (real(4, 2), np.array([[3], [0], [3]], I32))),
    Case("GatherNd", (real(4, 2, 3), np.array([[[3, 1]], [[3, 1]]], np.int64))),
    Case("GatherNd", (real(4, 2), np.array([[3], [9]], I32)), {"bad_indices_policy": b"IGNORE"}),
    Case("GatherNd", (real(4, 2), np.zeros((2, 0), I32))),
    Case("ScatterNd", (np.array([[3], [0], [3]], I32), real(3, 2), np.array([4, 2], I32))),
    Case("ScatterNd", (np.array([[3], [9]], I32), real(2, 2), np.array([4, 2], I32)),
         {"bad_indices_policy": b"IGNORE"}),
    Case("TopKV2", (apart(2, 2, 4), np.array(3, I32)), outputs=(0, 1)),
    *(
        Case("Einsum", (tuple(real(*s) for s in shapes),), {"equation": equation})
        for equation, *shapes in [
            (b"ij,jk->ik", (2, 3), (3, 2)), (b"ii->i", (3, 3)), (b"ij->j", (2, 3)),
            (b"i->ii", (3,)), (b"aab,bc->ca", (2, 2, 3), (3, 2)), (b"ij,kl->i", (2, 3), (2, 2)),
            (b"a...b->b...a", (2, 3, 2)), (b"...ij,...jk->...ik", (2, 1, 2, 3), (2, 3, 2)),
            (b"i...,...->i...", (2, 1, 3), (2, 3)), (b"ij...,j->i...", (2, 3, 2), (3,)),
            (b"i,->i", (3,), ()), (b"ij,j->iji", (2, 3), (3,)),
        ]
    ),
    Case("TopKV2", (apart(5), np.array(2, I32)), outputs=(0, 1)),
    *(
        Case("RaggedGather", (splits, real(6, 2), np.array(index, I32)),
             {"OUTPUT_RAGGED_RANK": deep}, outputs=(deep, deep + 1))
        for splits, index, deep in [
            ((np.array([0, 1, 4, 6]),), [2, 0, 2], 1), ((np.array([0, 1, 4, 6]),), 1, 0),
            ((np.array([0, 2, 3]), np.array([0, 1, 4, 6])), [[1, 0]], 3),
        ]
    ),
    Case("RaggedTensorToSparse", ((np.array([0, 1, 4, 6]),), real(6, 2)), outputs=(1, 2)),
    *(
        Case("RaggedTensorToTensor", (np.array(shape, np.int64), real(6, *inner), real(*default),
             (np.array([0, 2, 3]), np.array([0, 1, 4, 6]))),
             {"row_partition_types": (b"ROW_SPLITS", b"ROW_SPLITS")})
        for shape, inner, default in [(-1, (), ()), ([3, 1, 2, 2], (2,), (2,)),
                                      ([-1, -1, -1, 2], (2,), ())]
    ),
    *(Case(*case) for case in convolution_cases(real)),
    *(Case(*case) for case in pool_cases(apart, real)),
    # its rule is the derivative where labels are probabilities
    Case("SoftmaxCrossEntropyWithLogits", (real(2, 3), np.array([[0.2, 0.3, 0.5], [0, 0, 1.0]])),
         outputs=(0, 1), by=(0,)),
    Case("SoftmaxCrossEntropyWithLogits", (real(2, 3), np.array([[0.2, 0.3, 0.5], [0, 0, 1.0]])),
         outputs=(1, 2), by=(0,), order=1),
    Case("SoftmaxCrossEntropyWithLogits", (real(2, 3), positive(2, 3)),
         outputs=(0, 1), by=(1,), order=1),
    Case("SparseSoftmaxCrossEntropyWithLogits", (real(2, 3), np.array([2, 0], I32)),
         outputs=(0, 1), order=2),
]  # fmt: skip


OF_TABLES = [case for table in TABLES.values() for case in getattr(table, "DERIVATIVES", ())]


def _flat(case: Case) -> list[Any]:
    """The inputs one after the other, a complex one as its two parts."""
    flat = [a for each in case.inputs for a in (each if isinstance(each, tuple) else [each])]
    return [p for a in flat for p in ((a.real, a.imag) if np.iscomplexobj(a) else (a,))]


def _parts(tensor: Any) -> list[Any]:
    if not tensor.dtype.is_complex:
        return [tensor]
    return [output(op, (tensor,), {"Tout": dtypes.float64}) for op in ("Real", "Imag")]


def _program(case: Case) -> Any:
    def program(*flat: Any) -> Any:
        left = list(flat)

        def taken(value: Any) -> Any:
            if not np.iscomplexobj(value):
                return left.pop(0)
            return output("Complex", (left.pop(0), left.pop(0)), {"Tout": dtypes.complex128})

        inputs = [
            [taken(a) for a in each] if isinstance(each, tuple) else taken(each)
            for each in case.inputs
        ]
        outputs = apply(case.op, inputs, case.attrs).outputs[slice(*case.outputs)]
        return [p for tensor in outputs for p in _parts(tensor)]

    return program


@pytest.mark.parametrize("known", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("case", [*CASES, *OF_TABLES], ids=repr)
def test_rule(case: Case, known: bool) -> None:
    checked(_program(case), _flat(case), order=case.order, known=known, by=case.by, rtol=2e-5)


def test_every_op_has_a_rule() -> None:
    ours = {name for name in names() if lookup(name).family}  # others are other tests' own
    assert ours <= set(RULES)


def test_every_differentiable_op_has_a_case() -> None:
    elsewhere = {"For", "SymbolicGradient", "If", "StatelessIf", "While", "StatelessWhile",
                 "PartitionedCall",
                 "StatefulPartitionedCall", "ReadVariableOp", "Conj", "Case",
                 "StatelessCase", "Print",
                 "Cholesky", "MatrixSolveLs"}  # fmt: skip
    # of float32 alone: `test_sparse_matmul`, `test_resized_images`
    elsewhere |= {
        "SparseMatMul",
        "ResizeBilinear",
        "ResizeBilinearGrad",
        "ResizeBicubic",
        "ResizeBicubicGrad",
    }
    # of handles: `derivatives` in tests/ops/programs_variable_scatter.py
    elsewhere |= {"ResourceGather", "ResourceGatherNd"}
    # declared not to be the derivative: test_quantization.py
    elsewhere |= {f"FakeQuantWithMinMax{of}" for of in ("Args", "Vars", "VarsPerChannel")}
    elsewhere |= {f"QuantizeAndDequantizeV{version}" for version in (2, 3, 4)}
    # of float32 alone: tests/derivatives/test_normalization.py
    elsewhere |= {f"FusedBatchNorm{v}" for v in ("", "V2", "V3", "Grad", "GradV2", "GradV3")}
    # of float32 alone: tests/rnn/test_blocks.py
    elsewhere |= {"LSTMBlockCell", "BlockLSTM", "BlockLSTMGrad", "GRUBlockCell"}
    # of float32 at most, or of first order alone: tests/derivatives/test_volumes.py
    elsewhere |= {"Dilation2D", "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad"}
    covered = {c.op for c in (*CASES, *OF_TABLES)} | elsewhere
    left = {
        op for op, rule in RULES.items()
        if op in names() and not isinstance(rule, NotDifferentiable | NoRule) and op not in covered
    }  # fmt: skip
    primitives = {
        "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit",
        "NextIteration", "RefNextIteration",
    }  # fmt: skip
    lists = {op for op in left if op.startswith(("TensorList", "TensorArray", "Optional"))}
    stacks = {"StackPushV2", "StackPopV2"}  # only in graphs that are read
    assert left - primitives - lists - stacks == set()


def test_reasons() -> None:
    assert all(r.why for r in RULES.values() if isinstance(r, NotDifferentiable | NoRule))


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_cholesky(shape: tuple[int, ...]) -> None:
    """Its rule takes the input to be symmetric, as TensorFlow's does."""

    def program(x: Any) -> Any:
        square = output("BatchMatMulV2", (x, x), {"adj_y": True})
        return output("Cholesky", (square + 2.0 * np.eye(shape[-1]),))

    checked(program, [real(*shape)], rtol=2e-5)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3), (3, 3)])
def test_least_squares(shape: tuple[int, ...]) -> None:
    """Its rule must know whether the matrix is tall or wide."""

    def program(matrix: Any, rhs: Any) -> Any:
        return output("MatrixSolveLs", (matrix, rhs, np.array(0.5)))

    checked(program, [real(*shape), real(shape[0], 2)], rtol=2e-5)


@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
def test_sparse_matmul(turn_a: bool, turn_b: bool) -> None:
    a, b = (real(*s).astype(np.float32) for s in ((3, 2), (4, 3)))
    a, b = a if turn_a else a.T.copy(), b if turn_b else b.T.copy()
    attrs = {"transpose_a": turn_a, "transpose_b": turn_b}
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.constant(a), tf.constant(b)]
        got, want = (
            session.run(tf.gradients(output(op, xs, attrs) ** 2, xs))
            for op in ("SparseMatMul", "MatMul")
        )
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("op", ["ResizeBilinear", "ResizeBicubic"])
@pytest.mark.parametrize("size", [(5, 3), (2, 7)])
def test_resized_images(op: str, size: tuple[int, int]) -> None:
    """They compute in float32, where differences of a linear function are still good."""

    def program(x: Any) -> Any:
        resized = output(op, (x, np.array(size, np.int32)))
        return output("Cast", (resized,), {"DstT": dtypes.float64})

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(real(1, 4, 5, 2))
        y = program(x)
        weights = real(1, *size, 2)
        (g,) = tf.gradients(y, [x], grad_ys=[weights])
        direction = real(1, 4, 5, 2)
        (pushed,) = tf.jvp([y], [x], [tf.constant(direction)])
        reverse, forward = session.run([g, pushed])
    # <w, J d> = <J^T w, d>, and a linear function is its own derivative
    np.testing.assert_allclose((weights * forward).sum(), (reverse * direction).sum(), rtol=1e-4)


def test_stop_gradient_has_none() -> None:
    checked(lambda x: x * stop_gradient(output("Sin", (x,))), [real(2)], order=0)
