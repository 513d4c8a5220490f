"""What to say of a name that a module does not have.

`tf1_names.txt` lists the names of TensorFlow 2.21's `compat.v1`, modules marked by a slash, and the
packages that TensorFlow 1 had beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

NAMES = Path(__file__).with_name("tf1_names.txt")


def absent(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error for a name that `module`, which has `names`, does not have."""
    if name.startswith("__"):  # asked for by Python itself
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    listed = list(names)
    place = module.removeprefix("graphvm").removeprefix(".compat.v1").lstrip(".")
    if f"{place}.{name}".lstrip(".") in tensorflow_names():
        # not mistyped, so only another spelling of the same name can be what is meant
        close = [each for each in listed if _letters(each) == _letters(name)]
        what = f"{module} has no {name!r} yet; it is TensorFlow's"
        do = "dir() of the module says what is here"
    else:
        from difflib import get_close_matches  # late, for those who mistype

        close = get_close_matches(name, listed, 3, 0.75)
        what = f"{module} has no {name!r}"
        do = "TensorFlow 1 is not known to have it; dir() of the module says what is here"
    if close:
        do = f"did you mean {' or '.join(close)}?"
    return AttributeError(f"{what}\n  do  {do}")


def tensorflow_names() -> set[str]:
    """TensorFlow 1's names as written behind `tf.`, also of modules. Reads a file."""
    return {line.rstrip("/") for line in NAMES.read_text(encoding="utf-8").split()}


def _letters(name: str) -> str:
    """A name without what spellings of it differ in."""
    return name.lower().replace("_", "")
