"""Cases recorded from TensorFlow, and a session that runs them in one form or another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from graphvm_runtime.compiler.passes.cut_feeds import CutFeeds
from graphvm_runtime.compiler.passes.dereference import Dereference
from graphvm_runtime.compiler.passes.infer import Infer
from graphvm_runtime.compiler.passes.lower_for import LowerFor
from graphvm_runtime.compiler.passes.lower_nonstrict import LowerNonstrict
from graphvm_runtime.compiler.passes.prune import Prune
from graphvm_runtime.compiler.passes.raise_ import RaiseControlFlow
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.compiler.values import as_feed_value, handed_out
from graphvm_runtime.ir.control_flow.lower import lower
from graphvm_runtime.ir.graph import Graph, endpoint
from graphvm_runtime.ir.graphdef.read import read_graph
from graphvm_runtime.ir.text import parse_graph
from graphvm_runtime.ir.verify import verify
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.meta_graph_pb2 import MetaGraphDef
from graphvm_runtime.values.resources import ResourceManager, Step
from graphvm_runtime.vm.executable import Mode, executable_of

FOLDER = Path(__file__).parent.parent / "data" / "goldens"
PRIMITIVES = {"Switch", "Merge", "Enter", "RefSwitch", "RefMerge", "RefEnter"}
FUNCTIONAL = {
    "If", "StatelessIf", "While", "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall"
}  # fmt: skip
FORMS = ("dataflow", "raised", "interpreted", "lowered", "loose")


@dataclass(frozen=True)
class Case:
    name: str
    description: dict[str, Any]
    graph: Graph
    arrays: Any

    @property
    def runs(self) -> list[dict[str, Any]]:
        return list(self.description["runs"])

    def array(self, d: dict[str, Any]) -> Any:
        key = d["key"]
        if d["dtype"] == "string":
            data, out, at = self.arrays[key + ".bytes"].tobytes(), [], 0
            for length in self.arrays[key + ".lengths"].tolist():
                out.append(data[at : at + length])
                at += length
            made = np.empty(len(out), object)
            made[:] = out
            return made.reshape(d["shape"])
        found = self.arrays[key]
        if d["dtype"] == "bfloat16":
            found = found.view(ml_dtypes.bfloat16)
        return found.reshape(d["shape"])


def graph_of(text: str) -> Graph:
    """The graph of a text whose nodes may stand in any order."""
    graph = parse_graph(text.replace("graph\n", "graph producer=0\n", 1))
    return graph.with_nodes(graph.nodes)


def names(ops: set[str]) -> list[str]:
    """Cases whose graph holds one of these ops, in itself or in its functions.

    Those that fetch what is still to be differentiated, and those of another kind of file, are
    left out; so are symbolic gradients, which sessions derive before anything is compiled.
    """
    return sorted(
        str(f.parent.relative_to(FOLDER)) for f in FOLDER.rglob("case.json")
        if ops & (has := set((case := json.loads(f.read_text())).get("ops", ())))
        and "SymbolicGradient" not in has
        and not case.get("gradients") and "graph" in case
    )  # fmt: skip


def load(name: str) -> Case:
    folder = FOLDER / name
    description = json.loads((folder / "case.json").read_text())
    data = (folder / description["graph"]).read_bytes()
    message = GraphDef()
    if description["graph"].endswith(".meta"):
        message = MetaGraphDef.FromString(data).graph_def
    else:
        message.ParseFromString(data)
    with np.load(folder / "arrays.npz") as file:
        arrays = dict(file)
    return Case(name, description, read_graph(message), arrays)


def requested(run: dict[str, Any]) -> Request:
    return Request(
        tuple(endpoint(d["name"]) for d in run["feeds"]),
        tuple(endpoint(d["name"]) for d in run["fetches"]),
        tuple(run["targets"]),
    )


def prepared(graph: Graph, request: Request) -> tuple[Graph, Request]:
    """Pruned, and without references."""
    for step in (CutFeeds(), LowerFor(), Prune(), Infer(), Dereference()):
        graph, request = step(graph, request)
    return graph, request


def executable(graph: Graph, request: Request, form: str) -> Any:
    """The request, to be run in a form."""
    graph, request = prepared(graph, request)
    if form != "dataflow":
        graph, request = RaiseControlFlow()(graph, request)
    if form in ("lowered", "loose"):
        graph = lower(graph, keep=request.names(), gate=form == "lowered")
    else:
        graph, request = LowerNonstrict()(graph, request)
    verify(graph)
    modes = {"raised": Mode.EMITTED, "interpreted": Mode.INTERPRETED}
    return executable_of(graph, request, modes.get(form, Mode.DATAFLOW))


class Session:
    """Runs requests on one graph in one form; state goes on from run to run."""

    def __init__(self, graph: Graph, form: str) -> None:
        self.graph = graph
        self.form = form
        self.resources = ResourceManager()
        self.state: dict[str, Any] = {}
        self.steps = 0

    def run(self, request: Request, feeds: Sequence[Any]) -> list[Any]:
        self.steps += 1
        step = Step(self.resources, self.state, self.steps)
        found = executable(self.graph, request, self.form)
        return [handed_out(v, True) for v in found.run(step, *map(as_feed_value, feeds))]


def check_case(case: Case, form: str) -> Iterator[str]:
    """What does not agree with the recording."""
    session = Session(case.graph, form)
    for number, run in enumerate(case.runs):
        wanted = run.get("error", {}).get("class", "")
        try:
            got = session.run(requested(run), [case.array(d) for d in run["feeds"]])
        except Exception as error:
            if wanted not in [c.__name__ for c in type(error).__mro__]:
                yield f"run {number}: {type(error).__name__}: {error}"
            continue
        if wanted:
            yield f"run {number}: no {wanted}"
            continue
        for d, value in zip(run["fetches"], got, strict=True):
            want = case.array(d)
            value = np.asarray(value, object if want.dtype == object else None)
            same = value.dtype == want.dtype and value.shape == want.shape
            if want.dtype == object:
                same = same and value.tolist() == want.tolist()
            elif "rtol" in d:
                same = same and np.allclose(value, want, d["rtol"], d["atol"], equal_nan=True)
            else:
                same = same and np.array_equal(value, want)
            if not same:
                yield f"run {number}: {d['name']} is {value}, not {want}"
