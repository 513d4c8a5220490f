"""Every row of the benchmarks runs and gives figures; none is judged by them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
ROWS = sorted(BENCHMARKS.glob("w*_*.py"))


def test_the_table_of_the_readme_names_every_row() -> None:
    text = (BENCHMARKS / "README.md").read_text()
    assert [row.stem for row in ROWS if f"`{row.stem}`" not in text] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rows", "w99"], "no row is called 'w99'; rows are w1_session, "),
        (["--rows", "w1,nothing"], "no row is called 'nothing'"),
        (["--rounds", "0"], "--rounds: must be 1 or more, got 0"),
        (["--threads", "-1"], "--threads: must be 1 or more, got -1"),
    ],
)
def test_a_command_line_that_would_run_nothing_is_refused(options: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), *options],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.stem)
def test_a_row_gives_figures(row: Path) -> None:
    quick = {"BENCH_SAMPLES": "1", "BENCH_SAMPLE_SECONDS": "0.001"}
    path = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, str(row), "--impl", "graphvm"],
        env={**os.environ, **quick, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines
    assert all(line["median"] > 0 for line in lines)
