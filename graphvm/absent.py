"""What to say of a name that a module does not have."""

from __future__ import annotations

from collections.abc import Iterable


def absent(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error for a name that `module`, which has `names`, does not have."""
    if name.startswith("__"):  # asked for by Python itself
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    from difflib import get_close_matches  # late, for those who mistype

    close = get_close_matches(name, list(names), 3, 0.75)
    do = (
        f"did you mean {' or '.join(close)}?"
        if close
        else "if TensorFlow 1 has it, it is not here yet; dir() of the module says what is"
    )
    return AttributeError(f"{module} has no {name!r}\n  do  {do}")
