"""Windows that slide over images, one by one: for references of convolutions and pools."""

from __future__ import annotations

import math
from typing import Any

ONE = (1, 1, 1, 1)
LOOSE = {"float16": 8e-3, "bfloat16": 6e-2, "float32": 2e-5, "float64": 1e-12}


def laid_out(x: Any, attrs: dict[str, Any]) -> Any:
    """An NHWC image in the layout of the attributes."""
    return x.transpose(0, 3, 1, 2) if attrs.get("data_format") == b"NCHW" else x


def last(x: Any, attrs: dict[str, Any]) -> Any:
    """An image of the layout of the attributes as NHWC."""
    return x.transpose(0, 2, 3, 1) if attrs.get("data_format") == b"NCHW" else x


def places(
    attrs: dict[str, Any], image: tuple[int, ...], window: tuple[int, ...]
) -> list[tuple[tuple[int, int], list[tuple[int, int, int, int]]]]:
    """Each window with its elements that lie on the image: (i, j in it, row, column)."""
    rows = 2 if attrs.get("data_format") == b"NCHW" else 1
    strides = attrs["strides"][rows : rows + 2]
    dilations = attrs.get("dilations", ONE)[rows : rows + 2]
    starts = []
    for axis in (0, 1):
        size, reach = image[axis], (window[axis] - 1) * dilations[axis] + 1
        before = after = 0
        if attrs["padding"] == b"SAME":
            count = math.ceil(size / strides[axis])
            before = max(0, (count - 1) * strides[axis] + reach - size) // 2
        else:
            if attrs["padding"] == b"EXPLICIT":
                at = 2 * (rows + axis)
                before, after = attrs["explicit_paddings"][at : at + 2]
            count = (size + before + after - reach) // strides[axis] + 1
        starts.append([n * strides[axis] - before for n in range(count)])
    out = []
    for (a, top), (b, left) in ((p, q) for p in enumerate(starts[0]) for q in enumerate(starts[1])):
        inside = [
            (i, j, top + i * dilations[0], left + j * dilations[1])
            for i in range(window[0]) for j in range(window[1])
            if 0 <= top + i * dilations[0] < image[0] and 0 <= left + j * dilations[1] < image[1]
        ]  # fmt: skip
        out.append(((a, b), inside))
    return out


def output_size(attrs: dict[str, Any], image: Any, window: Any) -> tuple[int, int]:
    """How many windows there are."""
    found = places(attrs, image, window)
    return (max(a for (a, _), _ in found) + 1, max(b for (_, b), _ in found) + 1)
