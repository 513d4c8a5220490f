"""Timing and set-up shared by the rows; each row prints one JSON line a measurement."""

import argparse
import gc
import json
import os
import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

IMPLS = ("graphvm", "tensorflow")
SAMPLES = int(os.environ.get("BENCH_SAMPLES", "7"))
SAMPLE_SECONDS = float(os.environ.get("BENCH_SAMPLE_SECONDS", "0.12"))
THREADS = int(os.environ.get("BENCH_THREADS", "2"))
SCALE = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}


def main(row: Callable[[str], None], doc: str | None) -> None:
    """Runs `row` for the implementation that the command line names."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--impl", choices=IMPLS, required=True)
    row(parser.parse_args().impl)


def graph_api(impl: str) -> ModuleType:
    """The module with TF1's names; TensorFlow with its graph mode on and its log off."""
    if impl == "graphvm":
        import graphvm

        return graphvm
    import tensorflow

    api: ModuleType = tensorflow.compat.v1
    api.disable_eager_execution()
    api.logging.set_verbosity(api.logging.ERROR)
    return api


def session(tf: Any, impl: str, target: str = "", rewrite: bool = True) -> Any:
    """A session of `THREADS` threads; without `rewrite`, TensorFlow keeps the graph as built."""
    if impl == "graphvm":
        return tf.Session(target)
    config = tf.ConfigProto(
        intra_op_parallelism_threads=THREADS, inter_op_parallelism_threads=THREADS
    )
    config.graph_options.rewrite_options.disable_meta_optimizer = not rewrite
    return tf.Session(target, config=config)


def report(name: str, unit: str, samples: list[float]) -> None:
    """Prints one measurement; a unit that is not of time is a rate or a size."""
    line = {"name": name, "unit": unit, "median": statistics.median(samples), "samples": samples}
    print(json.dumps(line), flush=True)


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes, with the garbage of earlier ones out of the way."""
    gc.collect()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def timed(name: str, unit: str, action: Callable[[], object], work: float = 1.0) -> None:
    """Times `action` warm, with the collector off, and reports it.

    Args:
        name: of the measurement; the same for all implementations.
        unit: of time, for the time of one unit of work; else work done a second.
        action: called once to compile, then twice to warm up, then for the samples.
        work: units of work that one call does.
    """
    for _ in range(2):
        action()
    calls = max(1, int(SAMPLE_SECONDS / max(seconds(action), 1e-7)))
    samples = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(SAMPLES):
            start = time.perf_counter()
            for _ in range(calls):
                action()
            one = (time.perf_counter() - start) / calls
            samples.append(one * SCALE[unit] / work if unit in SCALE else work / one)
    finally:
        gc.enable()
    report(name, unit, samples)
