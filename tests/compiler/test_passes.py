"""Each pass does to the graph in a `.gvm` file what the file says, and nothing else.

A file says what it promises, the pass with what the request feeds, fetches and targets, a graph,
and after a line `-- after --` the request where it changed and the graph, whole; or
`-- unchanged --`; or `-- refused --` and the message. `--update-golden` rewrites what comes after.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from graphvm_runtime.compiler.passes.infer import Infer
from graphvm_runtime.compiler.pipeline import ALWAYS, Pass, optimising
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.graph import Graph, endpoint
from graphvm_runtime.ir.text import parse_graph, print_graph
from graphvm_runtime.ir.verify import verify

FOLDER = Path(__file__).parent
PASSES: dict[str, Pass] = {each.name: each for each in (*optimising(), *ALWAYS)} | {
    "infer always": Infer(always=True)
}


class Case(NamedTuple):
    """What comes before the expectation in a file.

    Attributes:
        promise: what the file is for, as comment lines.
        step: name of the pass.
    """

    promise: list[str]
    step: str
    request: Request
    graph: Graph

    def text(self) -> str:
        lines = [*self.promise, f"pass: {self.step}", *request_lines(self.request)]
        return "\n".join(lines) + "\n\n" + print_graph(self.graph)


def read(text: str) -> Case:
    head, mark, graph = text.partition("\n-- ")[0].partition("graph producer=")
    lines = head.split("\n")
    said = dict(line.split(": ") for line in lines if line and line[0] != "#")
    step = said.pop("pass")
    names = {key: tuple(value.split()) for key, value in said.items()}
    request = Request(
        tuple(map(endpoint, names.pop("feeds", ()))),
        tuple(map(endpoint, names.pop("fetches", ()))),
        names.pop("targets", ()),
    )
    assert not names, f"a request has no {min(names)}"
    return Case(
        [line for line in lines if line[:1] == "#"], step, request, parse_graph(mark + graph)
    )


def request_lines(request: Request) -> list[str]:
    parts = {"feeds": request.feeds, "fetches": request.fetches, "targets": request.targets}
    return [f"{key}: {' '.join(map(str, part))}" for key, part in parts.items() if part]


def outcome(case: Case) -> str:
    before = print_graph(case.graph)
    try:
        graph, request = PASSES[case.step](case.graph, case.request)
    except GraphvmError as error:
        return f"-- refused --\n{error}\n"
    finally:
        assert print_graph(case.graph) == before, "a pass never changes its input"
    verify(graph)
    if request == case.request and print_graph(graph) == before:
        return "-- unchanged --\n"
    lines = [] if request == case.request else [*request_lines(request), ""]
    return "\n".join(["-- after --", *lines, print_graph(graph)])


@pytest.mark.parametrize(
    "file",
    [pytest.param(f, id=f"{f.parent.name}/{f.stem}") for f in sorted(FOLDER.glob("*/*.gvm"))],
)
def test_pass(file: Path, golden: Callable[[Path, str], None]) -> None:
    case = read(file.read_text())
    found = outcome(case)
    if not found.startswith("-- refused"):
        verify(case.graph)
    golden(file, f"{case.text()}\n{found}")
