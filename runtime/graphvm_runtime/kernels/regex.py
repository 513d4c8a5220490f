"""Kernels of regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.object_arrays import mapped
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.re2 import compiled
from graphvm_runtime.kernels.registry import kernel


def _scalar(value: Any, what: str) -> bytes:
    found = as_strings(value)
    if found.ndim:
        raise InvalidArgumentError(f"{what} is a scalar, got {list(found.shape)}")
    text: bytes = found.item()
    return text


@kernel("StaticRegexFullMatch")
def _static_full_match(node: Node) -> Callable[..., Any]:
    text: bytes = node.attrs["pattern"]
    return lambda texts: mapped(compiled(text).matches, texts, np.bool_)


@kernel("RegexFullMatch")
def _full_match(node: Node) -> Callable[..., Any]:
    def call(texts: Any, pattern: Any) -> Any:
        return mapped(compiled(_scalar(pattern, "a pattern")).matches, texts, np.bool_)

    return call


def _replaced(texts: Any, pattern: bytes, rewrite: bytes, everywhere: bool) -> Any:
    found = compiled(pattern)
    return mapped(lambda text: found.replaced(text, rewrite, everywhere), texts)


@kernel("StaticRegexReplace")
def _static_replace(node: Node) -> Callable[..., Any]:
    pattern, rewrite, everywhere = (
        node.attrs[name] for name in ("pattern", "rewrite", "replace_global")
    )
    return lambda texts: _replaced(texts, pattern, rewrite, everywhere)


@kernel("RegexReplace")
def _replace(node: Node) -> Callable[..., Any]:
    everywhere: bool = node.attrs["replace_global"]

    def call(texts: Any, pattern: Any, rewrite: Any) -> Any:
        found = _scalar(pattern, "a pattern"), _scalar(rewrite, "a rewrite")
        return _replaced(texts, *found, everywhere)

    return call
