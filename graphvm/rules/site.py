"""What a derivative rule sees of the operation that it differentiates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from graphvm.graph.graph import Tensor
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.shapes import TensorType


class Site(Protocol):
    """An operation as seen from where its derivative is built.

    Inside a body its inputs and outputs are values of another body; asking for one makes it
    available, which costs memory at run time where it is used.
    """

    @property
    def node(self) -> Node:
        """The node in the IR."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def type(self) -> str:
        """Name of the op."""

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Values that it takes."""

    @property
    def outputs(self) -> Sequence[Tensor]:
        """Values that it makes."""

    @property
    def wanted(self) -> Sequence[bool]:
        """For each input whether its derivative is needed."""

    def input_type(self, index: int) -> TensorType:
        """Static type of an input."""

    def output_type(self, index: int) -> TensorType:
        """Static type of an output."""

    def input_handle(self, index: int) -> TensorType | None:
        """Type of what a resource or list input holds."""

    def attrs(self, *without: str) -> dict[str, Any]:
        """The attributes that its op declares, for another node, some of them left out."""

    def get_attr(self, name: str) -> Any:
        """Value of an attribute, as TensorFlow gives it."""
