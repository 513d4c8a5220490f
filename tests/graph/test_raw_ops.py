"""Every op has a typed function made from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm import raw_ops
from graphvm_runtime import ops
from graphvm_runtime.errors import DTypeError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_every_op_that_files_hold_has_a_function() -> None:
    names = dir(raw_ops)
    assert names == [n for n in ops.names() if not n.startswith("_")]
    for name in names:
        function = getattr(raw_ops, name)
        assert function.__name__ == name
        assert f"tf.raw_ops.{name}" in function.__doc__
        assert list(inspect.signature(function).parameters)[-1] == "name"
    assert raw_ops.MatMul is raw_ops.MatMul
    with pytest.raises(AttributeError, match="no op is called 'Nope'"):
        raw_ops.Nope  # noqa: B018 (the look-up is what is tested)


def test_the_signature_is_inputs_attributes_name() -> None:
    shown = str(inspect.signature(raw_ops.ConcatV2))
    assert shown == "(*, values, axis, name=None)"
    shown = str(inspect.signature(raw_ops.VarHandleOp))
    assert shown.startswith("(*, ")
    assert "dtype" in shown


def test_inputs_are_converted_to_the_types_that_fit() -> None:
    x = tf.placeholder(tf.float64, [2, 3])
    y = raw_ops.MatMul(a=[[1, 2]], b=x, name="product")
    assert (y.op.name, y.dtype, y.shape.as_list()) == ("product", tf.float64, [1, 3])
    assert [i.op.name for i in y.op.inputs] == ["product/a", "Placeholder"]


def test_results_are_as_the_op_declares_them() -> None:
    assert isinstance(raw_ops.NoOp(), tf.Operation)
    assert isinstance(raw_ops.Neg(x=1.0), tf.Tensor)
    assert [t.shape.as_list() for t in raw_ops.Unpack(value=[[1, 2], [3, 4]], num=2)] == [[2], [2]]
    off, on = raw_ops.Switch(data=1.0, pred=True)
    both = raw_ops.Switch(data=1.0, pred=True)
    assert both._fields == ("output_false", "output_true")
    assert (off.value_index, on.value_index) == (0, 1)
    assert isinstance(raw_ops.IdentityN(input=[1.0, 2]), list)


def test_attributes_are_taken_in_every_form() -> None:
    p = raw_ops.Placeholder(dtype="float32", shape=tf.TensorShape([None, 2]))
    assert p.shape.as_list() == [None, 2]
    assert raw_ops.Placeholder(dtype=np.int64).shape.dims is None
    value = tf.constant([1.0]).op.get_attr("value")
    assert raw_ops.Const(value=value, dtype=tf.float32).shape.as_list() == [1]
    queue = raw_ops.FIFOQueueV2(component_types=[tf.float32], shared_name="q")
    assert queue.op.get_attr("shared_name") == b"q"


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: raw_ops.MatMul(a=1.0), TypeError, "misses b"),
        (lambda: raw_ops.MatMul([[1.0]], [[1.0]]), TypeError, "by name only"),
        (lambda: raw_ops.Neg(x=1.0, T=tf.float32), TypeError, "has no T"),
        (lambda: raw_ops.Cast(x=1, DstT="nope"), DTypeError, "takes a type for 'DstT'"),
        (lambda: raw_ops.Unpack(value=[1], num=1.5), DTypeError, "takes a int for 'num'"),
        (
            lambda: raw_ops.MatMul(a=[[1.0]], b=[[1.0]], transpose_a="x"),
            DTypeError,
            "takes a bool",
        ),
        (lambda: raw_ops.Neg(x=True), DTypeError, "does not take T = bool"),
        (lambda: raw_ops.Unpack(value=[1], num=-1), ValueError, "num >= 0"),
        (lambda: raw_ops.Placeholder(dtype=tf.float32, shape="x"), DTypeError, "a shape for"),
        (
            lambda: raw_ops.FIFOQueueV2(component_types=tf.float32),
            DTypeError,
            r"list\(type\)",
        ),
    ],
)
def test_wrong_arguments_are_told(
    make: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        make()
