"""Rows of activations."""

from __future__ import annotations

import math

import numpy as np

from tests.ops.plain import each
from tests.ops.rows import Row, Wrong, given
from tests.ops.table_math import pair, unary
from tests.ops.windows import LOOSE

SCALE, SCALE_ALPHA = 1.0507009873554805, 1.7580993408473768
_M23 = np.zeros((2, 3), np.float32)
_DIFFER = (Wrong(given(_M23, _M23.T), r"differ", "a gradient of shape"),)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


ROWS = (
    Row("LeakyRelu", unary(), each(lambda x: x if not x <= 0 else x * float(np.float32(0.2)))),
    Row("LeakyReluGrad", pair(), each(lambda g, x: g if x > 0 else g * float(np.float32(0.2))),
        wrong=_DIFFER),
    Row("Relu6", unary(), each(lambda x: x if x != x else min(max(x, 0), 6))),
    Row("Relu6Grad", pair(), each(lambda g, x: g if 0 < x < 6 else 0), wrong=_DIFFER),
    Row("Elu", unary(), each(lambda x: math.expm1(x) if x < 0 else x)),
    Row("EluGrad", pair(), each(lambda g, y: g * (y + 1) if y < 0 else g), tolerance=LOOSE,
        wrong=_DIFFER),
    Row("Selu", unary(), each(lambda x: SCALE_ALPHA * math.expm1(x) if x < 0 else SCALE * x)),
    Row("SeluGrad", pair(), each(lambda g, y: g * (y + SCALE_ALPHA) if y < 0 else g * SCALE),
        tolerance=LOOSE, wrong=_DIFFER),
    Row(
        "Softplus", unary(),
        each(lambda x: x if x != x else max(x, 0) + math.log1p(math.exp(-abs(x)))),
    ),
    Row("SoftplusGrad", pair(), each(lambda g, x: g * _logistic(x)), tolerance=LOOSE,
        wrong=_DIFFER),
    Row("Softsign", unary(), each(lambda x: x / (1 + abs(x)))),
    Row("SoftsignGrad", pair(), each(lambda g, x: g / (1 + abs(x)) ** 2), tolerance=LOOSE,
        wrong=_DIFFER),
)  # fmt: skip
