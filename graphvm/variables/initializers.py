"""Initial values of variables, by rule.

An initializer is called with a shape and an element type and gives a tensor. The names in lower
case are TensorFlow's `tf.initializers`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from graphvm.graph.conversion import TensorLike
from graphvm.graph.graph import Tensor
from graphvm.graph.tensor_shape import as_plain_shape
from graphvm.ops import array, random
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "Initializer", "Ones", "RandomNormal",
    "RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "get",
    "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal",
    "lecun_uniform", "ones", "random_normal", "random_uniform", "truncated_normal",
    "variance_scaling", "zeros",
]  # fmt: skip

# Standard deviation of a standard normal distribution cut off at two deviations.
_TRUNCATED = 0.87962566103423978


class Initializer(ABC):
    """Gives the initial value of a variable.

    Source: `tf.initializers`.
    """

    dtype: object = dtypes.float32

    @abstractmethod
    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value.

        Args:
            shape: of the variable.
            dtype: element type; that of the initializer otherwise.
            partition_info: not looked at: variables are whole.
        """

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {
            key: as_dtype(value).name if key == "dtype" else value
            for key, value in vars(self).items()
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer of these arguments."""
        return cls(**config)


class Zeros(Initializer):
    """Zeros.

    Args:
        dtype: element type.
    """

    def __init__(self, dtype: object = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        return array.zeros(shape, self.dtype if dtype is None else dtype)


class Ones(Initializer):
    """Ones.

    Args:
        dtype: element type.
    """

    def __init__(self, dtype: object = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        return array.ones(shape, self.dtype if dtype is None else dtype)


class Constant(Initializer):
    """A value that is given.

    Args:
        value: a number or an array; one of fewer elements than the variable is filled up with its
            last one.
        dtype: element type.
        verify_shape: refuse a value of another shape.
    """

    def __init__(
        self, value: Any = 0, dtype: object = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(f"a constant initializer needs a number or an array, not {value!r}")
        self.value = value
        self.dtype = as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        kind = self.dtype if dtype is None else dtype
        return array.constant(self.value, kind, shape, verify_shape=self.verify_shape)


class RandomUniform(Initializer):
    """Random numbers, each as likely as any other in [minval, maxval).

    Args:
        minval: the least.
        maxval: the bound above; 1 by default.
        seed: the seed of the operation.
        dtype: element type.
    """

    def __init__(
        self,
        minval: float = 0.0,
        maxval: float | None = None,
        seed: int | None = None,
        dtype: object = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        kind = self.dtype if dtype is None else dtype
        return random.random_uniform(shape, self.minval, self.maxval, kind, self.seed)


class RandomNormal(Initializer):
    """Random numbers of a normal distribution.

    Args:
        mean: of the distribution.
        stddev: its standard deviation.
        seed: the seed of the operation.
        dtype: element type.
    """

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 1.0,
        seed: int | None = None,
        dtype: object = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _floating(dtype)

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        kind = self.dtype if dtype is None else dtype
        return random.random_normal(shape, self.mean, self.stddev, kind, self.seed)


class TruncatedNormal(RandomNormal):
    """Random numbers of a normal distribution, none further than two deviations from its mean.

    Args:
        mean: of the distribution.
        stddev: its standard deviation before the tails are cut off.
        seed: the seed of the operation.
        dtype: element type.
    """

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        kind = self.dtype if dtype is None else dtype
        return random.truncated_normal(shape, self.mean, self.stddev, kind, self.seed)


class VarianceScaling(Initializer):
    """Random numbers whose variance fits the number of inputs and outputs.

    Args:
        scale: the variance is `scale / n`.
        mode: n is the number of inputs (`fan_in`), of outputs (`fan_out`), or their mean
            (`fan_avg`).
        distribution: `truncated_normal` (or `normal`), `untruncated_normal` or `uniform`.
        seed: the seed of the operation.
        dtype: element type.

    Raises:
        GraphError: an argument is none of these.

    Source: `tf.initializers.variance_scaling`.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: object = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise GraphError(f"scale must be above 0, not {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise GraphError(f"there is no mode {mode!r}: fan_in, fan_out or fan_avg")
        distribution = distribution.lower()
        kinds = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        if distribution not in kinds:
            raise GraphError(f"there is no distribution {distribution!r}: one of {kinds}")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = _floating(dtype)

    def __call__(
        self, shape: TensorLike, dtype: object = None, partition_info: object = None
    ) -> Tensor:
        """The initial value."""
        kind = self.dtype if dtype is None else dtype
        inputs, outputs = _fans(as_plain_shape(shape))
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random.random_uniform(shape, -limit, limit, kind, self.seed)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, math.sqrt(variance), kind, self.seed)
        stddev = math.sqrt(variance) / _TRUNCATED
        return random.truncated_normal(shape, 0.0, stddev, kind, self.seed)


class GlorotUniform(VarianceScaling):
    """Random numbers that keep the variance of values and of gradients.

    Args:
        seed: the seed of the operation.
        dtype: element type.

    Source: Glorot and Bengio (2010); the default of `get_variable`.
    """

    def __init__(self, seed: int | None = None, dtype: object = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": as_dtype(self.dtype).name}


class GlorotNormal(VarianceScaling):
    """As GlorotUniform, of a truncated normal distribution.

    Args:
        seed: the seed of the operation.
        dtype: element type.

    Source: Glorot and Bengio (2010).
    """

    def __init__(self, seed: int | None = None, dtype: object = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": as_dtype(self.dtype).name}


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal numbers of variance 2 / inputs; He et al. (2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers of variance 2 / inputs; He et al. (2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal numbers of variance 1 / inputs; LeCun et al. (1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers of variance 1 / inputs; LeCun et al. (1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def get(identifier: Any) -> Any:
    """An initializer by name, class or object.

    Args:
        identifier: None, a name of this module, an initializer, or a function.

    Raises:
        GraphError: there is no such initializer.
    """
    if identifier is None or callable(identifier):
        return identifier() if isinstance(identifier, type) else identifier
    found = globals().get(identifier) if isinstance(identifier, str) else None
    if found is None or not callable(found) or identifier not in __all__:
        raise GraphError(f"there is no initializer {identifier!r}")
    return found()


def _floating(dtype: object) -> dtypes.DType:
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise DTypeError(f"random initial values are floating, not {kind.name}")
    return kind


def _fans(shape: Any) -> tuple[float, float]:
    """Numbers of inputs and outputs of weights of a shape."""
    if shape is None or None in shape:
        raise ShapeError("the shape must be known whole to scale a variance")
    if len(shape) < 2:
        count = float(shape[0]) if shape else 1.0
        return count, count
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
ones = Ones
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros
