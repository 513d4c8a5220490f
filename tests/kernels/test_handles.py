"""An op that is given a handle, or a variant, of another kind than it takes says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ops import OpDef, lookup, names

RESOURCES = ("variable", "queue", "stack", "iterator", "tensor array", "barrier")
VARIANTS = ("tensor list", "optional", "dataset")
# what the ops of a family take; those of datasets stand in test_datasets
TAKEN = {
    "state": "variable", "training": "variable", "data_flow": "queue", "barrier": "barrier",
    "tensor_array": "tensor array", "list": "tensor list", "optional": "optional",
    "variable_scatter": "variable", "lookup_table": "table", "accumulator": "accumulator",
}  # fmt: skip


TAKES_ANY = ("DestroyResourceOp",)


def held(op: OpDef) -> list[str]:
    """Names of the inputs that are handles or variants."""
    return [arg.name for arg in op.inputs if arg.dtype in (tf.resource, tf.variant)]


def cases() -> Iterator[tuple[str, str]]:
    """Each op that takes something held, with each kind that it does not take."""
    for name in names():
        op = lookup(name)
        if held(op) and op.family != "dataset" and name not in TAKES_ANY:
            taken = "stack" if name.startswith("Stack") else TAKEN[op.family]
            kinds = VARIANTS if op.inputs[0].dtype is tf.variant else RESOURCES
            # of these handles the graph says already that their shape is not a table's
            other = {taken, *(("barrier", "tensor array") if taken == "table" else ())}
            yield from ((name, kind) for kind in kinds if kind not in other)
    for name in ("MakeIterator", "IteratorGetNext", "IteratorGetNextSync"):
        yield from ((name, kind) for kind in RESOURCES if kind != "iterator")


def made(kind: str) -> Any:
    number = tf.constant(1, tf.int64)
    if kind == "variable":
        return tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name="x", container="")
    if kind == "queue":
        return tf.FIFOQueue(3, tf.int64, shapes=[()]).queue_ref
    if kind == "stack":
        return tf.raw_ops.StackV2(max_size=3, elem_type=tf.int64, stack_name="")
    if kind == "iterator":
        return tf.data.Dataset.range(3).make_initializable_iterator()._resource
    if kind == "tensor array":
        return tf.raw_ops.TensorArrayV3(size=3, dtype=tf.int64)[0]
    if kind == "barrier":
        attrs = {"component_types": (tf.int64,), "shapes": ((),)}
        return tf.get_default_graph().add_node("_Barrier", [], attrs, name="made").outputs[0]
    if kind == "tensor list":
        return tf.raw_ops.EmptyTensorList(
            element_shape=-1, max_num_elements=-1, element_dtype=tf.int64
        )
    if kind == "optional":
        return tf.raw_ops.OptionalFromValue(components=[number])
    return tf.data.Dataset.range(3).as_variant()


VECTORS = ("indices", "lengths", "keys", "begin", "end", "strides")
ATTRS = {
    "element_dtype": tf.int64, "dtype": tf.int64, "component_types": (tf.int64,),
    "output_types": (tf.int64,), "output_shapes": ((),), "elem_type": tf.int64, "T": tf.int64,
    "shape_type": tf.int32, "limit": 3, "component_index": 0, "source": b"gradients",
    "Tkeys": tf.int64, "Tvalues": tf.int64, "key_index": -2, "value_index": -1, "var_name": b"x",
}  # fmt: skip


def applied(name: str, kind: str) -> Any:
    """The op on something of that kind; other inputs as they should be."""
    op = lookup(name)
    rows = any(arg.name in VECTORS for arg in op.inputs)
    groups: list[Any] = []
    for arg in op.inputs:
        if arg.dtype in (tf.resource, tf.variant):
            value = made("dataset" if arg.name == "dataset" else kind)
        elif arg.name == "element_shape":
            value = tf.constant(-1, tf.int32)
        else:
            shape = (1,) if arg.name in VECTORS or (rows and "value" in arg.name) else ()
            shape = (1,) if rows and arg.name == "tensor" else shape
            shape = (1,) if rows and arg.name == "grad" else shape
            of_variable = op.family == "training" and arg.type_attr == "T"
            dtype = arg.dtype or (tf.float32 if of_variable else tf.int64)
            array: Any = np.full(shape, "a" if dtype is tf.string else 1)
            value = tf.constant(array, dtype)
        groups.append([value] if arg.is_list else value)
    inferred = {a for arg in op.inputs for a in (arg.type_attr, arg.list_attr)}
    attrs = {k: v for k, v in ATTRS.items() if k in op.attrs and k not in inferred}
    return tf.get_default_graph().add_node(op, groups, attrs, name="asked")


@pytest.mark.parametrize("emit", [False, True], ids=["interpreted", "emitted"])
@pytest.mark.parametrize(("name", "kind"), list(cases()))
def test_an_op_takes_values_of_its_kind_alone(name: str, kind: str, emit: bool) -> None:
    with tf.Graph().as_default():
        op = applied(name, kind)
        switch = config.EMIT if emit else config.INTERPRET
        with switch.set(True), tf.Session() as session, pytest.raises(InvalidArgumentError):
            session.run(op, options=tf.RunOptions(timeout_in_ms=10_000))
