"""How each op is differentiated: a table a family, in the file of the family's name."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import walk_packages

from graphvm.rules.nondifferentiable import FAMILIES
from graphvm.rules.registry import NotDifferentiable, Rule, Rules
from graphvm_runtime.ops.registry import family_of, names


def _tables() -> Iterator[Mapping[str, Rule]]:
    for found in walk_packages(__path__, f"{__name__}."):
        yield getattr(import_module(found.name), "TABLE", {})


def _constant(*tables: Mapping[str, Rule]) -> dict[str, Rule]:
    """Rules of the ops of nondifferentiable families that no table has."""
    left = {op: family_of(op) for op in names()}
    for table in tables:
        for op in table:
            left.pop(op, None)
    return {op: NotDifferentiable(FAMILIES[f]) for op, f in left.items() if f in FAMILIES}


_TABLES = list(_tables())
RULES = Rules(*_TABLES, _constant(*_TABLES))

__all__ = ["RULES"]
