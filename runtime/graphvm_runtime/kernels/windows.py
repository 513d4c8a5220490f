"""Images as kernels of convolutions and pools take them: channels last, padded, in windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ops.windows import Windows


def channels_last(x: Array, layout: bytes) -> Array:
    """The image as NHWC, a view."""
    return x.transpose(0, 2, 3, 1) if layout == b"NCHW" else x


def laid_out(x: Array, layout: bytes) -> Array:
    """An NHWC image in a layout, a view."""
    return x.transpose(0, 3, 1, 2) if layout == b"NCHW" else x


def check_image(name: str, x: Array) -> None:
    """Raises InvalidArgumentError where the rank is not 4."""
    if x.ndim != 4:
        raise InvalidArgumentError(f"{name} has rank 4, got the shape {list(x.shape)}")


def check_gradient(gradient: Array, want: tuple[int, ...]) -> None:
    """Raises InvalidArgumentError where a gradient has not the shape of the output."""
    if gradient.shape != want:
        raise InvalidArgumentError(
            f"a gradient of shape {list(gradient.shape)} where the output has {list(want)}"
        )


class Placed:
    """Windows placed on an image of rows and columns of certain sizes.

    Attributes:
        counts: how many windows there are, over rows and over columns.
        pads: padding before and after, of rows and of columns.
    """

    def __init__(self, windows: Windows, image: tuple[int, int], size: tuple[int, int]) -> None:
        self.windows = windows
        self.image = image
        self.size = size
        self.counts = (
            windows.counted(0, image[0], size[0]), windows.counted(1, image[1], size[1])
        )  # fmt: skip
        self.pads = tuple(windows.padded(i, image[i], size[i], self.counts[i]) for i in (0, 1))

    @property
    def whole(self) -> tuple[int, int]:
        """Rows and columns of the padded image; windows never reach beyond it."""
        return tuple(
            max(
                self.image[i] + sum(self.pads[i]),
                (self.counts[i] - 1) * self.windows.strides[i]
                + (self.size[i] - 1) * self.windows.dilations[i]
                + 1,
            )
            for i in (0, 1)
        )  # type: ignore[return-value]  # two of them

    @property
    def is_disjoint(self) -> bool:
        """Whether no element is in two windows."""
        windows = self.windows
        return all((self.size[i] - 1) * windows.dilations[i] < windows.strides[i] for i in (0, 1))

    def padded(self, x: Array, value: Any = 0) -> Array:
        """The NHWC image with its padding."""
        rows, columns = self.whole
        if (rows, columns) == self.image:
            return x
        out = np.full((len(x), rows, columns, x.shape[3]), value, x.dtype)
        self.inner(out)[...] = x
        return out

    def inner(self, padded: Array) -> Array:
        """The image within a padded one, a view."""
        top, left = self.pads[0][0], self.pads[1][0]
        return padded[:, top : top + self.image[0], left : left + self.image[1]]

    def empty(self, batch: int, channels: int, dtype: Any) -> Array:
        """A padded image of zeros."""
        return np.zeros((batch, *self.whole, channels), dtype)

    def at(self, padded: Array, row: int, column: int) -> Array:
        """One element of every window, a view of shape [batch, windows, windows, channels]."""
        (down, across), (deep, wide) = self.windows.strides, self.windows.dilations
        top, left = row * deep, column * wide
        return padded[
            :,
            top : top + (self.counts[0] - 1) * down + 1 if self.counts[0] else top : down,
            left : left + (self.counts[1] - 1) * across + 1 if self.counts[1] else left : across,
        ]

    def elements(self) -> list[tuple[int, int]]:
        """Positions within a window, row by row."""
        return [(i, j) for i in range(self.size[0]) for j in range(self.size[1])]

    def matrix(self, x: Array) -> Array:
        """All windows of the NHWC image x: [batch * windows, elements of a window, channels]."""
        batch, _, _, channels = x.shape
        rows, columns = self.counts
        if self.size == (1, 1) and self.windows.strides == (1, 1) and self.whole == self.image:
            return x.reshape(-1, 1, channels)
        padded = np.ascontiguousarray(self.padded(x))
        n, h, w, c = padded.strides
        (down, across), (deep, wide) = self.windows.strides, self.windows.dilations
        view = np.lib.stride_tricks.as_strided(
            padded,
            (batch, rows, columns, *self.size, channels),
            (n, h * down, w * across, h * deep, w * wide, c),
            writeable=False,
        )
        return view.reshape(batch * rows * columns, self.size[0] * self.size[1], channels)
