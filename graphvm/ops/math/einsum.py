"""Einstein sums of any number of tensors."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_n_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.einsum import terms

__all__ = ["einsum"]


def einsum(equation: str, *inputs: TensorLike, name: str | None = None) -> Tensor:
    """Products of tensors whose axes have names, summed over the names that are not asked for.

    `einsum("ij,jk->ik", a, b)` is the matrix product, `einsum("ii->i", a)` the diagonal,
    `einsum("...ij->...ji", a)` the transpose of the last two axes. Without `->` the output has the
    names that occur once, in the order of the alphabet.

    Args:
        equation: the names of the axes of each input and of the output.
        *inputs: numeric, of one element type.
        name: name scope.

    Returns:
        The element type of the inputs.

    Raises:
        ShapeError: the equation is none, or does not fit the shapes.

    Source: `tf.einsum`, TF op `Einsum`.
    """
    with op_scope(name or "einsum", inputs):
        given, asked = terms(_with_output(equation))
        if len(given) != len(inputs):
            raise ShapeError(
                f"{equation!r} is for {len(given)} inputs, got {len(inputs)}", made=user_line()
            )
        tensors = list(convert_n_to_tensor(inputs))
        # more than two: the first two are multiplied, with the names that are still needed
        while len(tensors) > 2:
            needed = set("".join(given[2:])) | set(asked)
            names = dict.fromkeys(given[0] + given[1])
            kept = "".join(n for n in names if n in needed and n != ".")
            kept = "." * ("." in names) + kept
            tensors[:2] = [_sum(tensors[:2], given[:2], kept)]
            given[:2] = [kept]
        return _sum(tensors, given, asked)


def _sum(tensors: list[Tensor], given: list[str], to: str) -> Tensor:
    equation = f"{','.join(given)}->{to}".replace(".", "...")
    return output("Einsum", (tensors,), {"equation": equation.encode()})


def _with_output(equation: str) -> str:
    """The equation with what it gives, where that goes without saying."""
    if "->" in equation:
        return equation
    names = equation.replace("...", "").replace(",", "").replace(" ", "")
    once = sorted(n for n in set(names) if names.count(n) == 1)
    return f"{equation}->{'...' * ('...' in equation)}{''.join(once)}"
