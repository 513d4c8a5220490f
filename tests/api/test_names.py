"""Nodes are called, and built of, what TensorFlow 2.21's compat.v1 calls and builds them."""

from collections.abc import Callable
from typing import Any

import pytest

import graphvm as tf


def x() -> tf.Tensor:
    return tf.placeholder(tf.float32, [2, 3], name="x")


def unknown() -> tf.Tensor:
    return tf.placeholder(tf.float32, None, name="x")


def built(function: Callable[[], Any]) -> list[str]:
    """`name Op(inputs)` of all nodes but placeholders."""
    with tf.Graph().as_default() as graph:
        function()
        return [
            f"{op.name} {op.type}({', '.join(t.name.removesuffix(':0') for t in op.inputs)})"
            for op in graph.get_operations()
            if op.type != "Placeholder"
        ]


CASES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "add": (lambda: tf.add(x(), 1), ["Add/y Const()", "Add AddV2(x, Add/y)"]),
    "plus": (lambda: x() + 1.0, ["add/y Const()", "add AddV2(x, add/y)"]),
    "plus, reflected": (lambda: 1.0 + x(), ["add/x Const()", "add AddV2(add/x, x)"]),
    "minus": (lambda: x() - 1, ["sub/y Const()", "sub Sub(x, sub/y)"]),
    "times": (lambda: 2 * x(), ["mul/x Const()", "mul Mul(mul/x, x)"]),
    "divide": (lambda: x() / 2, ["truediv/y Const()", "truediv RealDiv(x, truediv/y)"]),
    "divide integers": (
        lambda: tf.constant(3) / 2,
        [
            "Const Const()",
            "truediv/y Const()",
            "truediv/Cast Cast(Const)",
            "truediv/Cast_1 Cast(truediv/y)",
            "truediv RealDiv(truediv/Cast, truediv/Cast_1)",
        ],
    ),
    "floor": (lambda: x() // 2, ["floordiv/y Const()", "floordiv FloorDiv(x, floordiv/y)"]),
    "remainder": (lambda: x() % 2, ["mod/y Const()", "mod FloorMod(x, mod/y)"]),
    "power": (lambda: x() ** 2, ["pow/y Const()", "pow Pow(x, pow/y)"]),
    "less": (lambda: x() < 2, ["Less/y Const()", "Less Less(x, Less/y)"]),
    "negative": (lambda: -x(), ["Neg Neg(x)"]),
    "absolute": (lambda: abs(x()), ["Abs Abs(x)"]),
    "matmul": (lambda: x() @ tf.ones([3, 4]), ["ones Const()", "matmul MatMul(x, ones)"]),
    "batch matmul": (
        lambda: tf.matmul(tf.ones([5, 2, 3]), tf.ones([5, 3, 2])),
        ["ones Const()", "ones_1 Const()", "MatMul BatchMatMulV2(ones, ones_1)"],
    ),
    "and": (
        lambda: tf.logical_xor(tf.constant(True), tf.constant(False)),
        [
            "Const Const()",
            "Const_1 Const()",
            "LogicalXor/LogicalOr LogicalOr(Const, Const_1)",
            "LogicalXor/LogicalAnd LogicalAnd(Const, Const_1)",
            "LogicalXor/LogicalNot LogicalNot(LogicalXor/LogicalAnd)",
            "LogicalXor LogicalAnd(LogicalXor/LogicalOr, LogicalXor/LogicalNot)",
        ],
    ),
    "sum of all": (lambda: tf.reduce_sum(x()), ["Const Const()", "Sum Sum(x, Const)"]),
    "sum of all, rank unknown": (
        lambda: tf.reduce_sum(unknown()),
        [
            "Rank Rank(x)",
            "range/start Const()",
            "range/delta Const()",
            "range Range(range/start, Rank, range/delta)",
            "Sum Sum(x, range)",
        ],
    ),
    "mean": (
        lambda: tf.reduce_mean(x(), 1),
        ["Mean/reduction_indices Const()", "Mean Mean(x, Mean/reduction_indices)"],
    ),
    "argmax": (
        lambda: tf.argmax(x(), 1),
        ["ArgMax/dimension Const()", "ArgMax ArgMax(x, ArgMax/dimension)"],
    ),
    "cast": (lambda: tf.cast(x(), tf.int32), ["Cast Cast(x)"]),
    "to_float": (lambda: tf.to_float(tf.constant(1)), ["Const Const()", "ToFloat Cast(Const)"]),
    "range": (
        lambda: tf.range(3),
        [
            "range/start Const()",
            "range/limit Const()",
            "range/delta Const()",
            "range Range(range/start, range/limit, range/delta)",
        ],
    ),
    "zeros": (lambda: tf.zeros([2, 3]), ["zeros Const()"]),
    "many zeros": (
        lambda: tf.zeros([2000]),
        [
            "zeros/shape_as_tensor Const()",
            "zeros/Const Const()",
            "zeros Fill(zeros/shape_as_tensor, zeros/Const)",
        ],
    ),
    "zeros of a shape": (
        lambda: tf.zeros(tf.shape(unknown())),
        ["Shape Shape(x)", "zeros/Const Const()", "zeros Fill(Shape, zeros/Const)"],
    ),
    "fill": (
        lambda: tf.fill([2], 7),
        ["Fill/dims Const()", "Fill/value Const()", "Fill Fill(Fill/dims, Fill/value)"],
    ),
    "zeros_like": (lambda: tf.zeros_like(unknown()), ["zeros_like ZerosLike(x)"]),
    "ones_like": (
        lambda: tf.ones_like(unknown()),
        [
            "ones_like/Shape Shape(x)",
            "ones_like/Const Const()",
            "ones_like Fill(ones_like/Shape, ones_like/Const)",
        ],
    ),
    "shape, known": (lambda: tf.shape(x()), ["Shape Const()"]),
    "size": (lambda: tf.size(unknown()), ["Size Size(x)"]),
    "concat": (
        lambda: tf.concat([x(), x()], 0),
        ["concat/axis Const()", "concat ConcatV2(x, x_1, concat/axis)"],
    ),
    "concat of one": (
        lambda: tf.concat([x()], 0),
        ["concat/concat_dim Const()", "concat/concat Identity(x)"],
    ),
    "stack": (lambda: tf.stack([x(), x()], 1), ["stack Pack(x, x_1)"]),
    "stack of numbers": (lambda: tf.stack([1, 2]), ["stack Const()"]),
    "stack with a number": (
        lambda: tf.stack([1, tf.size(unknown())]),
        ["Size Size(x)", "stack/0 Const()", "stack Pack(stack/0, Size)"],
    ),
    "unstack": (lambda: tf.unstack(x(), axis=1), ["unstack Unpack(x)"]),
    "reshape": (
        lambda: tf.reshape(x(), [-1]),
        ["Reshape/shape Const()", "Reshape Reshape(x, Reshape/shape)"],
    ),
    "transpose": (
        lambda: tf.transpose(x()),
        ["transpose/perm Const()", "transpose Transpose(x, transpose/perm)"],
    ),
    "transpose, rank unknown": (
        lambda: tf.transpose(unknown()),
        [
            "transpose/Rank Rank(x)",
            "transpose/sub/y Const()",
            "transpose/sub Sub(transpose/Rank, transpose/sub/y)",
            "transpose/Range/limit Const()",
            "transpose/Range/delta Const()",
            "transpose/Range Range(transpose/sub, transpose/Range/limit, transpose/Range/delta)",
            "transpose Transpose(x, transpose/Range)",
        ],
    ),
    "subscript": (
        lambda: x()[0],
        [
            "strided_slice/stack Const()",
            "strided_slice/stack_1 Const()",
            "strided_slice/stack_2 Const()",
            "strided_slice StridedSlice(x, strided_slice/stack, strided_slice/stack_1, "
            "strided_slice/stack_2)",
        ],
    ),
    "slice": (
        lambda: tf.slice(x(), [0, 1], [1, -1]),
        ["Slice/begin Const()", "Slice/size Const()", "Slice Slice(x, Slice/begin, Slice/size)"],
    ),
    "gather": (
        lambda: tf.gather(x(), [0]),
        [
            "GatherV2/indices Const()",
            "GatherV2/axis Const()",
            "GatherV2 GatherV2(x, GatherV2/indices, GatherV2/axis)",
        ],
    ),
    "expand_dims": (
        lambda: tf.expand_dims(x(), -1),
        ["ExpandDims/dim Const()", "ExpandDims ExpandDims(x, ExpandDims/dim)"],
    ),
    "squeeze": (lambda: tf.squeeze(tf.ones([1, 2])), ["ones Const()", "Squeeze Squeeze(ones)"]),
    "where": (
        lambda: tf.where(x() > 0, x(), x()),
        ["Greater/y Const()", "Greater Greater(x, Greater/y)", "Select Select(Greater, x_1, x_2)"],
    ),
    "add_n": (lambda: tf.add_n([x(), x()]), ["AddN AddN(x, x_1)"]),
    "relu": (lambda: tf.nn.relu(x()), ["Relu Relu(x)"]),
    "bias_add": (
        lambda: tf.nn.bias_add(x(), [1.0, 2.0, 3.0]),
        ["BiasAdd/bias Const()", "BiasAdd BiasAdd(x, BiasAdd/bias)"],
    ),
    "softmax": (lambda: tf.nn.softmax(x()), ["Softmax Softmax(x)"]),
    "sparse cross entropy": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=x()),
        [
            "SparseSoftmaxCrossEntropyWithLogits/Const Const()",
            "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits "
            "SparseSoftmaxCrossEntropyWithLogits(x, SparseSoftmaxCrossEntropyWithLogits/Const)",
        ],
    ),
    "random_uniform": (
        lambda: tf.random_uniform([2]),
        [
            "random_uniform/shape Const()",
            "random_uniform/RandomUniform RandomUniform(random_uniform/shape)",
        ],
    ),
    "random_normal": (
        lambda: tf.random_normal([2]),
        [
            "random_normal/shape Const()",
            "random_normal/mean Const()",
            "random_normal/stddev Const()",
            "random_normal/RandomStandardNormal RandomStandardNormal(random_normal/shape)",
            "random_normal/mul Mul(random_normal/RandomStandardNormal, random_normal/stddev)",
            "random_normal AddV2(random_normal/mul, random_normal/mean)",
        ],
    ),
    "tuple": (
        lambda: tf.tuple([x(), unknown()]),
        [
            "tuple/group_deps NoOp()",
            "tuple/control_dependency Identity(x)",
            "tuple/control_dependency_1 Identity(x_1)",
        ],
    ),
    "group": (lambda: tf.group(x()), ["group_deps NoOp()"]),
}


@pytest.mark.parametrize("case", CASES)
def test_nodes_are_tensorflows(case: str) -> None:
    function, nodes = CASES[case]
    assert built(function) == nodes


def test_names_of_arguments_and_scopes_hold() -> None:
    with tf.name_scope("layer"):
        y = tf.add(x(), 1.0, name="y")
        assert y.name == "layer/y:0"
        assert y.op.inputs[1].name == "layer/y/y:0"
        assert (x() + 1).name == "layer/add:0"
    with tf.name_scope("layer"):
        assert tf.no_op().name == "layer_1/NoOp"


def test_an_operator_finds_the_graph_of_its_tensor() -> None:
    with tf.Graph().as_default() as graph:
        tensor = x()
    assert (tensor + 1.0).graph is graph
    assert (tensor[0]).graph is graph
    assert tf.reduce_sum(tensor).graph is graph
