"""Datasets and iterators: each op gives what TensorFlow gives, whichever machine runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.errors import (
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    ShapeError,
)
from graphvm_runtime.ops import lookup, names

D = tf.data.Dataset
END = "END"


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return np.asarray(value).tolist()


def elements(dataset: Any, most: int = 12) -> list[Any]:
    """The elements twice, once for each run of the initializer; errors by their class."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    out: list[Any] = []
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            for _ in range(most):
                try:
                    out.append(plain(session.run(following)))
                except OutOfRangeError:
                    out.append(END)
                    break
                except OpError as error:
                    out.append(type(error).__name__)
    half = len(out) // 2
    assert out[:half] == out[half:]
    return out[:half]


def grown(x: Any) -> Any:
    return tf.fill([tf.cast(x, tf.int32)], x)


def inverse(x: Any) -> Any:
    return 10 // (x - 1)


def captured() -> Any:
    hundred = tf.constant(100, tf.int64)
    return D.range(3).flat_map(lambda x: D.range(x).map(lambda y: x * hundred + y))


BAD = "InvalidArgumentError"
# op -> a dataset that has it, and its elements as TensorFlow 2.21 gives them
CASES: list[tuple[str, Callable[[], Any], list[Any]]] = [
    ("TensorDataset", lambda: D.from_tensors({"b": 1, "a": (2, b"x")}),
     [{"b": 1, "a": [2, b"x"]}, END]),
    ("TensorSliceDataset", lambda: D.from_tensor_slices(([1, 2], ["a", "b"])),
     [[1, b"a"], [2, b"b"], END]),
    ("TensorSliceDataset", lambda: D.from_tensor_slices(np.zeros((0, 3), np.float32)), [END]),
    ("RangeDataset", lambda: D.range(5, 0, -2), [5, 3, 1, END]),
    ("RangeDataset", lambda: D.range(2, output_type=tf.float32), [0.0, 1.0, END]),
    ("MapDataset", lambda: D.range(3).map(inverse), [-10, BAD, 10, END]),
    ("MapDataset", lambda: D.range(4).map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: -x)),
     [0, -1, 20, 30, END]),
    ("MapDataset",
     lambda: D.range(4).map(
         lambda x: tf.while_loop(lambda i: i < 10, lambda i: i * 2 + 1, [x])),
     [15, 15, 11, 15, END]),
    ("MapDataset", lambda: D.from_tensors("hi").map(lambda s: (s, tf.identity(s))),
     [[b"hi", b"hi"], END]),
    ("ParallelMapDatasetV2", lambda: D.range(3).map(lambda x: x * 2, num_parallel_calls=2),
     [0, 2, 4, END]),
    ("FilterDataset", lambda: D.range(4).filter(lambda x: tf.equal(inverse(x), 10)),
     [BAD, 2, END]),
    ("FlatMapDataset", captured, [100, 200, 201, END]),
    ("InterleaveDataset",
     lambda: D.range(1, 5).interleave(
         lambda x: D.from_tensors(x).repeat(x + 1), cycle_length=2, block_length=2),
     [1, 1, 2, 2, 2, 3, 3, 4, 4, 3, 3, 4]),
    ("InterleaveDataset",
     lambda: D.range(6).interleave(lambda x: D.range(x * 10, x * 10 + x), cycle_length=3),
     [10, 20, 30, 21, 31, 40, 32, 41, 50, 42, 51, 43]),
    ("InterleaveDataset", lambda: D.range(0).interleave(lambda x: D.range(3)), [END]),
    ("BatchDatasetV2", lambda: D.range(3).batch(2).batch(2), ["InvalidArgumentError", END]),
    ("BatchDatasetV2", lambda: D.range(5).batch(2, drop_remainder=True), [[0, 1], [2, 3], END]),
    ("BatchDatasetV2", lambda: D.range(1, 4).map(grown).batch(2), [BAD, [[3, 3, 3]], END]),
    ("PaddedBatchDatasetV2",
     lambda: D.range(1, 6).map(grown).padded_batch(2, padded_shapes=[None]),
     [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]], [[5, 5, 5, 5, 5]], END]),
    ("PaddedBatchDatasetV2",
     lambda: D.range(1, 4).map(lambda x: (grown(x), x)).padded_batch(
         2, padded_shapes=([4], []), padding_values=(-1, 0), drop_remainder=True),
     [[[[1, -1, -1, -1], [2, 2, -1, -1]], [1, 2]], END]),
    ("PaddedBatchDatasetV2", lambda: D.from_tensor_slices([["a"], ["b"]]).padded_batch(2, [2]),
     [[[b"a", b""], [b"b", b""]], END]),
    ("RepeatDataset", lambda: D.range(2).repeat(2).repeat(2), [0, 1, 0, 1, 0, 1, 0, 1, END]),
    ("RepeatDataset", lambda: D.range(4).repeat(0), [END]),
    ("RepeatDataset", lambda: D.range(0).repeat(), [END]),
    ("TakeDataset", lambda: D.range(3).repeat().take(4), [0, 1, 2, 0, END]),
    ("TakeDataset", lambda: D.range(2).take(-1), [0, 1, END]),
    ("SkipDataset", lambda: D.range(4).skip(2), [2, 3, END]),
    ("SkipDataset", lambda: D.range(4).skip(9), [END]),
    ("SkipDataset", lambda: D.range(4).skip(-1), [END]),
    ("ShardDataset", lambda: D.range(10).shard(3, 1), [1, 4, 7, END]),
    ("ShardDataset", lambda: D.range(2).shard(3, 2), [END]),
    ("ZipDataset", lambda: D.zip((D.range(3), {"a": D.range(2)})),
     [[0, {"a": 0}], [1, {"a": 1}], END]),
    ("ConcatenateDataset", lambda: D.range(2).concatenate(D.range(5, 7)), [0, 1, 5, 6, END]),
    ("PrefetchDataset", lambda: D.range(2).prefetch(1), [0, 1, END]),
    ("ShuffleDataset", lambda: D.range(10).shuffle(4, seed=7),
     [0, 4, 2, 3, 5, 6, 1, 8, 7, 9, END]),
]  # fmt: skip


@pytest.mark.parametrize("machine", ["interpreted", "emitted", "strict", "tiers"])
@pytest.mark.parametrize(("op", "make", "want"), CASES)
def test_elements_are_those_of_tensorflow(
    op: str, make: Callable[[], Any], want: list[Any], machine: str
) -> None:
    switch = {"interpreted": config.INTERPRET, "emitted": config.EMIT, "strict": config.STRICT}
    dataset = make()
    assert op in [node.type for node in tf.get_default_graph().get_operations()]
    if machine in switch:
        with switch[machine].set(True):
            got = elements(dataset)
    else:
        got = elements(dataset)
    assert got == want


def test_an_order_drawn_at_random_is_tensorflows_each_time_it_is_repeated() -> None:
    def of(**more: Any) -> list[Any]:
        return elements(D.range(5).shuffle(3, seed=1, **more).repeat(3))

    assert of() == [1, 3, 0, 4, 2, 1, 3, 0, 4, 2, 0, 3]
    assert of(reshuffle_each_iteration=False) == [0, 3, 2, 1, 4, 0, 3, 2, 1, 4, 0, 3]


def test_without_a_seed_the_order_differs() -> None:
    dataset = D.range(50).shuffle(50).batch(50)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        seen = []
        for _ in range(2):
            session.run(iterator.initializer)
            seen.append(session.run(following).tolist())
    assert seen[0] != seen[1]
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(50))


def test_elements_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataLossError, match="filled up to 1"):
        _first(D.range(2, 4).map(grown).padded_batch(2, padded_shapes=[1]))
    with pytest.raises(InvalidArgumentError, match="one element or more"):
        _first(D.range(3).batch(0))
    with pytest.raises(InvalidArgumentError, match="step other than zero"):
        _first(D.range(0, 3, 0))
    with pytest.raises(InvalidArgumentError, match="no shard 3 of 3"):
        _first(D.range(3).shard(3, 3))
    with pytest.raises(InvalidArgumentError, match="buffer_size is 1 or more"):
        _first(D.range(3).shuffle(0))
    with pytest.raises(InvalidArgumentError, match="buffer_size is 0 or more"):
        _first(D.range(3).prefetch(-2))
    with pytest.raises(InvalidArgumentError, match="cycle_length and block_length"):
        _first(D.range(3).interleave(lambda x: D.range(x), cycle_length=0))
    with pytest.raises(InvalidArgumentError, match="num_parallel_calls is 1 or more"):
        _first(D.range(3).map(lambda x: x, num_parallel_calls=0))
    unknown = [tf.placeholder_with_default(np.zeros(n), None) for n in (2, 3)]
    with pytest.raises(InvalidArgumentError, match="no slices in common"):
        _first(D.from_tensor_slices(tuple(unknown)))
    loose = tf.placeholder_with_default([True, False], None)
    with pytest.raises(InvalidArgumentError, match="a predicate gives one bool"):
        _first(D.range(3).filter(lambda x: loose))


def _first(dataset: Any) -> Any:
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        return session.run(following)


def test_a_function_may_end_the_sequence() -> None:
    queue = tf.FIFOQueue(3, tf.int64, shapes=[()])
    puts = [queue.enqueue(np.int64(n)) for n in (7, 8)]
    close = queue.close()
    dataset = D.range(9).map(lambda x: x + queue.dequeue())
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        for op in (*puts, close, iterator.initializer):
            session.run(op)
        assert [session.run(following) for _ in range(2)] == [7, 9]
        with pytest.raises(OutOfRangeError):
            session.run(following)


def test_a_step_that_waits_for_an_iterator_can_be_cancelled() -> None:
    queue = tf.FIFOQueue(3, tf.int64, shapes=[()])
    put = queue.enqueue(np.int64(5))
    iterator = D.range(9).map(lambda x: x + queue.dequeue()).make_initializable_iterator()
    following = iterator.get_next()
    got: list[Any] = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        first = threading.Thread(target=lambda: got.append(session.run(following)))
        first.start()
        for _ in range(2):  # one of the two waits for the queue, or both for the iterator
            with pytest.raises(DeadlineExceededError):
                session.run(following, options=tf.RunOptions(timeout_in_ms=100))
        session.run(put)
        first.join(30)
        assert len(got) == 1


MACHINES = pytest.mark.parametrize("machine", ["interpreted", "emitted", "tiers"])


def on(machine: str) -> Any:
    """Sets the machine that runs what is compiled meanwhile."""
    switch = {"interpreted": config.INTERPRET, "emitted": config.EMIT}.get(machine)
    return nullcontext() if switch is None else switch.set(True)


def waiting(queue: Any) -> dict[str, Callable[[], Any]]:
    """Datasets of 5 whose first element waits for the queue, by what it is that waits."""
    return {
        "map": lambda: D.range(9).map(lambda x: x + queue.dequeue()),
        "parallel map": lambda: D.range(9).map(lambda x: x + queue.dequeue(), 2),
        "below": lambda: D.range(9).map(lambda x: x + queue.dequeue()).take(2).prefetch(1),
        "beside": lambda: D.zip((D.range(9), D.range(9).map(lambda x: queue.dequeue()))).map(
            lambda x, y: y),
        "filter": lambda: D.range(5, 9).filter(lambda x: queue.dequeue() > 0),
        "flat map": lambda: D.range(9).flat_map(
            lambda x: D.range(9).map(lambda y: y + queue.dequeue())),
        "interleave": lambda: D.range(9).interleave(
            lambda x: D.from_tensors(queue.dequeue()), cycle_length=2),
        "a branch": lambda: D.range(9).map(
            lambda x: tf.cond(x < 1, lambda: queue.dequeue(), lambda: x)),
        "another iterator": lambda: _another(D.range(9).map(lambda x: x + queue.dequeue())),
    }  # fmt: skip


def _another(dataset: Any) -> Any:
    following = dataset.make_initializable_iterator(shared_name="inner")
    tf.add_to_collection("first", following.initializer)
    return D.range(9).map(lambda x: following.get_next())


@pytest.mark.timeout(60)
@MACHINES
@pytest.mark.parametrize("what", waiting(None))
def test_an_element_waits_for_another_op_of_its_step(what: str, machine: str) -> None:
    queue = tf.FIFOQueue(3, tf.int64, shapes=[()])
    iterator = waiting(queue)[what]().make_initializable_iterator()
    following, put = iterator.get_next(), queue.enqueue(np.int64(5))
    first = tf.get_collection("first")
    for fetches in ([following, put], [put, following]):
        with on(machine), tf.Session() as session:
            session.run([first, iterator.initializer])
            assert 5 in session.run(fetches)


@pytest.mark.timeout(60)
@MACHINES
def test_an_iterator_begins_anew_while_an_element_waits(machine: str) -> None:
    queue = tf.FIFOQueue(3, tf.int64, shapes=[()])
    iterator = D.range(9).map(lambda x: x + queue.dequeue()).make_initializable_iterator()
    following, put = iterator.get_next(), queue.enqueue(np.int64(5))
    with on(machine), tf.Session() as session:
        session.run(iterator.initializer)
        for fetches in ([following, iterator.initializer, put], [put, following]):
            assert session.run(fetches)[fetches.index(following)] in (5, 6)


@pytest.mark.timeout(60)
@MACHINES
def test_those_who_ask_one_iterator_at_once_get_each_element_once(machine: str) -> None:
    queue = tf.FIFOQueue(99, tf.int64, shapes=[()])
    put = queue.enqueue(np.int64(0))
    waits = D.range(99).map(lambda x: x + queue.dequeue())
    for dataset in (waits, D.range(99).map(lambda x: x * 1), D.range(99)):
        iterator = dataset.make_initializable_iterator()
        each = [iterator.get_next() for _ in range(6)]
        got: list[int] = []
        with on(machine), tf.Session() as session:
            session.run(iterator.initializer)

            def ask(session: Any = session, each: Any = each, got: Any = got) -> None:
                for _ in range(3):
                    got.extend(session.run(each))

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            if dataset is waits:
                for _ in range(72):
                    session.run(put)
            for thread in threads:
                thread.join(30)
        assert sorted(got) == list(range(72))


def test_an_element_is_taken_though_nobody_looks_at_it() -> None:
    iterator = D.range(9).make_initializable_iterator()
    chosen = tf.cond(
        tf.placeholder_with_default(True, []),
        lambda: _after(iterator.get_next(), 1),
        lambda: tf.constant(2),
    )
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(chosen) == 1
        assert session.run(iterator.get_next()) == 1


def _after(tensor: Any, value: int) -> Any:
    with tf.control_dependencies([tensor]):
        return tf.constant(value)


def parents() -> list[tuple[str, str]]:
    """Each op that goes through datasets, with the name of each input that is one."""
    return [
        (name, arg.name)
        for name in names()
        for arg in lookup(name).inputs
        if name != "MakeIterator" and lookup(name).family == "dataset" and arg.dtype is tf.variant
    ]


@pytest.mark.parametrize(("op", "place"), parents())
def test_an_op_that_goes_through_datasets_takes_no_other_variant(op: str, place: str) -> None:
    others: dict[str, Any] = {
        "other_arguments": [], "num_parallel_calls": 1, "cycle_length": 1, "block_length": 1,
        "batch_size": 1, "drop_remainder": False, "padded_shapes": [np.zeros(0, np.int64)],
        "padding_values": [np.int64(0)], "count": 1, "num_shards": 1, "index": 0,
        "buffer_size": 1, "seed": 1, "seed2": 1,
    }  # fmt: skip
    functions = {
        "f": D.range(3).map(lambda x: x + 1), "predicate": D.range(3).filter(lambda x: x > 1),
    }  # fmt: skip
    attrs: dict[str, Any] = {"output_types": [tf.int64], "output_shapes": [[]]} | {
        attr: made.as_variant().op.node.attrs[attr].name for attr, made in functions.items()
    }
    declared = lookup(op)
    given: dict[str, Any] = {k: v for k, v in attrs.items() if k in declared.attrs}
    for arg in declared.inputs:
        if arg.dtype is tf.variant:
            wrong = tf.raw_ops.EmptyTensorList(
                element_shape=-1, max_num_elements=-1, element_dtype=tf.int64
            )
            value = wrong if arg.name == place else D.range(3).as_variant()
            given[arg.name] = [value] if arg.number_attr else value
        else:
            given[arg.name] = others[arg.name]
    made = getattr(tf.raw_ops, op)(**given)
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match="not a dataset"):
        session.run(made.op)


def test_a_function_sees_variables_as_they_are() -> None:
    v = tf.get_variable("v", initializer=np.int64(1))
    iterator = D.range(3).map(lambda x: x + v).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run([v.initializer, iterator.initializer])
        assert session.run(following) == 1
        session.run(tf.assign(v, 100))
        assert session.run(following) == 101


def test_older_forms_of_ops_do_the_same() -> None:
    kind = {"output_types": [tf.int64], "output_shapes": [[]]}
    numbers = D.range(5)
    batches = tf.raw_ops.BatchDataset(
        input_dataset=numbers.as_variant(), batch_size=2, output_types=[tf.int64],
        output_shapes=[[None]],
    )  # fmt: skip
    assert batches.op.type == "BatchDataset"
    doubled = numbers.map(lambda x: x * 2, num_parallel_calls=1).as_variant().op
    old = tf.raw_ops.ParallelMapDataset(
        input_dataset=numbers.as_variant(), other_arguments=[], num_parallel_calls=1,
        f=doubled.node.attrs["f"].name, **kind,
    )  # fmt: skip
    assert old.op.type == "ParallelMapDataset"
    handle = tf.raw_ops.Iterator(shared_name="", container="", output_types=[tf.int64],
                                 output_shapes=[None])  # fmt: skip
    assert handle.op.type == "Iterator"
    begin = [tf.raw_ops.MakeIterator(dataset=d, iterator=handle) for d in (batches, old)]
    text = tf.raw_ops.IteratorToStringHandle(resource_handle=handle)
    again = tf.raw_ops.IteratorFromStringHandle(string_handle=text)
    assert again.op.type == "IteratorFromStringHandle"
    (following,) = tf.raw_ops.IteratorGetNextSync(
        iterator=again, output_types=[tf.int64], output_shapes=[None]
    )
    assert following.op.type == "IteratorGetNextSync"
    with tf.Session() as session:
        session.run(begin[0])
        assert session.run(following).tolist() == [0, 1]
        session.run(begin[1])
        assert [session.run(following) for _ in range(3)] == [0, 2, 4]


def types_in(graph: Any) -> set[str]:
    return {op.type for op in graph.get_operations()}


def test_a_one_shot_iterator_goes_through_once_in_each_session(graph: Any) -> None:
    following = D.range(3).map(lambda x: x + 1).make_one_shot_iterator().get_next()
    assert {"OneShotIterator", "IteratorGetNext"} <= types_in(graph)
    for _ in range(2):
        with tf.Session() as session:
            assert [session.run(following) for _ in range(3)] == [1, 2, 3]
            for _ in range(2):
                with pytest.raises(OutOfRangeError, match="end of sequence"):
                    session.run(following)


def test_an_iterator_must_begin() -> None:
    following = D.range(3).make_initializable_iterator().get_next()
    with tf.Session() as session, pytest.raises(FailedPreconditionError, match="initialised"):
        session.run(following)


def test_an_iterator_takes_datasets_of_its_types_alone() -> None:
    loose = tf.raw_ops.IteratorV2(shared_name="i", container="", output_types=[tf.int64],
                                  output_shapes=[[2]])  # fmt: skip
    wrong = [D.range(3), D.from_tensors(1.0), D.zip((D.range(3), D.range(3)))]
    inits = [tf.raw_ops.MakeIterator(dataset=d.as_variant(), iterator=loose) for d in wrong]
    no_dataset = tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1,
                                            element_dtype=tf.int32)  # fmt: skip
    other = tf.raw_ops.IteratorV2(shared_name="i", container="", output_types=[tf.int32],
                                  output_shapes=[[2]])  # fmt: skip
    with tf.Session() as session:
        for init in inits:
            with pytest.raises(InvalidArgumentError, match="iterator 'i'"):
                session.run(init)
        with pytest.raises(InvalidArgumentError, match="not a dataset"):
            session.run(tf.raw_ops.MakeIterator(dataset=no_dataset, iterator=loose))
        with pytest.raises(InvalidArgumentError, match="component 0 of iterator 'i'"):
            session.run(tf.raw_ops.IteratorToStringHandle(resource_handle=other))


def test_an_element_has_the_shape_that_was_declared() -> None:
    lying = tf.raw_ops.MapDataset(
        input_dataset=D.range(3).as_variant(), other_arguments=[],
        f=D.range(3).map(lambda x: tf.stack([x, x])).as_variant().op.node.attrs["f"].name,
        output_types=[tf.int64], output_shapes=[[3]],
    )  # fmt: skip
    iterator = tf.data.Iterator.from_structure(tf.int64, [3])
    begin = tf.raw_ops.MakeIterator(dataset=lying, iterator=iterator._resource)
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(begin)
        with pytest.raises(InvalidArgumentError, match=r"of shape \[2\], not i64\[3\]"):
            session.run(following)


def test_a_string_stands_for_an_iterator(graph: Any) -> None:
    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    one = D.range(3).make_one_shot_iterator()
    other = D.range(10, 12).make_initializable_iterator()
    wrong = D.from_tensors(1.0).make_one_shot_iterator()
    made = {"IteratorV2", "MakeIterator", "IteratorToStringHandle", "IteratorFromStringHandleV2"}
    assert made <= types_in(graph)
    with tf.Session() as session:
        session.run(other.initializer)
        first, second, third = session.run([one.string_handle(), other.string_handle(),
                                            wrong.string_handle("named")])  # fmt: skip
        got = [session.run(chosen, {handle: h}) for h in (first, second, first, second)]
        assert got == [0, 10, 1, 11]
        with pytest.raises(InvalidArgumentError, match="component 0"):
            session.run(chosen, {handle: third})
        with pytest.raises(InvalidArgumentError, match="no handle of an iterator"):
            session.run(chosen, {handle: b"nope"})
        with pytest.raises(NotFoundError, match="has no iterator 'x'"):
            session.run(chosen, {handle: b"iterator\0\0x"})


def test_declarations_check_what_they_can() -> None:
    with pytest.raises(ShapeError, match="count has rank 0"):
        tf.raw_ops.TakeDataset(input_dataset=D.range(3).as_variant(), count=[1],
                               output_types=[tf.int64], output_shapes=[[]])  # fmt: skip
    with pytest.raises(ShapeError, match=r"2 shapes for 1 types"):
        tf.raw_ops.TakeDataset(input_dataset=D.range(3).as_variant(), count=1,
                               output_types=[tf.int64], output_shapes=[[], []])  # fmt: skip
    with pytest.raises(ShapeError, match=r"slices"):
        tf.raw_ops.TensorSliceDataset(components=[[1, 2], [1]], output_shapes=[[], []])
    with pytest.raises(ShapeError, match=r"a scalar has no slices"):
        tf.raw_ops.TensorSliceDataset(components=[1], output_shapes=[[]])
