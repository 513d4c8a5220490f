"""Names, scopes, devices, edges, look-ups, imports and shapes are as TensorFlow gives them."""

from __future__ import annotations

from typing import Any

import pytest

import graphvm as tf
from tests.graph import stories
from tests.graph.tensorflow_says import SAYS


def agrees(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, str) and theirs.startswith("raises ") and isinstance(mine, str):
        # ours may be of more kinds: a name that is missing is a KeyError and a ValueError
        return set(theirs.split()) <= set(mine.split())
    if isinstance(theirs, tuple | list) and isinstance(mine, tuple | list):
        return len(mine) == len(theirs) and all(map(agrees, mine, theirs))
    return bool(mine == theirs)


@pytest.mark.parametrize("story", stories.STORIES, ids=lambda s: s.__name__)
def test_ends_as_in_tensorflow(story: Any) -> None:
    mine, theirs = story(tf), SAYS[story.__name__]
    differ = [(a, b) for a, b in zip(mine, theirs, strict=True) if not agrees(a, b)]
    assert not differ, f"ours, TensorFlow's: {differ}"
