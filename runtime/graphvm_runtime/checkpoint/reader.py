"""What every stored checkpoint offers, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from graphvm_runtime.checkpoint.slices import TensorSlice
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import DataLossError, NotFoundError


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as a checkpoint lists it; `slices` is empty where it is stored in one piece."""

    dtype: DType
    shape: tuple[int, ...]
    slices: tuple[TensorSlice, ...] = ()


class CheckpointReader(ABC):
    """Names, types and values of a checkpoint. Values are read when asked for.

    May be used from several threads.

    Attributes:
        prefix: path of the checkpoint, as Saver returns it.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    @abstractmethod
    def names(self) -> list[str]:
        """Names of all tensors, sorted."""

    @abstractmethod
    def __contains__(self, name: object) -> bool:
        """Whether there is a tensor of that name."""

    @abstractmethod
    def _stored(self, name: str) -> Stored | None:
        """What is known of a tensor without reading it; None where there is none."""

    @abstractmethod
    def _read(self, name: str, stored: Stored, cut: TensorSlice | None) -> Array:
        """The elements of one of the stored slices, or of a tensor stored in one piece."""

    def stored(self, name: str) -> Stored:
        """Type, shape and partition of a tensor.

        Raises:
            NotFoundError: there is no tensor of that name.
        """
        found = self._stored(name)
        if found is None:
            raise NotFoundError(
                f"checkpoint {self.prefix} has no tensor {name!r}",
                do="compare the graph's variables with the checkpoint's names",
            )
        return found

    def dtype(self, name: str) -> DType:
        """Element type of a tensor. Raises NotFoundError where there is none."""
        return self.stored(name).dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor. Raises NotFoundError where there is none."""
        return self.stored(name).shape

    def get_tensor(self, name: str) -> Array:
        """The value of a tensor; the array is the caller's.

        Raises:
            NotFoundError: there is no tensor of that name, or one of the files is not there.
            DataLossError: a file is cut off or damaged where this tensor lies.
        """
        return self.get_slice(name, TensorSlice.whole(len(self.shape(name))))

    def get_slice(self, name: str, cut: TensorSlice) -> Array:
        """The part `cut` of a tensor; otherwise like `get_tensor`.

        Raises:
            InvalidArgumentError: the slice does not lie in the tensor.
        """
        stored = self.stored(name)
        bounds = cut.bounds(stored.shape)
        if not stored.slices:
            whole = self._read(name, stored, None)
            if cut.shape(stored.shape) == stored.shape:
                return whole
            return whole[tuple(slice(a, b) for a, b in bounds)].copy()
        for part in stored.slices:
            if part.bounds(stored.shape) == bounds:
                return self._read(name, stored, part)
        return self._assembled(name, stored, bounds)

    def _assembled(self, name: str, stored: Stored, bounds: tuple[tuple[int, int], ...]) -> Array:
        shape = tuple(end - start for start, end in bounds)
        array = np.empty(shape, stored.dtype.numpy)
        missing = np.ones(shape, np.bool_)
        for part in stored.slices:
            there = part.bounds(stored.shape)
            common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(bounds, there, strict=True)]
            if any(start >= end for start, end in common):
                continue
            target = tuple(
                slice(start - a, end - a)
                for (start, end), (a, _) in zip(common, bounds, strict=True)
            )
            source = tuple(
                slice(start - c, end - c)
                for (start, end), (c, _) in zip(common, there, strict=True)
            )
            array[target] = self._read(name, stored, part)[source]
            missing[target] = False
        if missing.any():
            raise DataLossError(
                f"checkpoint {self.prefix} has only a part of tensor {name!r}: "
                f"{', '.join(map(str, stored.slices))}"
            )
        return array
