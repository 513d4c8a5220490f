"""Imports and runs damaged graphs: python -m tests.fuzz.run --seed 0 --count 10000 --jobs 2.

Each input is a recorded or built graph with one to three fields changed. What must hold: an error
is one of ours, nothing takes longer than two seconds, and an import needs no memory to speak of. A
failure prints its number as it comes; `--only NUMBER` does it again, and shows what was changed.
Numbers stand for inputs of this version of the fuzzer.
"""

from __future__ import annotations

import argparse
import difflib
import multiprocessing
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import graphvm as tf
from graphvm_runtime.errors import GraphvmError
from tests.fuzz.graphs import built
from tests.fuzz.mutators import mutate

GOLDENS = Path(__file__).resolve().parents[1] / "data" / "goldens"
SECONDS = 2.0
MEMORY = 4 << 30  # bytes of address space beyond what there is at the start
GROWTH = 200 << 10  # KiB that an import may add to the peak
LONGEST = 200_000  # bytes of a graph that is used
CHUNK = 500  # inputs that a worker does at a time
WIDEST = 10_000  # characters that a node may be asked to write of one number
# What a run may raise on the host's behalf; the sandbox of a run is not what is tested here.
UNSAFE = frozenset({
    "WriteFile", "SaveV2", "Save", "MergeV2Checkpoints", "ShardedFilename", "PyFunc", "ReadFile",
    "PrintV2", "Print",
})  # fmt: skip


class Hang(BaseException):
    """An input took too long."""


def corpus() -> list[bytes]:
    """Recorded graphs, the smaller ones, and built ones."""
    found = [p.read_bytes() for p in sorted(GOLDENS.rglob("graph.pb"))]
    return [*(data for data in found if len(data) <= LONGEST), *built()]


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raises Hang in the block once the time is over."""

    def ring(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak() -> int:
    """KiB of memory that the process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def feeds_of(graph: tf.Graph) -> dict[Any, Any]:
    """Zeros for the placeholders, as far as they are small."""
    feeds = {}
    for op in graph.get_operations():
        if op.type.startswith("Placeholder") and op.type != "PlaceholderWithDefault":
            (tensor,) = op.outputs
            shape = tensor.shape.as_list() if tensor.shape.dims is not None else []
            sizes = [1 if d is None else d for d in shape]
            dtype = tensor.dtype.base_dtype
            count = np.prod([float(d) for d in sizes])
            if (
                dtype.is_numpy_compatible
                and max(sizes, default=0) <= 10_000
                and len(sizes) <= 32
                and count <= 10_000
            ):
                fill: Any = b"" if dtype == tf.string else 0
                feeds[tensor] = np.full(sizes, fill, dtype.as_numpy_dtype)
    return feeds


def run(graph: tf.Graph) -> None:
    """Runs all that the graph holds, as far as it is safe."""
    operations = graph.get_operations()
    if len(operations) > 300 or any(op.type in UNSAFE for op in operations):
        return
    if any((t.shape.num_elements() or 0) > 10**7 for op in operations for t in op.outputs):
        return  # a node that runs may take the memory that it was asked for
    if any(op.type == "AsString" and _width(op) > WIDEST for op in operations):
        return  # likewise
    options = tf.RunOptions(timeout_in_ms=1500)
    with tf.Session(graph=graph) as session:
        feeds = feeds_of(graph)
        with suppress(GraphvmError):
            session.run(operations, feeds, options=options)
            return
        # one of them failed; perhaps before the last had begun
        with suppress(GraphvmError):
            session.run(operations[-1], feeds, options=tf.RunOptions(timeout_in_ms=100))


def _width(op: tf.Operation) -> int:
    return max(int(op.get_attr("width")), int(op.get_attr("precision")))


def input_of(number: int, seed: int, graphs: list[bytes]) -> tuple[tf.GraphDef, tf.GraphDef, str]:
    """One input: the graph that it starts from, what became of it, and by which changes."""
    random = Random(f"{seed}/{number}")
    before, after = tf.GraphDef(), tf.GraphDef()
    before.ParseFromString(graphs[random.randrange(len(graphs))])
    after.CopyFrom(before)
    return before, after, str(mutate(random, after))


def changes(number: int, seed: int, graphs: list[bytes]) -> str:
    """What the changes of an input did, as a difference of texts."""
    before, after, _ = input_of(number, seed, graphs)
    lines = difflib.unified_diff(
        str(before).splitlines(), str(after).splitlines(), "recorded", "changed", lineterm=""
    )
    return "\n".join(line[:300] for line in lines)


def attempt(number: int, seed: int, graphs: list[bytes]) -> tuple[str, str]:
    """One input: what came of it, and the story where that must not be."""
    _, message, done = input_of(number, seed, graphs)
    stage, before = "import", peak()
    try:
        with tf.Graph().as_default() as graph:
            with deadline(SECONDS):
                tf.import_graph_def(message, name="")
            if peak() - before > GROWTH:
                return "memory", f"{done}: an import took {(peak() - before) >> 10} MiB"
            stage = "run"
            with deadline(SECONDS):
                run(graph)
    except GraphvmError:
        return f"refused by {stage}", ""
    except Hang:
        return "hang", f"{done}: {stage} took over {SECONDS} seconds\n{traceback.format_exc()}"
    except (Exception, SystemExit) as error:
        what = f"{done}: {stage}: {type(error).__name__}: {error}"
        return "untyped", f"{what}\n{traceback.format_exc()}"
    return "ran", ""


def fuzz(seed: int, start: int, count: int) -> tuple[Counter[str], list[str]]:
    """Some inputs: how often what came of them, and the stories of failures."""
    graphs, found, stories = corpus(), Counter[str](), list[str]()
    for number in range(start, start + count):
        verdict, story = attempt(number, seed, graphs)
        found[verdict] += 1
        if story:
            stories.append(f"--- input {number} of seed {seed}: {verdict}: {story}")
    return found, stories


def limit_memory() -> None:
    """Makes an allocation beyond the limit fail, so that it is seen."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))


def prepare() -> None:
    """What every process does that runs inputs."""
    limit_memory()
    np.seterr(all="ignore")


def parallel(seed: int, start: int, count: int, jobs: int) -> tuple[Counter[str], int]:
    """Inputs on several processes, failures printed as they come.

    Returns:
        How often what came of the inputs, and the number of failures.
    """
    found, failures, begin, done = Counter[str](), 0, time.monotonic(), 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, prepare) as pool:
        end = start + count
        chunks = {
            pool.submit(fuzz, seed, at, min(CHUNK, end - at)): at
            for at in range(start, end, CHUNK)
        }  # fmt: skip
        for chunk in as_completed(chunks):
            try:
                verdicts, stories = chunk.result()
            except BrokenProcessPool:
                failures += 1
                sys.stdout.write(f"a process died; inputs from {chunks[chunk]} on are not done\n")
                break
            found += verdicts
            failures += len(stories)
            done += sum(verdicts.values())
            for story in stories:
                sys.stdout.write(story + "\n")
            if stories or done % (20 * CHUNK) < CHUNK:
                rate = done / (time.monotonic() - begin)
                sys.stdout.write(f"{done} inputs, {rate:.0f} a second: {dict(found)}\n")
                sys.stdout.flush()
    return found, failures


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", type=int, help="one input again, with what was changed")
    args = parser.parse_args()
    begin = time.monotonic()
    if args.only is not None:
        prepare()
        found, stories = fuzz(args.seed, args.only, 1)
        sys.stdout.write("\n".join([changes(args.only, args.seed, corpus()), *stories, ""]))
        failures = len(stories)
    else:
        found, failures = parallel(args.seed, args.start, args.count, args.jobs)
    took = time.monotonic() - begin
    sys.stdout.write(f"{sum(found.values())} inputs, {took:.0f} s: {dict(found)}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
