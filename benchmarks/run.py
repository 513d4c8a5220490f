"""Runs the rows for each peer in alternating rounds and prints how many times faster GraphVM is.

Example:
    python benchmarks/run.py --peer tensorflow=/path/to/venv/bin/python --rows w1,w3 --rounds 3

Machines drift, so only figures of one round are compared: every ratio is taken inside a round,
and the median over the rounds is printed with the extremes. Without a `--peer` GraphVM runs alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMES = ("ns", "us", "ms", "s", "MiB")  # smaller is better
Figures = dict[str, tuple[str, float]]  # name of a measurement -> unit, median


def arguments() -> argparse.Namespace:
    """The command line."""
    rows = sorted((path.stem for path in HERE.glob("w*_*.py")), key=number)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peer", action="append", default=[], metavar="IMPL=PYTHON", help="graphvm or tensorflow"
    )
    parser.add_argument("--rows", default="", help=f"comma separated, of {', '.join(rows)}")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--seconds", type=float, default=600, help="limit of one row of one peer")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    parsed = parser.parse_args()
    asked = [each for each in parsed.rows.split(",") if each]
    for each in asked:
        if not any(each in names(row) for row in rows):
            parser.error(f"no row is called {each!r}; rows are {', '.join(rows)}")
    parsed.rows = [row for row in rows if not asked or not names(row).isdisjoint(asked)]
    parsed.peers = {"graphvm": sys.executable, **dict(peer.split("=", 1) for peer in parsed.peer)}
    return parsed


def positive(text: str) -> int:
    """A whole number above 0."""
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {count}")
    return count


def names(row: str) -> set[str]:
    """Of `w11_graph`: that and `w11`."""
    return {row, row.split("_")[0]}


def number(row: str) -> int:
    """Of `w11_graph`: 11."""
    return int(row.split("_")[0][1:])


def environment(impl: str, threads: int) -> dict[str, str]:
    """The same number of threads for everybody; GraphVM from this checkout."""
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BENCH_THREADS"):
        env[name] = str(threads)
    env.pop("PYTHONPATH", None)
    if impl == "graphvm":
        env["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), str(HERE.parent / "runtime")])
    return env


def run(row: str, impl: str, python: str, options: argparse.Namespace) -> Figures:
    """One row of one peer, in a process of its own; what failed is told and left out."""
    try:
        done = subprocess.run(
            [python, str(HERE / f"{row}.py"), "--impl", impl],
            env=environment(impl, options.threads),
            capture_output=True,
            text=True,
            timeout=options.seconds,
        )
    except subprocess.TimeoutExpired:
        print(f"{row} {impl}: no end after {options.seconds:g} s", file=sys.stderr)
        return {}
    if done.returncode:
        print(f"{row} {impl} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["name"]: (line["unit"], line["median"]) for line in lines}


def table(rounds: list[dict[str, Figures]], peers: list[str]) -> str:
    """One line a measurement: medians of each peer, and GraphVM's lead over each other one."""
    others = [peer for peer in peers if peer != "graphvm"]
    head = ["measurement", "unit", *peers, *(f"x {peer} (min-max)" for peer in others)]
    lines = [head, ["---"] * len(head)]
    names = {
        name: unit for each in rounds for peer in peers for name, (unit, _) in each[peer].items()
    }
    for name, unit in names.items():
        cells = [name, unit]
        for peer in peers:
            values = [each[peer][name][1] for each in rounds if name in each[peer]]
            cells.append(f"{statistics.median(values):.4g}" if values else "-")
        for peer in others:
            both = [each for each in rounds if name in each[peer] and name in each["graphvm"]]
            leads = [each["graphvm"][name][1] / each[peer][name][1] for each in both]
            if unit in TIMES:
                leads = [1 / lead for lead in leads]
            middle = (
                f"{statistics.median(leads):.2f} ({min(leads):.2f}-{max(leads):.2f})"
                if leads
                else "-"
            )
            cells.append(middle)
        lines.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> int:
    """Runs what the command line asks for; 1 if a row of GraphVM's gave no figures."""
    options = arguments()
    complete = True
    everything: list[dict[str, Figures]] = [
        {peer: {} for peer in options.peers} for _ in range(options.rounds)
    ]
    for row in options.rows:
        for index, figures in enumerate(everything):
            for impl, python in options.peers.items():
                got = run(row, impl, python, options)
                figures[impl].update(got)
                complete = complete and (bool(got) or impl != "graphvm")
                print(f"{row} round {index + 1} {impl}: {len(got)} figures", file=sys.stderr)
    print(table(everything, list(options.peers)))
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
