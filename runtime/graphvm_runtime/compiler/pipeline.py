"""THE list of passes, in order.

A pass is a pure function from graph to graph. The first runs of a graph go through the cheap
passes only; those that optimise come with use.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from graphvm_runtime import config
from graphvm_runtime.compiler.passes.cse import CommonSubexpressions
from graphvm_runtime.compiler.passes.cut_feeds import CutFeeds
from graphvm_runtime.compiler.passes.dereference import Dereference
from graphvm_runtime.compiler.passes.fold import Fold
from graphvm_runtime.compiler.passes.hoist_matmul import HoistMatmul
from graphvm_runtime.compiler.passes.infer import Infer
from graphvm_runtime.compiler.passes.inline import Inline
from graphvm_runtime.compiler.passes.lower_for import LowerFor
from graphvm_runtime.compiler.passes.lower_nonstrict import LowerNonstrict
from graphvm_runtime.compiler.passes.materialise import Materialise
from graphvm_runtime.compiler.passes.prune import Prune
from graphvm_runtime.compiler.passes.raise_ import RaiseControlFlow
from graphvm_runtime.compiler.passes.rng_streams import NameRngStreams
from graphvm_runtime.compiler.passes.signatures import Signatures
from graphvm_runtime.compiler.passes.simplify import Simplify
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.device_spec import DeviceSpec
from graphvm_runtime.errors import GraphError, GraphvmError, PassError
from graphvm_runtime.ir.graph import Graph

if TYPE_CHECKING:
    from graphvm_runtime.compiler.passes.partition import GraphPart, Partition
    from graphvm_runtime.compiler.passes.place import Place

T = TypeVar("T")


class Pass(Protocol):
    """Valid graph in, valid graph out; the input is never changed.

    A pass gets and gives the request too, since some rename what is fed or fetched.
    """

    @property
    def name(self) -> str:
        """What dumps and errors call it."""

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph after the pass."""


Text: TypeAlias = Callable[[], str]  # made only where somebody reads it

# told of the graph after each pass, and of what is made of it in the end: position, name, what
Hook: TypeAlias = Callable[[int, str, Graph | Text], None]

ALWAYS: tuple[Pass, ...] = (
    CutFeeds(), Signatures(), LowerFor(),
    NameRngStreams(), Infer(), Dereference(), RaiseControlFlow(), Materialise(), LowerNonstrict(),
)  # fmt: skip
OPTIMISING: tuple[Pass, ...] = (
    Inline(), Infer(always=True), Fold(), Simplify(), CommonSubexpressions(), HoistMatmul(),
    Prune(),
)  # fmt: skip


class Compilation(NamedTuple):
    """What the passes made of a graph.

    Attributes:
        graph: as it will be run.
        request: in its terms.
        tell: tells hooks what was made of the graph then: its name, itself.
    """

    graph: Graph
    request: Request
    tell: Callable[[str, Graph | Text], None]


CLUSTER = frozenset({"place", "partition"})  # they need to know the devices of a session


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Passes to run, and who is told.

    Attributes:
        hooks: each makes what is told of one compilation.
        left_out: names of passes that are skipped (`GRAPHVM_PASSES=-fold`).
        after_reading: a user's own passes, run on the graph as it was written.
        before_placing: a user's own passes, run last but for those that spread it.
        passes: ours.
        place: gives the nodes their devices, where there are several.
        partition: cuts a placed graph; without either, all of it is at the default device.
    """

    hooks: tuple[Callable[[], Hook], ...] = ()
    left_out: frozenset[str] = frozenset()
    after_reading: tuple[Pass, ...] = ()
    before_placing: tuple[Pass, ...] = ()
    passes: Sequence[Pass] = field(default=ALWAYS)
    place: Place | None = None
    partition: Partition | None = None

    def optimising(self) -> Pipeline:
        """The same with the passes that come with use."""
        return replace(self, passes=(*ALWAYS, *OPTIMISING))

    def spreading(self, place: Place) -> Pipeline:
        """The same with all passes, and those that spread a graph over devices."""
        found = self.optimising()
        if self.left_out & CLUSTER:
            return found
        # loaded late, like all that only sessions over several devices need
        from graphvm_runtime.compiler.passes.partition import Partition

        return replace(found, place=place, partition=Partition(place.default))

    def __call__(self, graph: Graph, request: Request) -> Compilation:
        """The graph as it will be run, and the request in its terms.

        Raises:
            GraphvmError: the graph or the request is malformed.
            PassError: a pass failed; names the pass.
        """
        start, count = time.perf_counter(), len(graph.nodes)
        hooks = [begin() for begin in self.hooks]
        numbers = itertools.count()

        def tell(name: str, what: Graph | Text) -> None:
            number = next(numbers)
            for hook in hooks:
                hook(number, name, what)

        tell("read", graph)
        placing = () if self.place is None else (self.place,)
        for step in (*self.after_reading, *self.passes, *self.before_placing, *placing):
            if step.name in self.left_out:
                continue
            graph, request = _applied(step, graph, request)
            tell(step.name, graph)
        config.log(
            "compile", "%d nodes to %d in %.1f ms%s", count, len(graph.nodes),
            (time.perf_counter() - start) * 1e3, ", optimised" * (len(self.passes) > len(ALWAYS)),
        )  # fmt: skip
        return Compilation(graph, request, tell)

    def shares(self, graph: Graph, request: Request, default: DeviceSpec) -> list[GraphPart]:
        """One graph for each device.

        Args:
            graph: as it was read.
            request: what is wanted of it.
            default: where all of it goes where it is not cut.

        Raises:
            GraphvmError, PassError: as above, or it cannot be placed or cut.
        """
        from graphvm_runtime.compiler.passes.partition import whole

        graph, request, tell = self(graph, request)
        if self.partition is None:
            return [whole(graph, request, default)]
        shares: list[GraphPart] = _applied(self.partition, graph, request)
        for share in shares:
            tell(f"{self.partition.name}{share.device}", share.graph)
        return shares


def _applied(step: Callable[[Graph, Request], T], graph: Graph, request: Request) -> T:
    try:
        return step(graph, request)
    except GraphvmError:
        raise
    except Exception as error:
        name = getattr(step, "name", "")
        raise PassError(
            f"pass {name!r} failed: {type(error).__name__}: {error}",
            do="run with GRAPHVM_DUMP=dir and open the last *.gvm there, "
            f"or leave it out with GRAPHVM_PASSES=-{name}",
        ) from error


def configured(pipeline: Pipeline) -> Pipeline:
    """The pipeline with what GRAPHVM_DUMP, GRAPHVM_VERIFY and GRAPHVM_PASSES ask for."""
    hooks = list(pipeline.hooks)
    folder = config.DUMP.get()
    if folder:
        hooks.append(lambda: _dump_into(Path(folder)))
    if config.VERIFY.get():
        hooks.append(_verifying)
    left_out = frozenset(p[1:] for p in config.PASSES.get().split(",") if p)
    known = {each.name for each in (*ALWAYS, *OPTIMISING)} | CLUSTER
    if left_out - known:
        raise GraphError(
            f"GRAPHVM_PASSES names no pass {min(left_out - known)!r}",
            do="passes are " + ", ".join(sorted(known)),
        )
    return replace(pipeline, hooks=tuple(hooks), left_out=pipeline.left_out | left_out)


def _verifying() -> Hook:
    # loaded when asked for: it brings protobuf, which a session by itself does without
    from graphvm_runtime.ir.verify import verify

    def check(number: int, name: str, what: Graph | Text) -> None:
        if isinstance(what, Graph):
            verify(what)

    return check


_dumps = itertools.count()


def _dump_into(folder: Path) -> Hook:
    from graphvm_runtime.ir.text import print_graph

    place = folder / f"{os.getpid()}-{next(_dumps)}"
    place.mkdir(parents=True, exist_ok=True)

    def dump(number: int, name: str, what: Graph | Text) -> None:
        text, kind = (print_graph(what), "gvm") if isinstance(what, Graph) else (what(), "txt")
        file = re.sub(r"[^\w-]+", "_", f"{number:02d}-{name}")
        (place / f"{file}.{kind}").write_text(text)

    return dump
