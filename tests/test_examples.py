"""The examples run, in short; what they print and write is what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(example: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), *arguments],
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_character_lstm_learns_and_writes_in_other_processes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")
    said = run(
        "char_lstm.py", "--out", str(tmp_path), "--epochs", "5", "--letters", "20000",
        "--count", "60",
    )  # fmt: skip
    found = re.search(r"([\d.]+) bits a character .* alone ([\d.]+)", said)
    assert found is not None
    assert float(found[1]) < float(found[2]) - 0.3
    assert "and the same from the checkpoint" in said
    assert {"alice.pb", "alice.meta", "alice.index", "loss.png"} <= {
        file.name for file in tmp_path.iterdir()
    }
    frozen = str(tmp_path / "alice.pb")
    first, second = (
        run("char_lstm.py", "--sample", frozen, "--count", "30", "--prompt", "Alice")
        for _ in range(2)
    )
    assert first == second  # the graph has a seed
    assert first.startswith("Alice")
    assert len(first) == len("Alice") + 30 + 1


@pytest.mark.slow
def test_capsules_learn_and_are_routed_in_another_process(tmp_path: Path) -> None:
    for package in ("matplotlib", "sklearn", "tqdm"):
        pytest.importorskip(package)
    said = run("capsules.py", "--out", str(tmp_path), "--epochs", "2")
    accuracies = [float(a) for a in re.findall(r"(?:accuracy|routings:) ([\d.]+)%", said)]
    assert len(accuracies) == 4
    assert min(accuracies) > 60
    assert "a second process predicts the same" in said
    assert {"capsules.pb", "training.png", "routing.png"} <= {f.name for f in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("example", "arguments", "says"),
    [
        ("char_lstm.py", ["--letters", "10"], "--letters is 640 or more"),
        ("char_lstm.py", ["--epochs", "0"], "greater than 0"),
        ("char_lstm.py", ["--sample", "nope.pb"], "nope.pb is no graph that writes"),
        ("char_lstm.py", ["--sample", "nope.meta"], "nope.meta is no graph that writes"),
        ("char_lstm.py", ["--sample", "nope.pb", "--prompt", ""], "--prompt needs a character"),
        ("char_lstm.py", ["--prompt", "\u20ac"], "no character of --prompt is in the text"),
        ("capsules.py", ["--epochs", "0"], "1 or more"),
        ("capsules.py", ["--predict", "nope.pb"], "there is no file nope.pb"),
    ],
)
def test_examples_say_what_they_cannot_do(example: str, arguments: list[str], says: str) -> None:
    for package in ("sklearn", "tqdm"):
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), *arguments],
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr
