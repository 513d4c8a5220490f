"""THE list of passes, in order.

A pass is a pure function from graph to graph. The first runs of a graph go through the cheap
passes only; those that optimise come with use.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from graphvm_runtime import config
from graphvm_runtime.compiler.passes.ahead import Ahead
from graphvm_runtime.compiler.passes.counted import Counted
from graphvm_runtime.compiler.passes.cse import CommonSubexpressions
from graphvm_runtime.compiler.passes.cut_feeds import CutFeeds
from graphvm_runtime.compiler.passes.dereference import Dereference
from graphvm_runtime.compiler.passes.fold import Fold
from graphvm_runtime.compiler.passes.infer import Infer
from graphvm_runtime.compiler.passes.inline import Inline
from graphvm_runtime.compiler.passes.materialise import Materialise
from graphvm_runtime.compiler.passes.nonstrict import NonStrict
from graphvm_runtime.compiler.passes.prune import Prune
from graphvm_runtime.compiler.passes.raise_ import RaiseControlFlow
from graphvm_runtime.compiler.passes.signatures import Signatures
from graphvm_runtime.compiler.passes.simplify import Simplify
from graphvm_runtime.compiler.passes.streams import NameStreams
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphError, GraphvmError, PassError
from graphvm_runtime.ir.graph import Graph


class Pass(Protocol):
    """Valid graph in, valid graph out; the input is never changed.

    A pass gets and gives the request too, since some rename what is fed or fetched.
    """

    @property
    def name(self) -> str:
        """What dumps and errors call it."""

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph after the pass."""


# told of the graph after each pass: position, pass name, graph
Hook = Callable[[int, str, Graph], None]

ALWAYS: tuple[Pass, ...] = (
    CutFeeds(), Signatures(), Counted(),
    NameStreams(), Infer(), Dereference(), RaiseControlFlow(), Materialise(), NonStrict(),
)  # fmt: skip
OPTIMISING: tuple[Pass, ...] = (
    Inline(), Infer(always=True), Fold(), Simplify(), CommonSubexpressions(), Ahead(), Prune(),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Passes to run, and who is told.

    Attributes:
        left_out: names of passes that are skipped (`GRAPHVM_PASSES=-fold`).
        after_reading: a user's own passes, run on the graph as it was written.
        before_placing: a user's own passes, run last.
    """

    hooks: tuple[Hook, ...] = ()
    left_out: frozenset[str] = frozenset()
    after_reading: tuple[Pass, ...] = ()
    before_placing: tuple[Pass, ...] = ()
    passes: Sequence[Pass] = field(default=ALWAYS)

    def optimising(self) -> Pipeline:
        """The same with the passes that come with use."""
        return replace(self, passes=(*ALWAYS, *OPTIMISING))

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph as it will be run, and the request in its terms.

        Raises:
            GraphvmError: the graph or the request is malformed.
            PassError: a pass failed; names the pass.
        """
        every = (*self.after_reading, *self.passes, *self.before_placing)
        for hook in self.hooks:
            hook(0, "read", graph)
        for number, step in enumerate(every, 1):
            if step.name in self.left_out:
                continue
            try:
                graph, request = step(graph, request)
            except GraphvmError:
                raise
            except Exception as error:
                raise PassError(
                    f"pass {step.name!r} failed: {type(error).__name__}: {error}",
                    do=f"run with GRAPHVM_DUMP=dir and open {number - 1:02d}-*.gvm, "
                    f"or leave it out with GRAPHVM_PASSES=-{step.name}",
                ) from error
            for hook in self.hooks:
                hook(number, step.name, graph)
        return graph, request


def configured(pipeline: Pipeline) -> Pipeline:
    """The pipeline with what GRAPHVM_DUMP, GRAPHVM_VERIFY and GRAPHVM_PASSES ask for."""
    hooks = list(pipeline.hooks)
    folder = config.DUMP.get()
    if folder:
        hooks.append(_dump_into(Path(folder)))
    if config.VERIFY.get():
        # loaded when asked for: they bring protobuf, which a session by itself does without
        from graphvm_runtime.ir.verify import verify

        hooks.append(lambda number, name, graph: verify(graph))
    left_out = frozenset(p[1:] for p in config.PASSES.get().split(",") if p)
    known = {each.name for each in (*ALWAYS, *OPTIMISING)}
    if left_out - known:
        raise GraphError(
            f"GRAPHVM_PASSES names no pass {min(left_out - known)!r}",
            do="passes are " + ", ".join(sorted(known)),
        )
    return replace(pipeline, hooks=tuple(hooks), left_out=pipeline.left_out | left_out)


_dumps = itertools.count()


def _dump_into(folder: Path) -> Callable[[int, str, Graph], None]:
    from graphvm_runtime.ir.text import print_graph

    def dump(number: int, name: str, graph: Graph) -> None:
        if number == 0:
            place.clear()
            place.append(folder / f"{os.getpid()}-{next(_dumps)}")
        place[0].mkdir(parents=True, exist_ok=True)
        (place[0] / f"{number:02d}-{name}.gvm").write_text(print_graph(graph))

    place: list[Path] = []
    return dump
