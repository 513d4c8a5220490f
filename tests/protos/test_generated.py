"""The checked-in protocol buffer modules are what `protos/generate.py` makes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "runtime" / "graphvm_runtime" / "protos"

# A process of its own: the compiler loads a protobuf library that knows nothing of ours.
_RUN = "import sys; sys.path.insert(0, 'protos'); import generate; from pathlib import Path; "


@pytest.mark.skipif(not importlib.util.find_spec("grpc_tools"), reason="needs grpcio-tools")
def test_generated_modules_are_up_to_date(tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"{_RUN} generate.generate(Path({str(tmp_path)!r}))"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    fresh = {p.name: p.read_text() for p in (tmp_path / "graphvm_runtime/protos").iterdir()}
    kept = {p.name: p.read_text() for p in GENERATED.glob("*_pb2*.py*")}
    assert fresh.keys() == kept.keys()
    stale = [name for name, text in fresh.items() if kept[name] != text]
    assert not stale, "run protos/generate.py"
