"""Side effects that always run, or never do, though the graph looks otherwise."""

from __future__ import annotations

from graphvm.graph.graph import Graph, get_default_graph
from graphvm_runtime.ir.lints import Finding
from graphvm_runtime.ir.lints import lint as _lint

__all__ = ["Finding", "LintWarning", "lint"]


class LintWarning(UserWarning):
    """A finding, as a warning: sessions give it under `GRAPHVM_LINT=1`."""


def lint(graph: Graph | None = None) -> list[Finding]:
    """Finds side effects that run where nobody would think so, or do not run at all.

    Args:
        graph: the default graph otherwise.

    Returns:
        Findings: `always-runs` (an op outside a branch that one side alone uses), `runs-once`
        (an op outside a loop that the body waits for), `never-runs` (an op in a body that nothing
        needs). Printed, each names the node, the line that made it, and what to do.
    """
    found = graph or get_default_graph()
    return _lint(found.ir(), found.functions.waits, found.functions.dead_nodes)
