"""Images as kernels of convolutions and pools take them: channels last, padded, in windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ops.windows import Windows, is_channels_first

# bytes of the windows of one tile: as many as caches hold
TILE = 1 << 22


def channels_last(x: Array, layout: bytes) -> Array:
    """The image with its channels last, a view."""
    return np.moveaxis(x, 1, -1) if is_channels_first(layout) else x


def laid_out(x: Array, layout: bytes) -> Array:
    """An image whose channels are last in a layout, a view."""
    return np.moveaxis(x, -1, 1) if is_channels_first(layout) else x


def check_image(name: str, x: Array, rank: int = 4) -> None:
    """Raises InvalidArgumentError where the rank is another one."""
    if x.ndim != rank:
        raise InvalidArgumentError(f"{name} has rank {rank}, got the shape {list(x.shape)}")


def check_gradient(gradient: Array, want: tuple[int, ...]) -> None:
    """Raises InvalidArgumentError where a gradient has not the shape of the output."""
    if gradient.shape != want:
        raise InvalidArgumentError(
            f"a gradient of shape {list(gradient.shape)} where the output has {list(want)}"
        )


class Placed:
    """Windows placed on an image whose spatial axes have certain sizes.

    Attributes:
        counts: how many windows there are, over each spatial axis.
        pads: padding before and after, of each.
    """

    def __init__(self, windows: Windows, image: tuple[int, ...], size: tuple[int, ...]) -> None:
        self.windows = windows
        self.image = image
        self.size = size
        self.axes = range(len(image))
        self.counts = tuple(windows.counted(i, image[i], size[i]) for i in self.axes)
        self.pads = tuple(windows.padded(i, image[i], size[i], self.counts[i]) for i in self.axes)

    @property
    def whole(self) -> tuple[int, ...]:
        """Sizes of the padded image; windows never reach beyond it."""
        return tuple(
            max(
                self.image[i] + sum(self.pads[i]),
                (self.counts[i] - 1) * self.windows.strides[i]
                + (self.size[i] - 1) * self.windows.dilations[i]
                + 1,
            )
            for i in self.axes
        )

    @property
    def is_disjoint(self) -> bool:
        """Whether no element is in two windows."""
        windows = self.windows
        return all(
            (self.size[i] - 1) * windows.dilations[i] < windows.strides[i] for i in self.axes
        )

    def padded(self, x: Array, value: Any = 0) -> Array:
        """The image, channels last, with its padding."""
        if self.whole == self.image:
            return x
        out = np.full((len(x), *self.whole, x.shape[-1]), value, x.dtype)
        self.inner(out)[...] = x
        return out

    def inner(self, padded: Array) -> Array:
        """The image within a padded one, a view."""
        inside = (slice(p[0], p[0] + n) for p, n in zip(self.pads, self.image, strict=True))
        return padded[(slice(None), *inside)]

    def empty(self, batch: int, channels: int, dtype: Any) -> Array:
        """A padded image of zeros."""
        return np.zeros((batch, *self.whole, channels), dtype)

    def at(self, padded: Array, *position: int) -> Array:
        """One element of every window, a view of shape [batch, windows ..., channels]."""
        index = [slice(None)]
        for i, at in enumerate(position):
            first, stride = at * self.windows.dilations[i], self.windows.strides[i]
            last = first + (self.counts[i] - 1) * stride + 1 if self.counts[i] else first
            index.append(slice(first, last, stride))
        return padded[tuple(index)]

    def elements(self) -> list[tuple[int, ...]]:
        """Positions within a window, row by row."""
        return list(itertools.product(*map(range, self.size)))

    def matrix(self, x: Array) -> Array:
        """All windows of the image x: [batch * windows, elements of a window, channels]."""
        if self._is_image():
            return x.reshape(math.prod(x.shape[:-1]), 1, x.shape[-1])
        return self._rows(self._view(x))

    def tiles(self, x: Array) -> Iterator[tuple[slice, Array]]:
        """The rows of `matrix`, some at a time, with the slice that they are."""
        each = math.prod(self.counts[1:])  # windows in one slice of the image
        count, bytes_ = each * self.counts[0] * len(x), math.prod(self.size) * x.shape[-1]
        slices = TILE // max(each * bytes_ * x.itemsize, 1)
        if self._is_image() or slices >= self.counts[0] * len(x):
            yield slice(0, count), self.matrix(x)
            return
        view = self._view(x)
        step, images = max(min(slices, self.counts[0]), 1), max(slices // self.counts[0], 1)
        for image in range(0, len(x), images):
            for top in range(0, self.counts[0], step):
                rows = self._rows(view[image : image + images, top : top + step])
                first = (image * self.counts[0] + top) * each
                yield slice(first, first + len(rows)), rows

    def _is_image(self) -> bool:
        """Whether each window is one element, and each element a window."""
        return (
            math.prod(self.size) == math.prod(self.windows.strides) == 1
            and self.whole == self.image
        )

    def _view(self, x: Array) -> Array:
        """All windows as a view, [batch, windows ..., elements ..., channels]."""
        padded = np.ascontiguousarray(self.padded(x))
        batch, *spatial, channel = padded.strides
        windows = self.windows
        return np.lib.stride_tricks.as_strided(
            padded,
            (len(x), *self.counts, *self.size, x.shape[-1]),
            (
                batch,
                *(a * b for a, b in zip(spatial, windows.strides, strict=True)),
                *(a * b for a, b in zip(spatial, windows.dilations, strict=True)),
                channel,
            ),
            writeable=False,
        )

    def _rows(self, view: Array) -> Array:
        batch, *counts = view.shape[: 1 + len(self.axes)]
        return view.reshape(batch * math.prod(counts), math.prod(self.size), view.shape[-1])
