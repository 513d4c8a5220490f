"""Nested structures are walked, rebuilt and compared as TensorFlow does."""

import collections
from typing import Any

import pytest

from graphvm import nest

Point = collections.namedtuple("Point", "x y")

STRUCTURES: list[tuple[Any, list[Any]]] = [
    (1, [1]),
    ("text", ["text"]),
    ([], []),
    ([1, (2, [3])], [1, 2, 3]),
    ({"b": 1, "a": [2, 3]}, [2, 3, 1]),
    (Point(1, {"k": 2}), [1, 2]),
    (collections.OrderedDict([("b", 1), ("a", 2)]), [2, 1]),
    (None, [None]),
]


@pytest.mark.parametrize(("structure", "leaves"), STRUCTURES)
def test_flatten_and_pack_are_inverse(structure: Any, leaves: list[Any]) -> None:
    assert nest.flatten(structure) == leaves
    again = nest.pack_sequence_as(structure, leaves)
    assert again == structure
    assert type(again) is type(structure)
    if isinstance(structure, dict):
        assert list(again) == list(structure)


def test_packing_wants_as_many_leaves() -> None:
    with pytest.raises(ValueError, match="has 2 leaves, but 3 are given"):
        nest.pack_sequence_as([1, 2], [1, 2, 3])


def test_map_structure_goes_over_matching_leaves() -> None:
    assert nest.map_structure(lambda a, b: a + b, {"k": [1, 2]}, {"k": [10, 20]}) == {"k": [11, 22]}
    assert nest.map_structure(str, Point(1, 2)) == Point("1", "2")
    with pytest.raises(ValueError, match="at least one"):
        nest.map_structure(str)


DIFFERENT: list[tuple[Any, Any, type[Exception], str]] = [
    ([1], 1, ValueError, "other a leaf"),
    ([1], [1, 2], ValueError, "one has 1 elements, the other 2"),
    ([1], (1,), TypeError, "a list and a tuple"),
    ({"a": 1}, {"b": 1}, ValueError, "keys differ"),
    ({"a": 1}, [1], TypeError, "a dict and a list"),
    ([[1], 2], [1, [2]], ValueError, "other a leaf"),
    (Point(1, 2), (1, 2), TypeError, "a Point and a tuple"),
]


@pytest.mark.parametrize(("a", "b", "error", "says"), DIFFERENT)
def test_different_structures_are_told_apart(
    a: Any, b: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        nest.assert_same_structure(a, b)


def test_types_may_be_let_go() -> None:
    nest.assert_same_structure([1, (2,)], (1, [2]), check_types=False)
    twin = type("Point", (Point,), {})  # of another module, say
    nest.assert_same_structure(Point(1, 2), twin(1, 2))


def test_parts_stand_where_leaves_do() -> None:
    assert nest.flatten_up_to([0, {"k": 0}], [[1, 2], {"k": (3,)}]) == [[1, 2], (3,)]
    assert nest.flatten_up_to(0, [1, 2]) == [[1, 2]]
    for shallow, structure in [([0, 0], [1]), ([0], 1), ({"a": 0}, {"b": 0}), ({"a": 0}, [0])]:
        with pytest.raises(ValueError, match=r"wanted|keys"):
            nest.flatten_up_to(shallow, structure)
