"""Every import contract of `pyproject.toml` is kept, and each is seen to fail on one line.

A contract that could never fail protects nothing: a module renamed, or a layer left out, makes one
silently empty. So both packages are copied, one line is added, and exactly one contract must break.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = {"ir", "ops", "engine", "checkpoint", "protos", "register"}
GROUND = {"errors", "config", "dtypes", "shapes", "device_spec", "trace", "frames", "varint"}
LINTER = "from importlinter.cli import lint_imports_command as main; main()"
VERDICT = re.compile(r"^(.+) (KEPT|BROKEN)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Breach:
    """A line that breaks exactly the contract named, when appended to a file."""

    contract: str
    file: str
    line: str


def lazily(line: str) -> str:
    return f"def _late() -> None:\n    {line}\n"


def for_types_only(line: str) -> str:
    return f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {line}\n"


BREACHES = [
    Breach(
        "graphvm stands on the runtime",
        "runtime/graphvm_runtime/engine/session.py",
        lazily("import graphvm.nest"),
    ),
    Breach(
        "graphvm enters the runtime by its public packages",
        "graphvm/session/session.py",
        lazily("import graphvm_runtime.vm.interpreter"),
    ),
    Breach(
        "only tf.train.Server starts a server",
        "graphvm/session/session.py",
        lazily("import graphvm_runtime.server"),
    ),
    Breach(
        "layers of the runtime",
        "runtime/graphvm_runtime/device_spec.py",
        for_types_only("import graphvm_runtime.dtypes"),
    ),
    # New modules that declare no layer.
    Breach("layers of the runtime", "runtime/graphvm_runtime/attic.py", ""),
    Breach("layers of graphvm", "graphvm/attic.py", ""),
    Breach(
        "layers of graphvm",
        "graphvm/strings.py",
        for_types_only("import graphvm.linalg"),
    ),
    Breach(
        "files of the graph package",
        "graphvm/graph/scope_stack.py",
        for_types_only("import graphvm.graph.node_table"),
    ),
    Breach(
        "files of the handle values",
        "runtime/graphvm_runtime/values/tensor_list.py",
        for_types_only("import graphvm_runtime.values.dataset"),
    ),
    Breach(
        "the scheduler's state does no I/O",
        "runtime/graphvm_runtime/cluster/state.py",
        lazily("import threading"),
    ),
    Breach(
        "passes never know each other",
        "runtime/graphvm_runtime/compiler/passes/fold.py",
        for_types_only("import graphvm_runtime.compiler.passes.prune"),
    ),
    Breach(
        "no circles between siblings",
        "runtime/graphvm_runtime/ir/graph.py",
        lazily("import graphvm_runtime.ir.graphdef.read"),
    ),
]


def settings() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        linter: dict[str, Any] = tomllib.load(file)["tool"]["importlinter"]
    return linter


def broken_contracts(tree: Path) -> set[str]:
    """Runs the project's contracts on a tree; fails on anything but verdicts on all of them."""
    done = subprocess.run(
        [sys.executable, "-c", LINTER, "--no-logo", "--config", str(tree / "pyproject.toml")],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "runtime")])},
        capture_output=True,
        text=True,
    )
    verdicts = dict(VERDICT.findall(done.stdout))
    assert set(verdicts) == {each["name"] for each in settings()["contracts"]}, (
        done.stdout + done.stderr
    )
    return {name for name, verdict in verdicts.items() if verdict == "BROKEN"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of both packages; tests put back what they change, so the tool's cache helps."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in ("graphvm", "runtime/graphvm_runtime"):
        shutil.copytree(
            ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return copy


def test_the_real_tree_keeps_every_contract(tree: Path) -> None:
    assert broken_contracts(tree) == set()


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: f"{breach.contract}-{breach.file}")
def test_one_forbidden_line_breaks_exactly_its_contract(tree: Path, breach: Breach) -> None:
    file = tree / breach.file
    before = file.read_bytes() if file.exists() else None
    assert (before is None) == (breach.line == ""), (
        f"{breach.file} is not where the breach expects it"
    )
    file.write_bytes((before or b"") + f"\n{breach.line}".encode())
    try:
        assert broken_contracts(tree) == {breach.contract}
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_bytes(before)


def test_every_contract_has_a_breach() -> None:
    assert {each["name"] for each in settings()["contracts"]} == {
        each.contract for each in BREACHES
    }


def test_every_package_of_the_runtime_is_public_or_protected() -> None:
    (layers,) = (
        each for each in settings()["contracts"] if each["name"] == "layers of the runtime"
    )
    packages = {name.strip(" ()") for layer in layers["layers"] for name in layer.split("|")}
    protected = {
        module.removeprefix("graphvm_runtime.")
        for each in settings()["contracts"]
        for module in each.get("protected_modules", ())
    }
    assert protected == packages - PUBLIC - GROUND


# Loaded by a name in a string: tables of lazily loaded names; ops, kernels and rules by family.
LOADED_BY_NAME = {
    "graphvm/__init__.py",
    "graphvm/nn.py",
    "graphvm/rules/__init__.py",
    "runtime/graphvm_runtime/kernels/registry.py",
    "runtime/graphvm_runtime/ops/registry.py",
}


def test_no_import_hides_from_the_contracts_in_a_string() -> None:
    """The contracts see import statements only: a name in a string could close a circle."""
    found = {
        str(file.relative_to(ROOT))
        for package in ("graphvm", "runtime/graphvm_runtime")
        for file in (ROOT / package).rglob("*.py")
        if re.search(r"import_module\(|__import__\(|spec_from_", file.read_text())
    }
    assert found == LOADED_BY_NAME
