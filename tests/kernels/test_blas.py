"""Matrix products hold OpenBLAS at one thread while they run, and leave it as it was."""

import threading
from typing import Any

import numpy as np
import pytest

from graphvm_runtime.kernels import blas


@pytest.fixture
def threads() -> blas._Threads:
    found = blas._openblas()
    if found is None:
        pytest.skip("NumPy is linked with another library")
    return found


@pytest.mark.parametrize("size", [1, 64, 80, 128, 255, 300])
def test_the_product_is_numpys(size: int) -> None:
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((2, size, size))
    assert np.allclose(blas.product(a, b), a @ b)
    out = np.empty((size, size))
    assert blas.product(a, b.T, out) is out
    assert np.allclose(out, a @ b.T)


def test_threads_are_as_before_also_after_an_error_and_from_many_threads(
    threads: blas._Threads,
) -> None:
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


def test_a_product_of_middle_size_sees_one_thread(
    threads: blas._Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, int] = {}

    def matmul(a: Any, b: Any, out: Any) -> Any:
        seen[len(a)] = threads.get()
        return out

    before = threads.get()
    threads.set(2)
    monkeypatch.setattr(np, "matmul", matmul)
    try:
        for size in (8, 128, 512):
            blas.product(np.ones((size, size)), np.ones((size, size)))
        assert seen == {8: 2, 128: 1, 512: 2}
        assert threads.get() == 2
    finally:
        threads.set(before)
