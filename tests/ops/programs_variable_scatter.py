"""Programs that update and read parts of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.programs import made

ROW_OPS = (
    "ResourceScatterAdd", "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin",
    "ResourceScatterMul", "ResourceScatterSub", "ResourceScatterUpdate",
)  # fmt: skip
PART_OPS = ("ResourceScatterNdAdd", "ResourceScatterNdSub", "ResourceScatterNdUpdate")
VARIABLE = np.array([[7, -2], [5, 3], [1, -9], [4, 8]])


def after(
    tf: Any, op: str, first: str, dtype: Any, is_ref: bool, *inputs: Any, **attrs: Any
) -> list[Any]:
    """The variable after an update of fed inputs, or that it is refused."""
    with tf.Graph().as_default() as graph:
        held = tf.Variable(tf.constant(VARIABLE, dtype), use_resource=not is_ref)
        places = {n: tf.placeholder(np.asarray(v).dtype) for n, v in inputs}
        feeds = {places[n]: v for n, v in inputs}
        handle = held.op.outputs[0] if is_ref else held.handle
        name = op.removeprefix("Resource") if is_ref else op
        update = made(tf, name, **{"ref" if is_ref else first: handle}, **places, **attrs)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            try:
                session.run(update.op if hasattr(update, "op") else update, feeds)
            except tf.errors.InvalidArgumentError:
                return ["refused"]
            return [session.run(held)]


def typed(tf: Any, values: Any, dtype: Any) -> Any:
    return np.asarray(values, dtype.as_numpy_dtype)


def rows(tf: Any) -> list[Any]:
    found = []
    samples: list[tuple[Any, Any]] = [
        ([3, 0], [[2, 3], [-4, 5]]), ([1, 1], [[2, 3], [-4, 2]]),
        ([[0], [2]], [[[1, 2]], [[3, 4]]]), ([], np.ones((0, 2))), ([1, 2], 3),
        (2, [2, 2]), ([4], [[1, 1]]), ([-1], [[1, 1]]),
        ([0, 1], [[1, 2]]),  # TensorFlow takes rows of another length by their bytes
    ]  # fmt: skip
    for op in ROW_OPS:
        for dtype in (tf.float32, tf.int32):
            for is_ref in (False, True):
                for indices, updates in samples:
                    given = (
                        ("indices", np.asarray(indices, np.int64 if is_ref else np.int32)),
                        ("updates", typed(tf, updates, dtype)),
                    )
                    found += after(tf, op, "resource", dtype, is_ref, *given)
    return found


def parts(tf: Any) -> list[Any]:
    found = []
    samples: list[tuple[Any, Any]] = [
        ([[3], [0]], [[2, 3], [-4, 5]]), ([[0, 1], [2, 0], [3, 1]], [6, 7, 9]),
        ([[[1, 1]], [[0, 0]]], [[5], [6]]), (np.ones((0, 1)), np.ones((0, 2))),
        ([[4]], [[1, 1]]), ([[0, 2]], [1]), ([[0]], [1, 2, 3]),
    ]  # fmt: skip
    for op in PART_OPS:
        for is_ref in (False, True):
            for indices, updates in samples:
                given = (
                    ("indices", np.asarray(indices, np.int32)),
                    ("updates", typed(tf, updates, tf.float32)),
                )
                found += after(tf, op, "ref", tf.float32, is_ref, *given)
    return found


def slices(tf: Any) -> list[Any]:
    found = []
    samples: list[tuple[Any, Any, Any, Any, dict[str, int]]] = [
        ([1, 0], [3, 2], [1, 1], [[1, 2], [3, 4]], {}),
        ([0, 1], [4, 2], [2, 1], [[5], [6]], {}),
        ([-1, 0], [0, 1], [-1, 1], [1, 2, 3], {"shrink_axis_mask": 2}),
        ([2], [3], [1], [8, 9], {"shrink_axis_mask": 1}),
        ([1, 0], [3, 2], [1, 1], [1, 2], {}),
    ]
    for is_ref in (False, True):
        for begin, end, strides, value, attrs in samples:
            bounds = zip(("begin", "end", "strides"), (begin, end, strides), strict=True)
            given = [(name, np.asarray(v, np.int32)) for name, v in bounds]
            given.append(("value", typed(tf, value, tf.float32)))
            found += after(
                tf, "ResourceStridedSliceAssign", "ref", tf.float32, is_ref, *given, **attrs
            )
    return found


def reading(tf: Any) -> list[Any]:
    found: list[Any] = []
    with tf.Graph().as_default() as graph:
        held = tf.Variable(tf.constant(VARIABLE, tf.float32), use_resource=True)
        handle = held.handle
        ids = tf.placeholder(tf.int32)
        more = {"resource": handle, "dtype": tf.float32}
        picked = made(tf, "ResourceGather", indices=ids, **more)
        part = made(tf, "ResourceGatherNd", indices=ids, **more)
        with tf.Session(graph=graph) as session:
            session.run(held.initializer)
            for fetch, value in (
                (picked, [3, 0, 0]), (picked, [[1], [2]]), (picked, 2), (picked, []), (picked, [4]),
                (picked, [-1]), (part, [[1, 1], [0, 0]]), (part, [[2]]), (part, [[4]]),
            ):  # fmt: skip
                try:
                    found.append(session.run(fetch, {ids: value}))
                except tf.errors.InvalidArgumentError:
                    found.append("refused")
    return found


def derivatives(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        held = tf.Variable(tf.constant(VARIABLE, tf.float32), use_resource=True)
        more = {"resource": held.handle, "dtype": tf.float32}
        picked = made(tf, "ResourceGather", indices=[3, 0, 3], **more)
        part = made(tf, "ResourceGatherNd", indices=[[1, 1], [0, 0], [1, 1]], **more)
        y = tf.reduce_sum(picked * picked)
        z = tf.reduce_sum(part * [1.0, 2.0, 3.0])
        by_rows, by_parts = tf.gradients(y, held)[0], tf.gradients(z, held)[0]
        with tf.Session(graph=graph) as session:
            session.run(held.initializer)
            fetches = [by_rows.values, by_rows.indices, by_rows.dense_shape, by_parts]
            return list(session.run(fetches))


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (rows, parts, slices, reading, derivatives)
