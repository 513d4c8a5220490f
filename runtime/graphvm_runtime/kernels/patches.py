"""Windows cut out of images and volumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.windows import Placed, check_image
from graphvm_runtime.ops.patches import patch_windows


@kernel("ExtractImagePatches", "ExtractVolumePatches")
def _patches(node: Node) -> Callable[..., Any]:
    windows, sizes = patch_windows(node.attrs)

    def call(images: Array) -> Any:
        check_image("images", images, len(windows.layout))
        placed = Placed(windows, images.shape[1:-1], sizes)
        shape = (len(images), *placed.counts, math.prod(sizes) * images.shape[-1])
        return placed.matrix(images).reshape(shape)

    return call
