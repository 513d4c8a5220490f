"""Datasets as users build them: structures, names, and what is refused."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import (
    DTypeError,
    GraphError,
    GraphvmError,
    OutOfRangeError,
    ShapeError,
)

D = tf.data.Dataset
Pair = collections.namedtuple("Pair", ["left", "right"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def ops() -> list[tuple[str, str]]:
    return [(op.name, op.type) for op in tf.get_default_graph().get_operations()]


def test_structures_go_through_functions_and_batches() -> None:
    rows = D.from_tensor_slices(
        {"a": np.arange(4), "b": (np.ones((4, 2), np.float32), list("xyzw"))}
    )
    scale = tf.constant(3, tf.int64)
    batches = rows.map(lambda r: Pair(r["a"] * scale, {"text": r["b"][1]})).batch(3)
    assert batches.output_types == Pair(tf.int64, {"text": tf.string})
    assert batches.output_shapes.left.as_list() == [None]
    assert batches.output_classes == Pair(tf.Tensor, {"text": tf.Tensor})
    assert tf.data.get_output_types(batches) is batches.output_types
    assert tf.data.get_output_shapes(batches) is batches.output_shapes
    iterator = tf.data.make_one_shot_iterator(batches)
    assert tf.data.get_output_classes(iterator) == batches.output_classes
    following = iterator.get_next()
    assert isinstance(following, Pair)
    with tf.Session() as session:
        first = session.run(following)
        assert first.left.tolist() == [0, 3, 6]
        assert first.right["text"].tolist() == [b"x", b"y", b"z"]
        assert session.run(following).left.tolist() == [9]


def test_nodes_are_named_as_in_tensorflow() -> None:
    numbers = D.from_tensor_slices(np.zeros((4, 2))).batch(3).take(1)
    iterator = tf.data.make_initializable_iterator(numbers)
    iterator.get_next()
    assert iterator.initializer.name == "MakeIterator"
    assert ops() == [
        ("normalize_element/component_0", "Const"), ("TensorSliceDataset", "TensorSliceDataset"),
        ("batch_size", "Const"), ("drop_remainder", "Const"),
        ("BatchDatasetV2", "BatchDatasetV2"), ("count", "Const"), ("TakeDataset", "TakeDataset"),
        ("IteratorV2", "IteratorV2"), ("MakeIterator", "MakeIterator"),
        ("IteratorToStringHandle", "IteratorToStringHandle"),
        ("IteratorGetNext", "IteratorGetNext"),
    ]  # fmt: skip


def test_a_batch_that_is_whole_has_a_known_size() -> None:
    fed = tf.placeholder(tf.int64, [])
    shapes = [
        d.output_shapes.as_list()
        for d in (
            D.range(7).batch(3), D.range(7).batch(3, drop_remainder=True),
            D.range(7).batch(fed, drop_remainder=True), D.range(7).padded_batch(2, [], None, True),
        )
    ]  # fmt: skip
    assert shapes == [[None], [3], [None], [2]]


def test_sizes_may_be_fed() -> None:
    size = tf.placeholder(tf.int32, [])
    iterator = D.range(4).batch(size).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {size: 3})
        assert session.run(following).tolist() == [0, 1, 2]


def test_one_iterator_may_go_through_several_datasets() -> None:
    iterator = tf.data.Iterator.from_structure((tf.int64, {"x": tf.float32}), ([], {"x": [None]}))
    following = iterator.get_next()
    parts = [D.zip((D.range(n, n + 2), {"x": D.from_tensors([1.0] * n).repeat()})) for n in (1, 5)]
    begins = [iterator.make_initializer(part) for part in parts]
    assert begins[0].name == "make_initializer"
    with tf.Session() as session:
        for n, begin in zip((1, 5), begins, strict=True):
            session.run(begin)
            number, rest = session.run(following)
            assert (number, len(rest["x"])) == (n, n)
    with pytest.raises(DTypeError, match="elements of"):
        iterator.make_initializer(D.range(3))
    narrow = tf.data.Iterator.from_structure(tf.int64, [2])
    for other in (D.range(9).batch(2), D.range(9)):
        with pytest.raises(DTypeError, match="of the shape"):
            narrow.make_initializer(other)
    with pytest.raises(GraphError, match="no initializer of its own"):
        _ = iterator.initializer
    unknown = tf.data.Iterator.from_structure(tf.int64)
    assert unknown.output_shapes.rank is None
    unknown.make_initializer(D.range(9).batch(2))


def test_what_has_an_order_keeps_it() -> None:
    numbers = D.from_tensor_slices(["a", "b"]).enumerate(5).apply(lambda d: d.repeat(1))
    following = numbers.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(2)] == [(5, b"a"), (6, b"b")]


def test_a_one_shot_iterator_takes_constants_along() -> None:
    two = tf.constant(2, tf.int64)
    following = D.range(3).map(lambda x: x * two).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(3)] == [0, 2, 4]
    fed = tf.placeholder(tf.int64, [])
    with pytest.raises(GraphError, match="it is fed"):
        D.range(fed).make_one_shot_iterator()
    v = tf.get_variable("v", initializer=np.int64(1))
    with pytest.raises(GraphError, match="'v' cannot be copied into a function: it has state"):
        D.range(3).map(lambda x: x + v).make_one_shot_iterator()
    with pytest.raises(GraphError, match=r"has state(.|\n)*use make_initializable_iterator"):
        D.range(tf.cast(tf.random.uniform([]), tf.int64)).make_one_shot_iterator()


def test_a_one_shot_iterator_takes_long_chains_along() -> None:
    count = tf.constant(2, tf.int64)
    for _ in range(1500):
        count = count + 1 - 1
    following = D.range(count).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(2)] == [0, 1]


def test_a_graph_with_datasets_goes_through_a_file() -> None:
    following = D.range(5).filter(lambda x: x > 2).map(lambda x: (x, -x)).make_one_shot_iterator()
    names = [t.name for t in following.get_next()]
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(message.SerializeToString()), name="")
        assert session.run(names) == [3, -3]
        assert session.run(names) == [4, -4]
        with pytest.raises(OutOfRangeError):
            session.run(names)


def test_a_step_may_train_on_what_an_iterator_gives() -> None:
    xs = np.array([[1.0], [2.0]], np.float32)
    x, y = D.from_tensor_slices((xs, 3 * xs)).repeat().batch(2).make_one_shot_iterator().get_next()
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(40):
            session.run(step)
        assert session.run(w)[0, 0] == pytest.approx(3.0, abs=1e-3)


def test_what_is_no_dataset_is_refused() -> None:
    numbers = D.range(3)
    with pytest.raises(TypeError, match="one to three numbers"):
        D.range()
    with pytest.raises(TypeError, match="zip takes datasets in tuples"):
        D.zip([numbers])
    with pytest.raises(TypeError, match="and not both"):
        D.zip(numbers, datasets=numbers)
    with pytest.raises(TypeError, match="gives a dataset"):
        numbers.flat_map(lambda x: x)
    with pytest.raises(TypeError, match="no dataset"):
        numbers.apply(lambda d: 3)  # type: ignore[arg-type, return-value]  # what is tested
    with pytest.raises(DTypeError, match="no one dataset"):
        numbers.concatenate(D.from_tensors(1.0))
    for predicate in (lambda x: 3, lambda x: tf.constant([True]), lambda x: (x > 1, x > 2)):
        with pytest.raises(GraphError, match="a predicate gives one bool"):
            numbers.filter(predicate)
    with pytest.raises(GraphError, match="gives None"):
        numbers.map(lambda x: None)
    with pytest.raises(ShapeError, match="a scalar has no slices"):
        D.from_tensor_slices(3)
    with pytest.raises(GraphError, match="unknown rank"):
        D.from_tensors(tf.placeholder(tf.int32)).padded_batch(2)
    with pytest.raises(GraphError, match="1 values to fill up 2"):
        D.from_tensors((1, 2)).padded_batch(2, padding_values=(1,))
    with pytest.raises(GraphError, match="are no shapes for"):
        tf.data.Iterator(tf.placeholder(tf.resource), None, (tf.int32,), ([], []))
    assert repr(numbers) == "<Dataset of i64, ()>"


def test_loops_and_branches_take_elements() -> None:
    numbers = D.range(1, 100).make_initializable_iterator()
    taken = tf.constant(0, tf.int64)
    _, total = tf.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s + numbers.get_next()), (0, taken)
    )
    asked = tf.placeholder(tf.bool, [])
    one = tf.cond(asked, lambda: numbers.get_next(), lambda: tf.constant(-1, tf.int64))
    with tf.Session() as session:
        session.run(numbers.initializer)
        assert [session.run(total) for _ in range(2)] == [15, 40]
        assert [session.run(one, {asked: yes}) for yes in (True, False, True)] == [11, -1, 12]


def test_a_loop_that_takes_elements_has_a_derivative() -> None:
    numbers = D.from_tensor_slices(np.arange(1, 50, dtype=np.float32)).make_initializable_iterator()
    w = tf.placeholder(tf.float32, [])
    _, y = tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s * w + numbers.get_next()), (0, tf.constant(1.0))
    )
    (slope,) = tf.gradients(y, w)
    with tf.Session() as session:
        for _ in range(3):  # through all tiers
            session.run(numbers.initializer)
            assert session.run([y, slope], {w: 2.0}) == [19.0, 18.0]


def test_threads_share_an_iterator() -> None:
    numbers = D.range(400).map(lambda x: x * 2).make_initializable_iterator()
    following = numbers.get_next()
    seen: list[int] = []
    with tf.Session() as session:
        session.run(numbers.initializer)

        def work() -> None:
            while True:
                try:
                    seen.append(int(session.run(following)))
                except OutOfRangeError:
                    return

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == list(range(0, 800, 2))


def test_a_graph_of_the_old_control_flow_keeps_the_functions_of_datasets() -> None:
    numbers = D.range(5).map(lambda x: tf.cond(x > 2, lambda: x * 10, lambda: -x))
    n = numbers.make_one_shot_iterator().get_next()
    y = tf.cond(n > 5, lambda: n + 1, lambda: n - 1)
    message = tf.get_default_graph().as_graph_def(control_flow="v1")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        assert [session.run(y.name) for _ in range(5)] == [-1, -2, -3, 31, 41]


def one_shot(dataset: Any) -> Any:
    return dataset.make_one_shot_iterator()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: D.from_tensor_slices(1),
        lambda: D.range(3).filter(lambda x: x),
        lambda: D.range(3).map(lambda x: None),
        lambda: D.range(3).concatenate(D.from_tensors(1.0)),
        lambda: D.from_tensors(tf.placeholder(tf.int64)).padded_batch(2),
        lambda: D.range(3).padded_batch(2, [], (1, 2)),
        lambda: D.zip((D.range(3), D.range(3))).padded_batch(2, ([],)),
        lambda: D.range(3).make_one_shot_iterator().initializer,
        lambda: one_shot(D.from_tensors(tf.placeholder(tf.int64))),
        lambda: one_shot(D.from_tensors(tf.get_variable("v", initializer=1))),
        lambda: tf.data.Iterator.from_structure((tf.int64, tf.int64), ([],)),
        lambda: tf.data.Iterator.from_structure(tf.int64, [2]).make_initializer(D.range(3)),
        lambda: tf.data.Iterator.from_structure(tf.int32).make_initializer(D.range(3)),
    ],
)
def test_an_error_names_the_line_of_the_user(wrong: Callable[[], Any]) -> None:
    with tf.Graph().as_default(), pytest.raises(GraphvmError) as caught:
        wrong()
    assert "test_data.py" in caught.value.made
