"""Nested structures: lists, tuples, named tuples and dictionaries of anything.

Dictionaries are walked in the order of their sorted keys, so that equal dictionaries give equal
orders. Everything else, strings and arrays among it, is a leaf.

Source: `tf.nest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphvm_runtime.errors import clipped

__all__ = [
    "assert_same_structure",
    "flatten",
    "flatten_up_to",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]


def is_nested(value: object) -> bool:
    """Whether `value` is a structure rather than a leaf.

    Args:
        value: anything.

    Returns:
        True for lists, tuples (named ones too) and mappings.
    """
    return isinstance(value, list | tuple | Mapping)


def flatten(structure: Any) -> list[Any]:
    """All leaves of a structure, from left to right.

    Args:
        structure: a structure, or one leaf.

    Returns:
        The leaves; `[structure]` where it is a leaf itself.

    Raises:
        TypeError: keys of a dictionary cannot be sorted.

    Source: `tf.nest.flatten`.
    """
    out: list[Any] = []
    _collect(structure, out)
    return out


def _collect(structure: Any, out: list[Any]) -> None:
    if is_nested(structure):
        for child in _children(structure):
            _collect(child, out)
    else:
        out.append(structure)


def flatten_up_to(shallow: Any, structure: Any) -> list[Any]:
    """The parts of a structure that stand where another one has leaves.

    Args:
        shallow: its leaves say how deep to go.
        structure: of the same form down to there, anything below.

    Returns:
        A part for each leaf of `shallow`, from left to right.

    Raises:
        ValueError: the forms differ above the leaves of `shallow`.
    """
    if not is_nested(shallow):
        return [structure]
    outer = _children(shallow)
    if not is_nested(structure) or isinstance(shallow, Mapping) != isinstance(structure, Mapping):
        raise ValueError(f"a leaf stands where a structure is wanted: {clipped(structure)}")
    if isinstance(shallow, Mapping) and set(shallow) != set(structure):
        raise ValueError(
            f"the keys differ: {clipped(sorted(shallow))}, {clipped(sorted(structure))}"
        )
    inner = _children(structure)
    if len(outer) != len(inner):
        raise ValueError(f"{len(inner)} elements stand where {len(outer)} are wanted")
    return [part for a, b in zip(outer, inner, strict=True) for part in flatten_up_to(a, b)]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """A structure of the same form with other leaves.

    Args:
        structure: gives the form; a leaf stands for a sequence of one.
        flat_sequence: the new leaves, in the order of `flatten`.

    Returns:
        The leaves in the types of `structure`: named tuples and dictionaries keep theirs.

    Raises:
        ValueError: there are more or fewer leaves than `structure` has.

    Source: `tf.nest.pack_sequence_as`.
    """
    flat = list(flat_sequence)
    count = len(flatten(structure))
    if count != len(flat):
        raise ValueError(
            f"the structure has {count} leaves, but {len(flat)} are given: {clipped(structure)}"
        )
    leaves = iter(flat)
    return _packed(structure, leaves)


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    return _rebuilt(structure, [_packed(child, leaves) for child in _children(structure)])


def map_structure(func: Callable[..., Any], *structures: Any, check_types: bool = True) -> Any:
    """Applies a function to matching leaves.

    Args:
        func: takes one leaf of each structure.
        structures: one or more of the same form.
        check_types: whether a list may stand where another structure has a tuple.

    Returns:
        The results in the form of the first structure.

    Raises:
        ValueError: no structure, or their forms differ.
        TypeError: types of sequences differ and `check_types` is set.

    Source: `tf.nest.map_structure`.
    """
    if not structures:
        raise ValueError("map_structure takes at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types=check_types)
    results = [func(*leaves) for leaves in zip(*map(flatten, structures), strict=True)]
    return pack_sequence_as(structures[0], results)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Checks that two structures have the same form.

    Args:
        nest1: a structure.
        nest2: another.
        check_types: whether sequences must be of the same type; named tuples of equal names and
            fields count as equal, and so do all dictionaries.

    Raises:
        ValueError: lengths, keys or nesting differ.
        TypeError: types of sequences differ and `check_types` is set.

    Source: `tf.nest.assert_same_structure`.
    """
    difference = _difference(nest1, nest2, check_types)
    if difference is not None:
        kind, what = difference
        raise kind(f"{what}\n  first   {clipped(nest1)}\n  second  {clipped(nest2)}")


def _difference(a: Any, b: Any, check_types: bool) -> tuple[type[Exception], str] | None:
    if not is_nested(a) or not is_nested(b):
        if is_nested(a) == is_nested(b):
            return None
        return ValueError, f"one is a structure, the other a leaf: {clipped(a)} and {clipped(b)}"
    if isinstance(a, Mapping) != isinstance(b, Mapping):
        return TypeError, f"a {type(a).__name__} and a {type(b).__name__}"
    if isinstance(a, Mapping):
        if set(a) != set(b):
            return ValueError, f"the keys differ: {clipped(sorted(a))} and {clipped(sorted(b))}"
    else:
        if check_types and not _same_type(a, b):
            return TypeError, f"a {type(a).__name__} and a {type(b).__name__}"
        if len(a) != len(b):
            return ValueError, f"one has {len(a)} elements, the other {len(b)}"
    for x, y in zip(_children(a), _children(b), strict=True):
        found = _difference(x, y, check_types)
        if found is not None:
            return found
    return None


def _same_type(a: Any, b: Any) -> bool:
    if type(a) is type(b):
        return True
    fields_a, fields_b = getattr(a, "_fields", None), getattr(b, "_fields", None)
    if fields_a is not None or fields_b is not None:
        return fields_a == fields_b and type(a).__name__ == type(b).__name__
    return isinstance(a, list) and isinstance(b, list)


def _children(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def _rebuilt(structure: Any, children: list[Any]) -> Any:
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), children, strict=True))
        # the order of insertion is the user's, only the walk is sorted
        pairs = [(key, by_key[key]) for key in structure]
        kind: Any = type(structure)
        if hasattr(structure, "default_factory"):
            return kind(structure.default_factory, pairs)
        return kind(pairs)
    if hasattr(structure, "_fields"):
        return type(structure)(*children)
    if isinstance(structure, tuple):
        return tuple(children)
    return children
