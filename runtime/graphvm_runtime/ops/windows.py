"""Windows that slide over the two spatial axes of images: convolutions and pools share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from graphvm_runtime.errors import InvalidArgumentError, UnimplementedError
from graphvm_runtime.ops.shape_functions import refused
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Dim


def spatial_axes(layout: bytes) -> tuple[int, int]:
    """The axes of rows and columns."""
    return (2, 3) if layout == b"NCHW" else (1, 2)


def channel_axis(layout: bytes) -> int:
    """The axis of the channels."""
    return 1 if layout == b"NCHW" else 3


D = TypeVar("D", int, Dim)


def shape_last(shape: Sequence[D], layout: bytes) -> tuple[D, D, D, D]:
    """The shape of an image of that layout as NHWC."""
    batch, one, two, three = shape
    return (batch, two, three, one) if layout == b"NCHW" else (batch, one, two, three)


def shape_as(shape: Sequence[D], layout: bytes) -> tuple[D, D, D, D]:
    """The shape of an NHWC image in a layout."""
    batch, rows, columns, channels = shape
    if layout == b"NCHW":
        return batch, channels, rows, columns
    return batch, rows, columns, channels


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows slide, over rows and over columns.

    Attributes:
        layout: NHWC or NCHW.
        strides: from one window to the next.
        dilations: from one element of a window to the next.
        padding: SAME, VALID or EXPLICIT.
        explicit: padding before and after, where it is EXPLICIT.
    """

    layout: bytes
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: bytes
    explicit: tuple[tuple[int, int], tuple[int, int]]

    def padded(self, axis: int, size: int, window: int, count: int) -> tuple[int, int]:
        """Padding before and after the rows (axis 0) or columns (1), for that many windows."""
        if self.padding == b"EXPLICIT":
            return self.explicit[axis]
        if self.padding == b"VALID":
            return 0, 0
        reach = (count - 1) * self.strides[axis] + (window - 1) * self.dilations[axis] + 1
        missing = max(0, reach - size)
        return missing // 2, missing - missing // 2

    def count(self, axis: int, size: int, window: int) -> int:
        """How many windows of that size fit; negative where there is room for none by far."""
        stride = self.strides[axis]
        if self.padding == b"SAME":
            return -(-size // stride)
        before, after = self.explicit[axis] if self.padding == b"EXPLICIT" else (0, 0)
        reach = (window - 1) * self.dilations[axis] + 1
        room = size + before + after - reach + stride
        return room // stride if room >= 0 else -1

    def counted(self, axis: int, size: int, window: int) -> int:
        """`count`, when it runs. Raises InvalidArgumentError where there is no room."""
        count = self.count(axis, size, window)
        if count < 0:
            raise InvalidArgumentError(
                f"a window of {window} does not fit into {size} elements: the output would have "
                "a negative size"
            )
        return count

    def static(self, axis: int, size: Dim, window: Dim) -> Dim:
        """`count` of what is known of the sizes."""
        if self.padding == b"SAME":
            return None if size is None else -(-size // self.strides[axis])
        if size is None or window is None:
            return None
        before, after = self.explicit[axis] if self.padding == b"EXPLICIT" else (0, 0)
        reach = (window - 1) * self.dilations[axis] + 1
        if size + before + after < reach:
            raise refused(
                f"a window that reaches over {reach} elements is larger than the "
                f"{size + before + after} of the padded input",
            )
        return self.count(axis, size, window)


def windows_of(attrs: Attrs, sizes: str = "") -> Windows:
    """The windows that the attributes of an op describe.

    Args:
        attrs: with `strides`, `padding`, `data_format` and perhaps `dilations`.
        sizes: name of an attribute with window sizes, to be checked too.

    Raises:
        ShapeError: attributes break C1 or C2.
        UnimplementedError: windows would slide over the batch.
    """
    layout: bytes = attrs["data_format"]
    rows, columns = spatial_axes(layout)
    strides = _four("strides", attrs["strides"])
    dilations = _four("dilations", attrs.get("dilations", (1, 1, 1, 1)))
    if sizes:
        window = _four(sizes, attrs[sizes])
        if window[0] != 1:
            raise UnimplementedError("windows over the batch are not supported")
    if strides[0] != 1 or dilations[0] != 1:
        raise UnimplementedError("strides and dilations over the batch are not supported")
    explicit = tuple(attrs.get("explicit_paddings", ()))
    pairs = ((0, 0), (0, 0))
    if attrs["padding"] == b"EXPLICIT":
        if len(explicit) != 8 or min(explicit) < 0:
            raise refused(f"explicit paddings are 8 numbers, none negative, got {explicit}")
        both = [(explicit[2 * i], explicit[2 * i + 1]) for i in range(4)]
        if any(both[0]) or any(both[channel_axis(layout)]):
            raise refused(f"batch and channels are not padded, got {explicit}")
        pairs = (both[rows], both[columns])
    elif explicit:
        raise refused(f"explicit paddings with padding={attrs['padding'].decode(errors='replace')}")
    return Windows(
        layout,
        (strides[rows], strides[columns]),
        (dilations[rows], dilations[columns]),
        attrs["padding"],
        pairs,
    )


def _four(name: str, values: Sequence[int]) -> tuple[int, ...]:
    if len(values) != 4 or min(values) < 1:
        raise refused(f"{name} are four positive numbers, got {list(values)}")
    return tuple(values)
