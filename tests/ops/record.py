"""Records what TensorFlow gives for tables of ops: `python -m tests.ops.record PYTHON TABLE...`.

PYTHON is one that has TensorFlow 2.21; TABLE is `array` for `table_array.py`.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphvm_runtime.dtypes import DType
from graphvm_runtime.ops import lookup
from tests.ops.recorded import is_unsupported, samples_of, write
from tests.ops.rows import Row, Sample

HERE = Path(__file__).parent


def _plain(value: Any) -> Any:
    if isinstance(value, DType):
        return ("dtype", value.enum)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _item(row: Row, sample: Sample) -> dict[str, Any]:
    names = [arg.name for arg in lookup(row.op).inputs]
    return {
        "op": row.op,
        "inputs": list(zip(names, sample.inputs, strict=True)),
        "attrs": {k: _plain(v) for k, v in sample.attrs.items()},
    }


def record(python: str, name: str) -> None:
    """Records one table."""
    table = import_module(f"tests.ops.table_{name}")
    samples = {key: _item(row, sample) for row, key, sample in samples_of(table)}
    programs = HERE / f"programs_{name}.py"
    work = {"samples": samples, "programs": [str(programs)] if programs.exists() else []}
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "work"), Path(folder, "found")
        source.write_bytes(pickle.dumps(work))
        runner = str(HERE / "tensorflow_runs.py")
        subprocess.run([python, runner, str(source), str(target)], check=True)
        found = pickle.loads(target.read_bytes())
    for key, values in found["programs"].items():
        if isinstance(values, str):
            raise SystemExit(f"the program {key} fails on TensorFlow: {values}")
    write(name, found)
    failed = {k: v["message"] for k, v in found["samples"].items() if "error" in v}
    unsupported = {k for k, message in failed.items() if is_unsupported(message)}
    for key, message in failed.items():
        if key not in unsupported:
            print(f"{key}: {_reason(message)}")  # noqa: T201
    print(f"{name}: {len(samples)} samples, {len(failed) - len(unsupported)} refused, "  # noqa: T201
          f"{len(unsupported)} without a kernel")  # fmt: skip


def _reason(message: str) -> str:
    """The line of TensorFlow's message that says what is wrong."""
    before = message.partition("[[{{node")[0].strip().splitlines() or [message]
    return before[-1].strip()[:160]


if __name__ == "__main__":
    for each in sys.argv[2:]:
        record(sys.argv[1], each)
