"""Compile `protos/graphvm/*.proto` into `runtime/graphvm_runtime/protos`.

Run from anywhere: `python protos/generate.py`. Needs the dependency group `protos`. The output is
checked in, and `tests/protos/test_generated.py` compares it with what this script makes.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "protos" / "graphvm"
PACKAGE = "graphvm_runtime/protos"


def generate(out: Path) -> list[Path]:
    """Write messages, services and their type stubs below `out`, the source root.

    Returns:
        The files written, sorted.
    """
    from grpc_tools import _proto, protoc

    # The mypy plugin is a program installed beside this interpreter, which need not be on PATH.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    well_known = str(Path(next(iter(_proto.__path__))).resolve())
    include = [f"-I{PACKAGE}={SOURCES}", f"-I{well_known}"]
    sources = sorted(SOURCES.glob("*.proto"))
    services = [p for p in sources if re.search(r"^service\s", p.read_text("utf-8"), re.MULTILINE)]
    runs = [(sources, [f"--python_out={out}", f"--mypy_out=quiet:{out}"])]
    if services:
        runs.append((services, [f"--grpc_python_out={out}", f"--mypy_grpc_out=quiet:{out}"]))
    for files, outputs in runs:
        names = [f"{PACKAGE}/{p.name}" for p in files]
        if protoc.main(["protoc", *include, *outputs, *names]) != 0:
            raise SystemExit("protoc failed; its message is above")
    return sorted((out / PACKAGE).glob("*_pb2*.py*"))


def main() -> None:
    """Replace the generated files by fresh ones."""
    target = ROOT / "runtime" / PACKAGE
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*_pb2*.py*"):
        old.unlink()
    generate(target.parents[1])


if __name__ == "__main__":
    main()
