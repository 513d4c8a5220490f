"""Steps of optimizers, one function each.

A step takes a variable and its slots, which it updates in place, the gradient of all their
elements, and by name the rates, scalars of the elements' type, and options of its op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from graphvm_runtime.dtypes import Array


def _rest(rate: Any) -> Any:
    return rate.dtype.type(1) - rate


def proximal_gradient_descent(var: Array, grad: Array, *, alpha: Any, l1: Any, l2: Any) -> None:
    """Duchi and Singer, 2009 (FOBOS)."""
    var[...] = _shrunk(var - grad * alpha, alpha, l1, l2)


def _shrunk(value: Array, rate: Any, l1: Any, l2: Any) -> Any:
    """The proximal operator of both penalties."""
    if l1 > 0:
        value = np.sign(value) * np.maximum(np.abs(value) - rate * l1, l1.dtype.type(0))
    return value / (l1.dtype.type(1) + l2 * rate)


def momentum(
    var: Array, accum: Array, grad: Array, *, lr: Any, momentum: Any, use_nesterov: bool
) -> None:
    """Polyak, 1964; with Nesterov's correction as by Sutskever et al., 2013."""
    accum *= momentum
    accum += grad
    if use_nesterov:
        var -= grad * lr + accum * momentum * lr
    else:
        var -= accum * lr


def adagrad(var: Array, accum: Array, grad: Array, *, lr: Any, update_slots: bool) -> None:
    """Duchi, Hazan and Singer, 2011."""
    if update_slots:
        accum += grad * grad
    var -= grad * lr / np.sqrt(accum)


def adagrad_v2(
    var: Array, accum: Array, grad: Array, *, lr: Any, epsilon: Any, update_slots: bool
) -> None:
    """Adagrad with a number that keeps its divisor from zero."""
    if update_slots:
        accum += grad * grad
    var -= grad * lr / (np.sqrt(accum) + epsilon)


def proximal_adagrad(var: Array, accum: Array, grad: Array, *, lr: Any, l1: Any, l2: Any) -> None:
    """Adagrad with the proximal operator."""
    accum += grad * grad
    rate = lr / np.sqrt(accum)
    var[...] = _shrunk(var - grad * rate, rate, l1, l2)


def adagrad_da(
    var: Array,
    gradients: Array,
    squares: Array,
    grad: Array,
    *,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
) -> None:
    """Adagrad by dual averaging: the variable is what all gradients so far make of it."""
    gradients += grad
    squares += grad * grad
    total = gradients
    if l1 > 0:
        size = np.abs(gradients) - l1 * global_step
        total = np.sign(gradients) * np.maximum(size, l1.dtype.type(0))
    var[...] = -lr * total / (l2 * global_step * lr + np.sqrt(squares))


def adadelta(
    var: Array, accum: Array, updates: Array, grad: Array, *, lr: Any, rho: Any, epsilon: Any
) -> None:
    """Zeiler, 2012."""
    accum *= rho
    accum += grad * grad * _rest(rho)
    update = np.sqrt(updates + epsilon) / np.sqrt(accum + epsilon) * grad
    var -= update * lr
    updates *= rho
    updates += update * update * _rest(rho)


def rms_prop(
    var: Array, ms: Array, mom: Array, grad: Array, *, lr: Any, rho: Any, momentum: Any,
    epsilon: Any,
) -> None:  # fmt: skip
    """Tieleman and Hinton, 2012."""
    ms += (grad * grad - ms) * _rest(rho)
    mom *= momentum
    mom += grad * lr / np.sqrt(ms + epsilon)
    var -= mom


def centered_rms_prop(
    var: Array, mg: Array, ms: Array, mom: Array, grad: Array, *, lr: Any, rho: Any,
    momentum: Any, epsilon: Any,
) -> None:  # fmt: skip
    """RMSProp by the variance of gradients: Graves, 2013."""
    ms += (grad * grad - ms) * _rest(rho)
    mg += (grad - mg) * _rest(rho)
    mom *= momentum
    mom += grad * lr / np.sqrt(ms - mg * mg + epsilon)
    var -= mom


def adam(
    var: Array, m: Array, v: Array, grad: Array, *, beta1_power: Any, beta2_power: Any, lr: Any,
    beta1: Any, beta2: Any, epsilon: Any, use_nesterov: bool,
) -> None:  # fmt: skip
    """Kingma and Ba, 2015; with Nesterov's correction as by Dozat, 2016."""
    rate = lr * np.sqrt(_rest(beta2_power)) / _rest(beta1_power)
    rest1 = _rest(beta1)
    m += (grad - m) * rest1
    v += (grad * grad - v) * _rest(beta2)
    moved = grad * rest1 + beta1 * m if use_nesterov else m
    var -= moved * rate / (np.sqrt(v) + epsilon)


def ada_max(
    var: Array, m: Array, v: Array, grad: Array, *, beta1_power: Any, lr: Any, beta1: Any,
    beta2: Any, epsilon: Any,
) -> None:  # fmt: skip
    """Adam by the greatest gradient: Kingma and Ba, 2015."""
    m += (grad - m) * _rest(beta1)
    np.maximum(beta2 * v, np.abs(grad), out=v)
    var -= lr / _rest(beta1_power) * (m / (v + epsilon))


def add_sign(
    var: Array, m: Array, grad: Array, *, lr: Any, alpha: Any, sign_decay: Any, beta: Any
) -> None:
    """Bello et al., 2017: what agrees in sign moves further."""
    m *= beta
    m += grad * _rest(beta)
    var -= lr * (alpha + sign_decay * (np.sign(grad) * np.sign(m))) * grad


def power_sign(
    var: Array, m: Array, grad: Array, *, lr: Any, logbase: Any, sign_decay: Any, beta: Any
) -> None:
    """Bello et al., 2017: the agreement in sign as an exponent."""
    m *= beta
    m += grad * _rest(beta)
    var -= lr * np.exp(logbase * sign_decay * (np.sign(grad) * np.sign(m))) * grad


def ftrl(
    var: Array, accum: Array, linear: Array, grad: Array, *, lr: Any, l1: Any, l2: Any,
    lr_power: Any, multiply_linear_by_lr: bool, l2_shrinkage: Any = None,
) -> None:  # fmt: skip
    """Follow the regularized leader: McMahan et al., 2013."""
    new = accum + grad * grad
    if l2_shrinkage is not None:
        grad = grad + (l2_shrinkage + l2_shrinkage) * var
    after, before = _power(new, lr_power), _power(accum, lr_power)
    if multiply_linear_by_lr:
        linear += grad * lr - (after - before) * var
        divisor, limit = after + (l2 + l2) * lr, l1 * lr
    else:
        linear += grad - (after - before) / lr * var
        divisor, limit = after / lr + (l2 + l2), l1
    moved = (np.sign(linear) * limit - linear) / divisor
    var[...] = np.where(np.abs(linear) > limit, moved, limit.dtype.type(0))
    accum[...] = new


def _power(value: Array, lr_power: Any) -> Any:
    return np.sqrt(value) if lr_power == -0.5 else np.power(value, -lr_power)


def _forms(name: str) -> tuple[str, ...]:
    return (f"ResourceApply{name}", f"ResourceSparseApply{name}")


# the ops that take the step
STEPS: Final[Mapping[tuple[str, ...], Callable[..., None]]] = {
    ("ResourceApplyAdaMax",): ada_max,
    _forms("Adadelta"): adadelta,
    _forms("Adagrad"): adagrad,
    _forms("AdagradDA"): adagrad_da,
    _forms("AdagradV2"): adagrad_v2,
    ("ResourceApplyAdam",): adam,
    ("ResourceApplyAddSign",): add_sign,
    _forms("CenteredRMSProp"): centered_rms_prop,
    _forms("Ftrl"): ftrl,
    _forms("FtrlV2"): ftrl,
    _forms("Momentum"): momentum,
    ("ResourceApplyPowerSign",): power_sign,
    _forms("ProximalAdagrad"): proximal_adagrad,
    _forms("ProximalGradientDescent"): proximal_gradient_descent,
    _forms("RMSProp"): rms_prop,
}
