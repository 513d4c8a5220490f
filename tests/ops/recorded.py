"""What TensorFlow 2.21 gave for the samples and programs of a table: `tests/data/ops/*.npz`.

`python -m tests.ops.record TENSORFLOW_PYTHON TABLE...` writes the files anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.ops.rows import Row, Sample

DATA = Path(__file__).parent.parent / "data" / "ops"
_BITS = {"bfloat16": (ml_dtypes.bfloat16, np.uint16)}


@dataclass(frozen=True)
class Recorded:
    """What TensorFlow gave for one sample.

    Attributes:
        outputs: its outputs; None where it failed.
        error: the class of its error.
        known: static shapes where all inputs are constants, or the class of an error.
        ranks: static shapes where only ranks of inputs are known, or the class of an error.
    """

    outputs: list[Any] | None
    error: str
    known: Any
    ranks: Any

    @property
    def is_unsupported(self) -> bool:
        """Whether TensorFlow has no such kernel on a CPU."""
        return self.error == "no kernel"


def key_of(row: Row, dtype_name: str, number: int) -> str:
    """Name of a sample in the file of its table."""
    return f"{row.op}/{dtype_name}/{number}"


def samples_of(table: Any) -> Iterator[tuple[Row, str, Sample]]:
    """The recorded rows of a table: each sample with its name."""
    for row in table.ROWS:
        if row.is_recorded:
            for dtype in row.element_types():
                for number, sample in enumerate(row.samples(dtype)):
                    yield row, key_of(row, dtype.name, number), sample


def is_unsupported(message: str) -> bool:
    """Whether TensorFlow's message says that it has no kernel of these types on a CPU."""
    return "No OpKernel was registered" in message or "No registered" in message


def write(name: str, found: dict[str, Any]) -> None:
    """Writes what `tensorflow_runs` gave for a table."""
    arrays: dict[str, Any] = {}

    def packed(value: Any) -> Any:
        if value.dtype.kind in "OSU":
            flat = [v.decode("latin-1") if isinstance(v, bytes) else v for v in value.ravel()]
            return {"strings": flat, "shape": list(value.shape)}
        at = str(len(arrays))
        bits = _BITS.get(value.dtype.name)
        arrays[at] = value if bits is None else value.view(bits[1])
        return {"at": at, "dtype": value.dtype.name}

    index: dict[str, Any] = {"samples": {}, "programs": {}}
    for key, item in found["samples"].items():
        error = item.get("error", "")
        message = item.get("message", "")
        if is_unsupported(message):
            error = "no kernel"
        outputs = item.get("outputs")
        index["samples"][key] = [
            None if outputs is None else [packed(v) for v in outputs],
            error, item["known"], item["ranks"],
        ]  # fmt: skip
    for key, values in found["programs"].items():
        index["programs"][key] = [packed(v) for v in values]
    DATA.mkdir(exist_ok=True)
    text = np.frombuffer(json.dumps(index, sort_keys=True).encode(), np.uint8)
    np.savez_compressed(DATA / f"{name}.npz", index=text, **arrays)


@cache
def read(name: str) -> tuple[dict[str, Recorded], dict[str, list[Any]]]:
    """Samples and programs of a table, by their names; empty where nothing is recorded."""
    file = DATA / f"{name}.npz"
    if not file.exists():
        return {}, {}
    with np.load(file) as arrays:
        index = json.loads(bytes(arrays["index"]))

        def unpacked(value: Any) -> Any:
            if "strings" in value:
                flat = np.empty(len(value["strings"]), object)
                flat[:] = [s.encode("latin-1") for s in value["strings"]]
                return flat.reshape(value["shape"])
            bits = _BITS.get(value["dtype"])
            return arrays[value["at"]] if bits is None else arrays[value["at"]].view(bits[0])

        samples = {
            key: Recorded(
                None if outputs is None else [unpacked(v) for v in outputs], error, known, ranks
            )
            for key, (outputs, error, known, ranks) in index["samples"].items()
        }
        programs = {k: [unpacked(v) for v in values] for k, values in index["programs"].items()}
    return samples, programs
