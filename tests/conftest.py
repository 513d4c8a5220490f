"""What every test stands on: verified passes, a fresh default graph, golden texts."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("GRAPHVM_VERIFY", "1")  # before anything reads its configuration

import pytest

Golden = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden texts instead of comparing with them; review reads the diff",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a whole text with the one a file holds, or rewrites that file when asked to."""

    def compare(file: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        assert text == file.read_text(), f"{file} differs; --update-golden rewrites it"

    return compare


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def fresh_default_graph() -> Iterator[None]:
    """Leaves no node behind for the next test; a test of the runtime alone loads no API for it."""
    yield
    api = sys.modules.get("graphvm")
    if api is not None:
        api.reset_default_graph()
