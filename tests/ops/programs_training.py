"""Programs of optimizers: each form of each op, on the same gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.ops.programs import made


class Optimizer(NamedTuple):
    """What is known of an optimizer's ops: on handles, dense and, where there is one, sparse."""

    ops: tuple[str, ...]
    slots: tuple[str, ...]
    rates: Mapping[str, float]
    options: Sequence[Mapping[str, Any]] = ({},)
    gradient: str = "grad"
    types: tuple[str, ...] = ("float64", "float16")  # that TensorFlow has besides float32


RATES = {"lr": 0.125, "rho": 0.75, "momentum": 0.5, "epsilon": 0.25}
SHRINKING = ({"l1": 0.0}, {"l1": 0.25, "l2": 0.5})
OPTIMIZERS = {
    "adadelta": Optimizer(
        ("ResourceApplyAdadelta", "ResourceSparseApplyAdadelta"), ("accum", "accum_update"),
        {"lr": 0.5, "rho": 0.75, "epsilon": 0.25},
    ),
    "adagrad": Optimizer(
        ("ResourceApplyAdagrad", "ResourceSparseApplyAdagrad"), ("accum",), {"lr": 0.5},
        ({}, {"update_slots": False}),
    ),
    "adagrad_v2": Optimizer(
        ("ResourceApplyAdagradV2", "ResourceSparseApplyAdagradV2"), ("accum",),
        {"lr": 0.5, "epsilon": 0.25}, ({}, {"update_slots": False}),
    ),
    "adagrad_da": Optimizer(
        ("ResourceApplyAdagradDA", "ResourceSparseApplyAdagradDA"),
        ("gradient_accumulator", "gradient_squared_accumulator"),
        {"lr": 0.5, "l1": 0.0, "l2": 0.25, "global_step": 3}, SHRINKING, types=(),
    ),
    "adam": Optimizer(
        ("ResourceApplyAdam",), ("m", "v"),
        {"beta1_power": 0.5, "beta2_power": 0.75, "lr": 0.5, "beta1": 0.5, "beta2": 0.75,
         "epsilon": 0.25}, ({}, {"use_nesterov": True}),
    ),
    "ada_max": Optimizer(
        ("ResourceApplyAdaMax",), ("m", "v"),
        {"beta1_power": 0.5, "lr": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 0.25},
    ),
    "add_sign": Optimizer(
        ("ResourceApplyAddSign",), ("m",),
        {"lr": 0.5, "alpha": 1.5, "sign_decay": 0.75, "beta": 0.5},
    ),
    "power_sign": Optimizer(
        ("ResourceApplyPowerSign",), ("m",),
        {"lr": 0.5, "logbase": 1.0, "sign_decay": 0.75, "beta": 0.5},
    ),
    "centered_rms_prop": Optimizer(
        ("ResourceApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"), ("mg", "ms", "mom"),
        RATES,
    ),
    "rms_prop": Optimizer(
        ("ResourceApplyRMSProp", "ResourceSparseApplyRMSProp"), ("ms", "mom"), RATES
    ),
    "ftrl": Optimizer(
        ("ResourceApplyFtrl", "ResourceSparseApplyFtrl"), ("accum", "linear"),
        {"lr": 0.5, "l1": 0.0, "l2": 0.25, "lr_power": -0.5},
        ({"l1": 0.25}, {"lr_power": -0.75}, {"l1": 0.25, "multiply_linear_by_lr": True}),
    ),
    "ftrl_v2": Optimizer(
        ("ResourceApplyFtrlV2", "ResourceSparseApplyFtrlV2"), ("accum", "linear"),
        {"lr": 0.5, "l1": 0.25, "l2": 0.25, "l2_shrinkage": 0.125, "lr_power": -0.5},
        ({}, {"lr_power": -0.75, "multiply_linear_by_lr": True}),
    ),
    "momentum": Optimizer(
        ("ResourceApplyMomentum", "ResourceSparseApplyMomentum"), ("accum",),
        {"lr": 0.5, "momentum": 0.75}, ({}, {"use_nesterov": True}),
    ),
    "proximal_adagrad": Optimizer(
        ("ResourceApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"), ("accum",),
        {"lr": 0.5, "l1": 0.0, "l2": 0.25}, SHRINKING, types=("float64",),
    ),
    "proximal_gradient_descent": Optimizer(
        ("ResourceApplyProximalGradientDescent", "ResourceSparseApplyProximalGradientDescent"), (),
        {"alpha": 0.5, "l1": 0.0, "l2": 0.25}, SHRINKING, "delta", ("float64",),
    ),
}  # fmt: skip

VARIABLE = np.array([[1.0, -2.0, 0.5], [0.25, 0.0, -1.5]])
GRADIENT = np.array([[0.5, -0.25, 1.5], [2.0, 0.0, -1.0], [0.75, 1.0, -0.125]])
REPEATED = np.array([1, 0, 1])  # a row that comes twice is updated twice


def outcome(
    tf: Any, optimizer: Optimizer, op: str, dtype: Any, option: Mapping[str, Any], is_ref: bool
) -> list[Any]:
    """The variable and its slots after two steps."""
    is_sparse = "Sparse" in op
    with tf.Graph().as_default() as graph:
        starts = [VARIABLE, *(np.abs(VARIABLE) * (i + 1) + 1 for i in range(len(optimizer.slots)))]
        held = [tf.Variable(tf.constant(value, dtype), use_resource=not is_ref) for value in starts]
        given = dict(zip(("var", *optimizer.slots), held, strict=True))
        if not is_ref:
            given = {name: variable.handle for name, variable in given.items()}
        else:
            given = {name: variable.op.outputs[0] for name, variable in given.items()}
        rates = {**optimizer.rates, **{k: v for k, v in option.items() if k in optimizer.rates}}
        options = {k: v for k, v in option.items() if k not in optimizer.rates}
        for name, rate in rates.items():
            given[name] = tf.constant(rate, tf.int64 if name == "global_step" else dtype)
        gradient = GRADIENT if is_sparse else GRADIENT[:2]
        given["grad" if is_sparse else optimizer.gradient] = tf.constant(gradient, dtype)
        if is_sparse:
            given["indices"] = tf.constant(REPEATED, tf.int64 if is_ref else tf.int32)
        step = made(tf, op.removeprefix("Resource") if is_ref else op, **given, **options)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                session.run(step.op if hasattr(step, "op") else step)
            return list(session.run(held))


def program(name: str, optimizer: Optimizer) -> Callable[[Any], list[Any]]:
    """A program of all forms of an optimizer."""

    def run(tf: Any) -> list[Any]:
        found = []
        for op in optimizer.ops:
            for option in optimizer.options:
                found += outcome(tf, optimizer, op, tf.float32, option, False)
            found += outcome(tf, optimizer, op, tf.float32, optimizer.options[-1], True)
            for name in optimizer.types:
                found += outcome(tf, optimizer, op, getattr(tf, name), optimizer.options[0], False)
        return found

    run.__name__ = name
    return run


def what_does_not_fit(tf: Any) -> list[Any]:
    """Shapes that are known only when the op runs, and rows that there are not."""
    found: list[Any] = []
    with tf.Graph().as_default() as graph:
        held = [tf.Variable(tf.ones([2, 3]), use_resource=True) for _ in range(2)]
        gradient = tf.placeholder(tf.float32)
        rows = tf.placeholder(tf.int32)
        var, accum = held[0].handle, held[1].handle
        dense = made(tf, "ResourceApplyAdagrad", var=var, accum=accum, lr=0.5, grad=gradient)
        sparse = made(
            tf, "ResourceSparseApplyAdagrad", var=var, accum=accum, lr=0.5, grad=gradient,
            indices=rows,
        )  # fmt: skip
        with tf.Session(graph=graph) as session:
            session.run([v.initializer for v in held])
            for op, feeds in (
                (dense, {gradient: np.ones((3, 2))}),
                (dense, {gradient: np.ones(3)}),
                (sparse, {gradient: np.ones((1, 2)), rows: [0]}),
                (sparse, {gradient: np.ones((1, 3)), rows: [0, 1]}),
                (sparse, {gradient: np.ones((2, 3)), rows: [0, 2]}),
                (sparse, {gradient: np.ones((1, 3)), rows: [-1]}),
                (sparse, {gradient: np.ones((0, 3)), rows: np.zeros(0, np.int32)}),
            ):
                try:
                    session.run(op, feeds)
                    found.append("done")
                except tf.errors.OpError as error:
                    found.append(type(error).__name__)
    return found


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (
    *(program(name, optimizer) for name, optimizer in OPTIMIZERS.items()), what_does_not_fit,
)  # fmt: skip
