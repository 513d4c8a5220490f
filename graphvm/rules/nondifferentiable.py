"""Families of ops without a derivative, and why; a family's own table may except single ops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FAMILIES: Final[Mapping[str, str]] = {
    "barrier": "what comes out is another step's",
    "data_flow": "what comes out is another step's",
    "dataset": "elements come from another step",
    "decoding": "of strings",
    "hashing": "of strings, or of bits",
    "internal": "made by the machine, not by a user's graph",
    "io": "reads or writes files",
    "lookup_table": "what comes out is another step's",
    "math.bitwise": "of bits",
    "random": "draws random numbers",
    "regex": "of strings",
    "state": "names, updates or describes a variable",
    "string": "of strings",
    "training": "updates a variable",
    "unicode": "of characters",
}
