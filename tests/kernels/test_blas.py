"""Matrix products keep to one thread while others need the cores, and leave OpenBLAS as it was."""

import threading
import time
from typing import Any

import numpy as np
import pytest

from graphvm_runtime import config
from graphvm_runtime.kernels import blas


@pytest.fixture
def threads() -> blas._Threads:
    found = blas._openblas()
    if found is None:
        pytest.skip("NumPy is linked with another library")
    return found


@pytest.fixture
def rest(monkeypatch: pytest.MonkeyPatch) -> blas._Rest:
    fresh = blas._Rest()
    monkeypatch.setattr(blas, "_REST", fresh)
    return fresh


@pytest.mark.parametrize("resting", [False, True])
@pytest.mark.parametrize("size", [1, 64, 80, 128, 255, 300])
def test_the_product_is_numpys(size: int, resting: bool, rest: blas._Rest) -> None:
    rest.until = time.perf_counter() + 1000.0 * resting
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((2, size, size))
    assert np.allclose(blas.product(a, b), a @ b)
    out = np.empty((size, size))
    assert blas.product(a, b.T, out) is out
    assert np.allclose(out, a @ b.T)


def test_threads_are_as_before_also_after_an_error_and_from_many_threads(
    threads: blas._Threads, rest: blas._Rest
) -> None:
    rest.until = time.perf_counter() + 1000.0
    before = threads.get()
    threads.set(2)
    try:
        square, other = np.ones((128, 128)), np.ones((127, 128))
        with pytest.raises(ValueError, match="mismatch"):
            blas.product(square, other)
        assert threads.get() == 2
        workers = [
            threading.Thread(target=lambda: [blas.product(square, square) for _ in range(50)])
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert threads.get() == 2
    finally:
        threads.set(before)


@pytest.mark.parametrize("resting", [False, True])
def test_a_product_of_middle_size_sees_one_thread_during_a_rest(
    threads: blas._Threads, rest: blas._Rest, monkeypatch: pytest.MonkeyPatch, resting: bool
) -> None:
    seen: dict[int, int] = {}

    def matmul(a: Any, b: Any, out: Any) -> Any:
        seen[len(a)] = threads.get()
        return np.zeros(1)

    before = threads.get()
    threads.set(2)
    monkeypatch.setattr(np, "matmul", matmul)
    rest.until = time.perf_counter() + 1000.0 * resting
    try:
        for size in (8, 128, 512):
            blas.product(np.ones((size, size)), np.ones((size, size)))
        assert seen == {8: 2, 128: 1 if resting else 2, 512: 2}
        assert threads.get() == 2
    finally:
        threads.set(before)


def test_a_product_that_takes_long_begins_a_rest(
    rest: blas._Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    lasts = 0.0

    def clock() -> float:
        return now

    def matmul(a: Any, b: Any, out: Any) -> Any:
        nonlocal now
        now += lasts
        return np.zeros(1)

    monkeypatch.setattr(np, "matmul", matmul)
    monkeypatch.setattr(time, "perf_counter", clock)
    square = np.ones((128, 128))

    def rests(after: float, product: float, a: Any = square) -> float:
        """How long the rest is that a product of some seconds begins."""
        nonlocal now, lasts
        now, lasts = now + after, product
        blas.product(a, square)
        return rest.until - now

    assert rests(0.0, 5e-4) < 0
    assert rests(0.0, 0.02) == pytest.approx(blas.SHORTEST_REST)
    assert rests(0.05, 0.02) < blas.SHORTEST_REST  # during it nothing counts
    assert rests(1.0, 0.02) == pytest.approx(4 * blas.SHORTEST_REST)
    for _ in range(5):
        longest = rests(blas.LONGEST_REST + 1, 0.02)
    assert longest == pytest.approx(blas.LONGEST_REST)
    assert rests(100.0, 0.02) == pytest.approx(blas.SHORTEST_REST)
    # many at once take longer, whole numbers are none of BLAS
    assert rests(100.0, 0.02, np.ones((50, 128, 128))) < 0
    assert rests(100.0, 0.02, np.ones((128, 128), np.int64)) < 0


def test_a_thin_product_that_fills_much_memory_begins_none(
    rest: blas._Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1000.0, 1000.02])
    large = np.zeros((1000, 1000))
    monkeypatch.setattr(np, "matmul", lambda a, b, out: large)
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    blas.product(np.ones((1000, 1)), np.ones((1, 1000)))
    assert not rest.until


def test_one_thread_alone_where_the_same_bits_are_asked_for(
    threads: blas._Threads, rest: blas._Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def matmul(a: Any, b: Any, out: Any) -> Any:
        seen.append(threads.get())
        return np.zeros(1)

    monkeypatch.setattr(np, "matmul", matmul)
    before = threads.get()
    threads.set(2)
    try:
        with config.DETERMINISTIC.set(True):
            for size in (128, 512):
                blas.product(np.ones((size, size)), np.ones((size, size)))
        assert seen == [1, 1]
    finally:
        threads.set(before)
