"""Windows that slide over the spatial axes of images, two or more: all convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from graphvm_runtime.errors import InvalidArgumentError, UnimplementedError
from graphvm_runtime.ops.shape_functions import refused
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Dim

LAYOUTS = {4: b"NHWC", 5: b"NDHWC"}  # by rank, of ops that have no other


def is_channels_first(layout: bytes) -> bool:
    """Whether the channels come before the spatial axes."""
    return layout.startswith(b"NC")


def spatial_axes(layout: bytes) -> tuple[int, ...]:
    """The axes that windows slide over: of rows and columns, before them that of depth."""
    first = 2 if is_channels_first(layout) else 1
    return tuple(range(first, first + len(layout) - 2))


def channel_axis(layout: bytes) -> int:
    """The axis of the channels."""
    return 1 if is_channels_first(layout) else len(layout) - 1


D = TypeVar("D", int, Dim)


def shape_last(shape: Sequence[D], layout: bytes) -> tuple[D, ...]:
    """The shape of an image of that layout with its channels last."""
    batch, *rest = shape
    return (batch, *rest[1:], rest[0]) if is_channels_first(layout) else (batch, *rest)


def shape_as(shape: Sequence[D], layout: bytes) -> tuple[D, ...]:
    """The shape of an image whose channels are last in a layout."""
    batch, *spatial, channels = shape
    if is_channels_first(layout):
        return (batch, channels, *spatial)
    return (batch, *spatial, channels)


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows slide, over each spatial axis.

    Attributes:
        layout: of the image, `NHWC` or the like.
        strides: from one window to the next.
        dilations: from one element of a window to the next.
        padding: SAME, VALID or EXPLICIT.
        explicit: padding before and after, where it is EXPLICIT.
    """

    layout: bytes
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: bytes
    explicit: tuple[tuple[int, int], ...]

    def padded(self, axis: int, size: int, window: int, count: int) -> tuple[int, int]:
        """Padding before and after a spatial axis (0 is the first), for that many windows."""
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


def windows_of(attrs: Attrs, sizes: str = "", dilations: str = "dilations") -> Windows:
    """The windows that the attributes of an op describe.

    Args:
        attrs: with `strides`, `padding`, and perhaps `data_format` and dilations.
        sizes: name of an attribute with window sizes, to be checked too.
        dilations: name of the attribute with the dilations.

    Raises:
        ShapeError: attributes are not positive, of another rank, or wrong explicit paddings.
        UnimplementedError: windows would slide over the batch.
    """
    layout: bytes = attrs.get("data_format") or LAYOUTS[4 if len(attrs["strides"]) == 4 else 5]
    rank = len(layout)
    axes = spatial_axes(layout)
    strides = positive_of_rank("strides", attrs["strides"], rank)
    gaps = positive_of_rank(dilations, attrs.get(dilations, (1,) * rank), rank)
    if sizes and positive_of_rank(sizes, attrs[sizes], rank)[0] != 1:
        raise UnimplementedError("windows over the batch are not supported")
    if strides[0] != 1 or gaps[0] != 1:
        raise UnimplementedError("strides and dilations over the batch are not supported")
    return Windows(
        layout,
        tuple(strides[axis] for axis in axes),
        tuple(gaps[axis] for axis in axes),
        attrs["padding"],
        _explicit(attrs, layout),
    )


def _explicit(attrs: Attrs, layout: bytes) -> tuple[tuple[int, int], ...]:
    """Explicit padding before and after each spatial axis; none where the op pads by itself."""
    axes = spatial_axes(layout)
    explicit = tuple(attrs.get("explicit_paddings", ()))
    if attrs["padding"] == b"EXPLICIT":
        if len(explicit) != 2 * len(layout) or min(explicit) < 0:
            raise refused(
                f"explicit paddings are {2 * len(layout)} numbers, none negative, got {explicit}"
            )
        both = [(explicit[2 * i], explicit[2 * i + 1]) for i in range(len(layout))]
        if any(both[0]) or any(both[channel_axis(layout)]):
            raise refused(f"batch and channels are not padded, got {explicit}")
        return tuple(both[axis] for axis in axes)
    if explicit:
        raise refused(f"explicit paddings with padding={attrs['padding'].decode(errors='replace')}")
    return ((0, 0),) * len(axes)


def positive_of_rank(name: str, values: Sequence[int], rank: int) -> tuple[int, ...]:
    """The values of an attribute, one for each axis. Raises ShapeError where they are not that."""
    if len(values) != rank or min(values) < 1:
        raise refused(f"{name} must be {rank} positive numbers, got {list(values)}")
    return tuple(values)
