"""Programs of queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.programs import made, outcomes


class Queue:
    """The ops on a queue that `maker` makes."""

    def __init__(self, tf: Any, maker: str, *dtypes: Any, **attrs: Any) -> None:
        self.tf = tf
        self.v2 = "V2" if maker.endswith("V2") else ""
        self.handle = made(tf, maker, component_types=list(dtypes), **attrs)
        self.dtypes = [tf.int64] * maker.startswith("PriorityQueue") + list(dtypes)

    def put(self, *components: Any) -> Any:
        op = {"V2": "QueueEnqueueV2", "": "QueueEnqueue"}[self.v2]
        return made(self.tf, op, handle=self.handle, components=self.tensors(components))

    def put_many(self, *components: Any) -> Any:
        op = {"V2": "QueueEnqueueManyV2", "": "QueueEnqueueMany"}[self.v2]
        return made(self.tf, op, handle=self.handle, components=self.tensors(components))

    def tensors(self, components: Any) -> list[Any]:
        return [self.tf.convert_to_tensor(c) for c in components]

    def take(self, dtypes: Any = None) -> Any:
        op = {"V2": "QueueDequeueV2", "": "QueueDequeue"}[self.v2]
        return made(self.tf, op, handle=self.handle, component_types=dtypes or self.dtypes)

    def take_many(self, n: int) -> Any:
        op = {"V2": "QueueDequeueManyV2", "": "QueueDequeueMany"}[self.v2]
        return made(self.tf, op, handle=self.handle, n=n, component_types=self.dtypes)

    def take_up_to(self, n: int) -> Any:
        op = {"V2": "QueueDequeueUpToV2", "": "QueueDequeueUpTo"}[self.v2]
        return made(self.tf, op, handle=self.handle, n=n, component_types=self.dtypes)

    def close(self, cancel: bool = False) -> Any:
        op = {"V2": "QueueCloseV2", "": "QueueClose"}[self.v2]
        return made(self.tf, op, handle=self.handle, cancel_pending_enqueues=cancel)

    def is_closed(self) -> Any:
        op = {"V2": "QueueIsClosedV2", "": "QueueIsClosed"}[self.v2]
        return made(self.tf, op, handle=self.handle)

    def size(self) -> Any:
        op = {"V2": "QueueSizeV2", "": "QueueSize"}[self.v2]
        return made(self.tf, op, handle=self.handle)


def several_at_once(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        q = Queue(tf, "FIFOQueueV2", tf.int32, tf.string, shapes=[[], [2]])
        numbers, texts = np.arange(5, dtype=np.int32), np.full((5, 2), b"x", object)
        return outcomes(
            tf, graph, q.put_many(numbers, texts), q.size(), q.take_many(2), q.take(),
            q.take_many(0), q.take_up_to(2), q.size(), q.close(), q.is_closed(),
            q.put(np.int32(1), texts[0]), q.take_many(1), q.close(), q.close(True),
        )  # fmt: skip


def together(tf: Any) -> list[Any]:
    """Takers get elements as they come, so more than fit in at once."""
    with tf.Graph().as_default() as graph:
        q = Queue(tf, "FIFOQueueV2", tf.float32, shapes=[[]], capacity=2)
        put = q.put_many(np.arange(5, dtype=np.float32))
        taken = q.take_many(5)
        with tf.Session(graph=graph) as session:
            return [session.run([taken, put])[0], session.run(q.size())]


def what_is_left(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        q = Queue(tf, "FIFOQueueV2", tf.int64, shapes=[[2]])
        values = np.arange(6, dtype=np.int64).reshape(3, 2)
        return outcomes(
            tf, graph, q.put_many(values), q.is_closed(), q.close(), q.take_many(4), q.size(),
            q.take_up_to(2), q.take_up_to(2), q.take_up_to(2), q.take(), q.take_many(0),
        )  # fmt: skip


def what_does_not_fit(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        free = Queue(tf, "FIFOQueueV2", tf.int64)
        whole = Queue(tf, "FIFOQueueV2", tf.int64, tf.int64, shapes=[[2], []])
        one, two = np.ones((2, 2), np.int64), np.ones(3, np.int64)
        return outcomes(
            tf, graph, free.put_many(one), free.put(one), free.take_many(1), free.take(),
            free.size(), whole.put_many(one, two), whole.put_many(two, two), whole.put(one, one[0]),
            whole.put(one), whole.take([tf.int64, tf.float32]),
        )  # fmt: skip


def names_shared(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        kinds = [
            Queue(tf, "FIFOQueueV2", tf.int64, shared_name="a", capacity=3),
            Queue(tf, "FIFOQueueV2", tf.int64, shared_name="a", capacity=4),
            Queue(tf, "FIFOQueueV2", tf.int32, shared_name="a", capacity=3),
            Queue(tf, "PaddingFIFOQueueV2", tf.int64, shared_name="a", capacity=3, shapes=[[]]),
            Queue(tf, "FIFOQueueV2", tf.int64, shared_name="a", capacity=3),
        ]
        return outcomes(tf, graph, *(q.size() for q in kinds))


def padded(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        q = Queue(tf, "PaddingFIFOQueueV2", tf.float32, tf.string, shapes=[[None, 2], [None]])
        puts = [
            q.put(np.full((n, 2), n, np.float32), np.full((3 - n,), b"%d" % n, object))
            for n in (1, 3, 2)
        ]
        none = Queue(tf, "PaddingFIFOQueueV2", tf.float32)
        many = q.put_many(np.ones((2, 1, 2), np.float32), np.full((2, 1), b"m", object))
        return outcomes(
            tf, graph, *puts, q.take_many(2), puts[0], q.take(), many, q.take_up_to(3), q.size(),
            q.take_many(0), q.put(np.ones((2, 3), np.float32), ["a"]), none.size(),
        )  # fmt: skip


def by_priority(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        q = Queue(tf, "PriorityQueueV2", tf.string, shapes=[[]])
        put = q.put_many(np.array([5, -3, 9, 0]), ["five", "minus", "nine", "zero"])
        return outcomes(
            tf, graph, put, q.take(), q.size(), q.put(np.int64(1), "one"), q.take_many(2),
            q.close(), q.take_up_to(1), q.take(), q.take(),
        )  # fmt: skip


def shuffled(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        seeds = {"seed": 7, "seed2": 11}
        q = Queue(
            tf, "RandomShuffleQueueV2", tf.int64, shapes=[[]], min_after_dequeue=2, **seeds
        )  # fmt: skip
        put = q.put_many(np.arange(12))
        same = Queue(tf, "RandomShuffleQueueV2", tf.int64, shapes=[[]], **seeds)
        refill = same.put_many(np.arange(500))
        return outcomes(
            tf, graph, put, q.take_many(4), q.take(), q.take_up_to(3), q.size(), q.take_many(2),
            q.close(), q.take_up_to(9), q.take(), refill, same.take_many(490),
        )  # fmt: skip


def references(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        q = Queue(tf, "FIFOQueue", tf.int64, shapes=[[]], capacity=9)
        padding = Queue(tf, "PaddingFIFOQueue", tf.int64, shapes=[[None]])
        priority = Queue(tf, "PriorityQueue", tf.int64, shapes=[[]])
        shuffling = Queue(tf, "RandomShuffleQueue", tf.int64, shapes=[[]])
        values = np.arange(4)
        return outcomes(
            tf, graph, q.put_many(values), q.put(np.int64(9)), q.size(), q.take(), q.take_many(2),
            q.take_up_to(1), q.close(), q.take_up_to(4), q.put(np.int64(9)), padding.put(values),
            padding.take_many(1), priority.put(np.int64(3), np.int64(2)), priority.take(),
            shuffling.put(np.int64(3)), shuffling.take(),
        )  # fmt: skip


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (
    several_at_once, together, what_is_left, what_does_not_fit, names_shared, padded, by_priority,
    shuffled, references,
)  # fmt: skip
