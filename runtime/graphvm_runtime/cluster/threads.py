"""Threads that are kept for the next job: as many as there are jobs at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

R = TypeVar("R")
IDLE = 16  # threads that may wait for work


class Threads(Executor):
    """Runs each job at once, on an idle thread or a new one.

    No job ever waits for another to end, so jobs may wait for each other. The threads are daemons:
    a process that forgets to close this still ends.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: deque[_Slot] = deque()
        self._all: set[threading.Thread] = set()
        self._closed = False
        self._made = 0

    def start(self, job: Callable[..., Any], *args: Any) -> None:
        """Runs a job of which nobody wants to hear; it must catch what it raises."""
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the threads of {self._name} are closed")
            slot = self._idle.pop() if self._idle else None
            if slot is None:
                slot = _Slot()
                self._made += 1
                thread = threading.Thread(
                    target=self._work, args=(slot,), name=f"{self._name}-{self._made}", daemon=True
                )
                self._all.add(thread)
                slot.job = job, args
                thread.start()
                return
        slot.job = job, args
        slot.ready.release()

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Runs a job whose result a Future tells."""
        future: Future[R] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.start(job)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the idle threads; those at work end with their job."""
        with self._lock:
            self._closed = True
            idle = list(self._idle)
            self._idle.clear()
            threads = list(self._all)
        for slot in idle:
            slot.job = None
            slot.ready.release()
        if wait:
            here = threading.current_thread()
            for thread in threads:
                if thread is not here:
                    thread.join(timeout=5)

    def _work(self, slot: _Slot) -> None:
        try:
            while slot.job is not None:
                job, args = slot.job
                slot.job = None
                job(*args)
                del job, args
                with self._lock:
                    if self._closed or len(self._idle) >= IDLE:
                        return
                    self._idle.append(slot)
                slot.ready.acquire()
        finally:
            with self._lock:
                self._all.discard(threading.current_thread())


class _Slot:
    """Where an idle thread finds its next job."""

    __slots__ = ("job", "ready")

    def __init__(self) -> None:
        self.ready = threading.Lock()
        self.ready.acquire()
        self.job: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
