"""What the programs of `programs_FAMILY.py` share; TensorFlow's Python loads it too."""

from __future__ import annotations

from typing import Any


def outcomes(tf: Any, graph: Any, *runs: tuple[Any, Any] | Any) -> list[Any]:
    """What each run gives in one session: arrays, or the class of the error."""
    found: list[Any] = []
    with tf.Session(graph=graph) as session:
        for fetch in runs:
            try:
                values = session.run(fetch)
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
            else:
                found.extend(values if isinstance(values, list | tuple) else [values])
    return ["done" if v is None else v for v in found]


def made(tf: Any, op: str, **arguments: Any) -> Any:
    """What the op of that name gives."""
    return getattr(tf.raw_ops, op)(**arguments)
