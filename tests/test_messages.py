"""What the errors of building say: all have one form, and lead to the user's own line."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.errors import GraphvmError

ROOT = Path(__file__).resolve().parent.parent
# where the form is written
FORMS = {"graphvm/graph/absent.py", "graphvm_runtime/errors.py", "graphvm_runtime/ir/lints.py"}


def files() -> Iterator[tuple[str, ast.Module]]:
    for top in (ROOT, ROOT / "runtime"):
        for file in sorted((top / ("graphvm" if top == ROOT else "graphvm_runtime")).rglob("*.py")):
            yield str(file.relative_to(top)), ast.parse(file.read_text())


def test_no_message_spells_the_form_out() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in files()
        if name not in FORMS
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and any(f"{label}  " in node.value for label in ("\n  node", "\n  made", "\n  do"))
    ]  # fmt: skip
    assert not found


def cell() -> Any:
    return tf.nn.rnn_cell.GRUCell(2)


def unknown(*shape: int | None) -> Any:
    return tf.placeholder(tf.float32, shape)


def unrolled(inputs: Any, **more: Any) -> Any:
    return tf.nn.static_rnn(cell(), inputs, **{"dtype": tf.float32, **more})


def looped(inputs: Any, **more: Any) -> Any:
    return tf.nn.dynamic_rnn(cell(), inputs, **{"dtype": tf.float32, **more})


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], bool]] = {
    # whether it says what to do
    "no cell": (lambda: tf.nn.static_rnn(3, [tf.zeros([1, 2])]), TypeError, False),
    "width": (lambda: cell()(unknown(1, None), tf.zeros([1, 2])), ValueError, True),
    "first state": (lambda: looped(tf.zeros([1, 2, 3]), dtype=None), ValueError, True),
    "times": (lambda: looped((tf.zeros([2, 1, 3]), tf.zeros([2, 4, 3]))), ValueError, False),
    "sizes": (lambda: looped(unknown(1, 2, None)), ValueError, True),
    "sizes of steps": (lambda: unrolled([unknown(1, None)]), ValueError, True),
    "rank": (lambda: looped(tf.zeros([3])), ValueError, False),
    "lengths": (
        lambda: looped(tf.zeros([2, 1, 3]), sequence_length=[1]), ValueError, False,
    ),
    "state": (
        lambda: tf.nn.rnn_cell.MultiRNNCell(
            [tf.nn.rnn_cell.LSTMCell(2)], state_is_tuple=False
        ),
        ValueError, True,
    ),
    "dropout": (lambda: tf.nn.dropout([1, 2], rate=0.5), ValueError, False),
    "map": (
        lambda: tf.map_fn(lambda x: (x, x), tf.zeros([2]), dtype=tf.float32), ValueError, True,
    ),
    "branches": (
        lambda: tf.cond(unknown() > 0.0, lambda: 1.0, lambda: (1.0, 2.0)), ValueError, True,
    ),
    "lengths of branches": (
        lambda: tf.cond(unknown() > 0.0, lambda: (1.0,), lambda: (1.0, 2.0)), ValueError, True,
    ),
    "loop": (lambda: tf.while_loop(lambda i, s: i < 3, lambda i, s: i, (0, 1)), ValueError, True),
    "fillers": (
        lambda: tf.data.Dataset.range(3).map(lambda x: (x, x)).padded_batch(2, ([], []), (1,)),
        ValueError, False,
    ),
    "types of elements": (
        lambda: tf.data.Iterator.from_structure(tf.int64).make_initializer(
            tf.data.Dataset.from_tensors(1.0)
        ),
        TypeError, False,
    ),
    "shapes of elements": (
        lambda: tf.data.Iterator.from_structure(tf.float32, [3]).make_initializer(
            tf.data.Dataset.from_tensors(1.0)
        ),
        TypeError, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_leads_to_the_line_of_the_user(what: str) -> None:
    make, kind, advises = ERRORS[what]
    with tf.Graph().as_default(), pytest.raises(kind) as caught:
        make()
    error = caught.value
    assert isinstance(error, GraphvmError)
    assert error.made.startswith(f"{__file__}:")
    assert bool(error.do) == advises
