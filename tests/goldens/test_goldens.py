"""Every recorded case of the op set gives what TensorFlow gave, however it is run."""

import collections
import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from graphvm_runtime import config
from tests.goldens.replay import Case, names

MACHINES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "interpreted": lambda: config.INTERPRET.set(True),
    "emitted": lambda: config.EMIT.set(True),
    "strict": lambda: config.STRICT.set(True),
    "tiers": contextlib.nullcontext,
}


# The last two are for `.ci/run` alone: the others and tests/session cover most of what they do.
_SLOW = ("strict", "tiers")


@pytest.mark.parametrize(
    "machine", [pytest.param(m, marks=pytest.mark.slow if m in _SLOW else ()) for m in MACHINES]
)
@pytest.mark.parametrize("name", names())
def test_gives_what_tensorflow_gave(name: Any, machine: Any, tmp_path: Any) -> None:
    with MACHINES[machine]():
        Case(name, tmp_path).check()


def test_every_category_of_the_op_set_is_there() -> None:
    count = collections.Counter(n.split("/")[0] for n in names())
    assert sum(count.values()) >= 579
    assert count["control_v1"] >= 27
    assert count["control_v2"] >= 31
    assert count["gradients_build"] >= 64
