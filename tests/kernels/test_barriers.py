"""Barriers: components come one by one, elements leave when they are complete."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OutOfRangeError,
    ShapeError,
)
from graphvm_runtime.kernels import has_kernel

FORMS = ["_Barrier", "_BarrierInsertMany", "_BarrierTakeMany", "_BarrierClose",
         "_BarrierReadySize", "_BarrierIncompleteSize"]  # fmt: skip
FIRST = -(2**63)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


class Built:
    """A barrier in the graph, run in a session."""

    def __init__(self, *dtypes: Any, shapes: Any = None) -> None:
        self.dtypes = dtypes
        self.handle = tf.raw_ops.Barrier(
            component_types=dtypes, shapes=[[]] * len(dtypes) if shapes is None else shapes
        )
        self.session = tf.Session()

    def insert(self, place: int, keys: Any, values: Any) -> Any:
        return self.session.run(self.insertion(place, keys, values))

    def insertion(self, place: int, keys: Any, values: Any) -> Any:
        array = np.asarray(values, self.dtypes[place].as_numpy_dtype)
        keys = tf.constant(np.array(keys, object).reshape(len(keys)), tf.string)
        return tf.raw_ops.BarrierInsertMany(
            handle=self.handle, keys=keys, values=tf.constant(array, self.dtypes[place]),
            component_index=place,
        )  # fmt: skip

    def taking(self, count: Any, fewer: bool = False) -> Any:
        return tf.raw_ops.BarrierTakeMany(
            handle=self.handle, num_elements=count, component_types=self.dtypes,
            allow_small_batch=fewer,
        )  # fmt: skip

    def take(self, count: Any, fewer: bool = False, timeout: int = 0) -> Any:
        options = tf.RunOptions(timeout_in_ms=timeout) if timeout else None
        indices, keys, values = self.session.run(list(self.taking(count, fewer)), options=options)
        return (indices - FIRST).tolist(), keys.tolist(), [v.tolist() for v in values]

    def close(self, cancel: bool = False) -> None:
        self.session.run(
            tf.raw_ops.BarrierClose(handle=self.handle, cancel_pending_enqueues=cancel)
        )

    def sizes(self) -> Any:
        ready = tf.raw_ops.BarrierReadySize(handle=self.handle)
        partial = tf.raw_ops.BarrierIncompleteSize(handle=self.handle)
        return [int(n) for n in self.session.run([ready, partial])]


def test_the_compiler_has_a_form_for_resources_of_each() -> None:
    assert all(map(has_kernel, FORMS))


@pytest.mark.parametrize("strict", [False, True])
def test_elements_leave_when_they_are_complete(strict: bool) -> None:
    with config.STRICT.set(strict):
        barrier = Built(tf.float32, tf.int32, shapes=[[], [2]])
        barrier.insert(0, ["a", "b"], [1, 2])
        assert barrier.sizes() == [0, 2]
        barrier.insert(1, ["b", "c"], [[1, 2], [3, 4]])
        assert barrier.sizes() == [1, 2]
        assert barrier.take(1) == ([0], [b"b"], [[2.0], [[1, 2]]])
        barrier.insert(0, ["c"], [9])
        assert barrier.sizes() == [1, 1]
        assert barrier.take(1) == ([1], [b"c"], [[9.0], [[3, 4]]])
        with pytest.raises(InvalidArgumentError, match="has its component 0 already"):
            barrier.insert(0, ["a"], [5])


def test_elements_leave_in_the_order_in_which_they_were_begun() -> None:
    barrier = Built(tf.int32, tf.int32)
    for key in "abc":
        barrier.insert(0, [key], [ord(key)])
    for key in "cba":
        barrier.insert(1, [key], [0])
    assert barrier.take(2)[:2] == ([0, 1], [b"a", b"b"])
    barrier.insert(0, ["d", "e"], [0, 0])
    barrier.insert(1, ["e", "d"], [0, 0])
    assert barrier.take(0) == ([], [], [[], []])
    assert barrier.take(3)[:2] == ([2, 3, 3], [b"c", b"e", b"d"])


def test_a_key_may_come_again_when_its_element_is_complete() -> None:
    barrier = Built(tf.string)
    barrier.insert(0, ["a", "a"], ["x", "y"])
    assert barrier.take(1) == ([0], [b"a"], [[b"x"]])
    barrier.insert(0, ["a"], ["z"])
    barrier.insert(0, [], [])
    assert barrier.take(2) == ([0, 1], [b"a", b"a"], [[b"y", b"z"]])


def test_a_take_waits_for_elements() -> None:
    barrier = Built(tf.int32)
    barrier.insert(0, ["a"], [1])
    got: list[Any] = []
    wait = threading.Thread(target=lambda: got.append(barrier.take(2)))
    wait.start()
    barrier.insert(0, ["b"], [2])
    wait.join(30)
    assert got == [([0, 1], [b"a", b"b"], [[1, 2]])]


def test_a_take_and_what_it_waits_for_may_be_one_step() -> None:
    barrier = Built(tf.int32)
    take, put = barrier.taking(1), barrier.insertion(0, ["a"], [4])
    values, _ = barrier.session.run([take[2][0], put])
    assert values.tolist() == [4]


def test_a_step_that_ends_takes_nothing() -> None:
    barrier = Built(tf.int32)
    with pytest.raises(DeadlineExceededError):
        barrier.take(1, timeout=50)
    barrier.insert(0, ["a"], [1])
    assert barrier.take(1)[1] == [b"a"]


def test_a_closed_barrier_takes_in_no_new_keys() -> None:
    barrier = Built(tf.int32, tf.int32)
    barrier.insert(0, ["a", "b"], [1, 2])
    barrier.close()
    with pytest.raises(CancelledError, match="b'new' would be new"):
        barrier.insert(0, ["new"], [1])
    with pytest.raises(DeadlineExceededError):  # it may still be completed
        barrier.take(1, timeout=50)
    barrier.insert(1, ["a"], [7])
    assert barrier.take(1) == ([0], [b"a"], [[1], [7]])
    with pytest.raises(OutOfRangeError, match="too few elements"):
        barrier.take(1, fewer=True)
    assert barrier.sizes() == [0, 1]
    with pytest.raises(OutOfRangeError):
        barrier.take(2)
    with pytest.raises(CancelledError, match="closed already"):
        barrier.close()
    barrier.close(cancel=True)
    assert barrier.sizes() == [0, 0]
    for cancel in (False, True):
        with pytest.raises(CancelledError, match="closed already"):
            barrier.close(cancel)
    with pytest.raises(CancelledError, match="is closed"):
        barrier.insert(1, ["b"], [7])


def test_a_closed_barrier_gives_what_it_has_where_fewer_will_do() -> None:
    barrier = Built(tf.int32)
    barrier.insert(0, ["a", "b", "c"], [1, 2, 3])
    barrier.close()
    assert barrier.take(1)[1] == [b"a"]
    assert barrier.take(5, fewer=True)[1] == [b"b", b"c"]
    with pytest.raises(OutOfRangeError):
        barrier.take(5, fewer=True)


@pytest.mark.parametrize(("fewer", "left"), [(False, None), (True, [b"a"])])
def test_closing_ends_the_wait(fewer: bool, left: Any) -> None:
    barrier = Built(tf.int32)
    barrier.insert(0, ["a"], [1])
    got: list[Any] = []

    def wait() -> None:
        try:
            got.append(barrier.take(2, fewer)[1])
        except OutOfRangeError:
            got.append(None)

    waiting = threading.Thread(target=wait)
    waiting.start()
    barrier.close()
    waiting.join(30)
    assert got == [left]


def test_what_does_not_fit_is_refused() -> None:
    barrier = Built(tf.int32, shapes=[[2]])
    with pytest.raises(InvalidArgumentError, match=r"component 0 of barrier 'Barrier' is i32\[2\]"):
        barrier.insert(0, ["a"], [1])
    raw = tf.raw_ops
    put = raw.BarrierInsertMany(handle=barrier.handle, keys=["a"], values=[1], component_index=3)
    with pytest.raises(InvalidArgumentError, match="none at 3"):
        barrier.session.run(put)
    wrong = raw.BarrierTakeMany(handle=barrier.handle, num_elements=1, component_types=[tf.string])
    with pytest.raises(InvalidArgumentError, match="holds i32"):
        barrier.session.run(wrong)
    count = tf.placeholder_with_default(-1, [])
    with pytest.raises(InvalidArgumentError, match="0 or more, got -1"):
        barrier.session.run(barrier.taking(count))
    timed = raw.BarrierTakeMany(handle=barrier.handle, num_elements=1,
                                component_types=[tf.int32], timeout_ms=5)  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="no time limit"):
        barrier.session.run(timed)
    for given, message in (
        ({"shapes": []}, "shapes, known whole"),
        ({"shapes": [[None]]}, "shapes, known whole"),
        ({"shapes": [[]], "capacity": 3}, "capacity is -1"),
    ):
        made = raw.Barrier(component_types=[tf.int32], shared_name="other", **given)
        with pytest.raises(InvalidArgumentError, match=message):
            barrier.session.run(raw.BarrierReadySize(handle=made))
    one, other = (
        raw.BarrierReadySize(
            handle=raw.Barrier(component_types=[t], shapes=[[]], shared_name="shared")
        )
        for t in (tf.int32, tf.string)
    )
    barrier.session.run(one)
    with pytest.raises(InvalidArgumentError, match="'shared' holds i32"):
        barrier.session.run(other)
    with pytest.raises(ShapeError, match="keys has rank 1"):
        raw.BarrierInsertMany(handle=barrier.handle, keys="a", values=[1], component_index=0)
    with pytest.raises(ShapeError, match=r"got a scalar"):
        raw.BarrierInsertMany(handle=barrier.handle, keys=["a"], values=1, component_index=0)
    with pytest.raises(ShapeError, match=r"1 keys for values of shape \[2\]"):
        raw.BarrierInsertMany(handle=barrier.handle, keys=["a"], values=[1, 2], component_index=0)
    with pytest.raises(ShapeError, match=r"not negative, got -1"):
        barrier.taking(-1)
