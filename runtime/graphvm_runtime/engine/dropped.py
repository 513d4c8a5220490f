"""Sessions that nobody holds any more: they are closed as if somebody had."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Protocol


class Closable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Ends it."""


def close_later(session: Closable) -> None:
    """Closes a session on a thread of its own.

    Garbage may be collected anywhere, even where a lock is held that closing takes.
    """
    if sys.is_finalizing():  # no thread starts any more, and the process lets go of everything
        return
    with contextlib.suppress(Exception):
        threading.Thread(target=_close, args=(session,), name="graphvm-drop", daemon=True).start()


def _close(session: Closable) -> None:
    with contextlib.suppress(Exception):
        session.close()
