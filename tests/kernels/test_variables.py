"""Variables: state, errors, and writes in place that no reader can see."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)
from graphvm_runtime.kernels import made
from graphvm_runtime.values.resources import Variable
from tests.kernels.calling import Bench


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def variable(bench: Bench, value: Any = None, name: str = "v", op: str = "VarHandleOp") -> Variable:
    found: Variable = bench(op, dtype=dtypes.float32, shape=None, shared_name=name.encode())
    if value is not None:
        bench("AssignVariableOp", found, value, dtype=dtypes.float32)
    return found


def test_a_name_stands_for_one_variable_from_step_to_step() -> None:
    bench = Bench()
    first = variable(bench, ones(2))
    bench.step = bench.new_step()
    assert variable(bench) is first
    assert variable(bench, name="other") is not first


def test_a_variable_that_was_dropped_is_made_anew() -> None:
    bench = Bench()
    kernel = made(bench.node("VarHandleOp", dtype=dtypes.float32, shape=()))
    first = kernel.call(bench.step)
    assert kernel.call(bench.step) is first
    bench.resources.clear()
    second = kernel.call(bench.step)
    assert second is not first
    bench.resources.forget(second)
    assert kernel.call(bench.step) is not second
    assert kernel.call(Bench().step) is not kernel.call(bench.step)


def test_a_variable_without_a_shared_name_is_called_as_its_node() -> None:
    bench = Bench()
    a = bench("VarHandleOp", name="a", dtype=dtypes.float32, shape=())
    assert a is bench("VarHandleOp", name="a", dtype=dtypes.float32, shape=())
    assert a is not bench("VarHandleOp", name="b", dtype=dtypes.float32, shape=())
    assert a.name == "a"


def test_a_container_has_names_of_its_own() -> None:
    bench = Bench()
    a = bench("VarHandleOp", name="a", container=b"c", dtype=dtypes.float32, shape=())
    assert a is not bench("VarHandleOp", name="a", dtype=dtypes.float32, shape=())


def test_assign_keeps_the_array_that_it_is_given() -> None:
    bench = Bench()
    value = ones(3)
    assert variable(bench, value).value is value


def test_assign_keeps_no_part_of_a_greater_array() -> None:
    bench = Bench()
    value = ones(100)[:3]
    kept = variable(bench, value).value
    assert kept is not None
    assert kept.base is None
    np.testing.assert_array_equal(kept, value)


def test_assign_keeps_an_array_that_can_be_written() -> None:
    bench = Bench()
    held = variable(bench, np.broadcast_to(np.float32(1), (3,)))
    bench("AssignAddVariableOp", held, ones(3), dtype=dtypes.float32)
    assert held.value is not None
    assert held.value.tolist() == [2, 2, 2]


def test_an_update_is_in_place_when_nobody_holds_the_array() -> None:
    bench = Bench()
    held = variable(bench, ones(3))
    before = id(held.value)
    bench("AssignAddVariableOp", held, ones(3), dtype=dtypes.float32)
    bench("AssignSubVariableOp", held, 3 * ones(3), dtype=dtypes.float32)
    assert id(held.value) == before
    assert held.read().tolist() == [-1, -1, -1]


@pytest.mark.parametrize("part", [slice(None), slice(1, 2)])
def test_an_update_leaves_alone_what_a_reader_holds(part: slice) -> None:
    bench = Bench()
    held = variable(bench, ones(3))
    read = bench("ReadVariableOp", held, dtype=dtypes.float32)[part]
    bench("AssignAddVariableOp", held, ones(3), dtype=dtypes.float32)
    assert set(read.tolist()) == {1.0}
    assert held.read().tolist() == [2, 2, 2]


def test_a_read_is_declared_to_be_borrowed() -> None:
    bench = Bench()
    held = variable(bench, ones(3))
    kernel = made(bench.node("ReadVariableOp", held, dtype=dtypes.float32))
    assert kernel.borrowed
    assert kernel.expression.format("v") == "v.read()"


def test_scalars_are_replaced() -> None:
    bench = Bench()
    held = variable(bench, np.float32(1))
    read = held.read()
    bench("AssignAddVariableOp", held, np.float32(2), dtype=dtypes.float32)
    assert read == 1
    assert held.read() == 3


def test_a_reader_waits_for_a_write_in_place() -> None:
    held = Variable("v", Bench().node("VarHandleOp", dtype=dtypes.float32, shape=()).outputs[0])
    held.value = np.zeros(4, np.float32)
    entered, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def slow(value: Any, operand: Any, out: Any = None) -> Any:
        entered.set()
        assert leave.wait(10)
        return np.add(value, operand, out)

    writer = threading.Thread(target=held.update, args=(slow, ones(4)))
    writer.start()
    assert entered.wait(10)
    reader = threading.Thread(target=lambda: seen.append(held.read().copy()))
    reader.start()
    leave.set()
    writer.join(10)
    reader.join(10)
    assert seen[0].tolist() == [1, 1, 1, 1]


def test_a_read_before_the_first_assignment_names_the_variable() -> None:
    bench = Bench()
    held = variable(bench)
    with pytest.raises(FailedPreconditionError, match="variable 'v' is read before"):
        bench("ReadVariableOp", held, dtype=dtypes.float32)
    with pytest.raises(FailedPreconditionError, match="variable 'v' is read before"):
        bench("VariableShape", held)


@pytest.mark.parametrize(
    ("op", "error"), [("VarHandleOp", NotFoundError), ("_Reference", FailedPreconditionError)]
)
def test_an_update_before_the_first_assignment_fails_as_in_tensorflow(op: str, error: Any) -> None:
    bench = Bench()
    with pytest.raises(error, match="variable 'v' is updated before"):
        bench("AssignAddVariableOp", variable(bench, op=op), ones(1), dtype=dtypes.float32)


def test_an_update_of_another_shape_is_refused() -> None:
    bench = Bench()
    with pytest.raises(InvalidArgumentError, match=r"shape \[3\] cannot be updated .* \[2\]"):
        bench("AssignAddVariableOp", variable(bench, ones(3)), ones(2), dtype=dtypes.float32)


def test_an_assignment_checks_the_shape_where_it_is_told_to() -> None:
    bench = Bench()
    held = bench("VarHandleOp", dtype=dtypes.float32, shape=(2, None))
    bench("AssignVariableOp", held, ones(3), dtype=dtypes.float32)
    with pytest.raises(InvalidArgumentError, match=r"shape \[3\] for variable .* \[2,\?\]"):
        bench("AssignVariableOp", held, ones(3), dtype=dtypes.float32, validate_shape=True)


def test_initialised_and_shape_are_told() -> None:
    bench = Bench()
    held = variable(bench)
    assert not bench("VarIsInitializedOp", held)
    bench("AssignVariableOp", held, ones(2, 3), dtype=dtypes.float32)
    assert bench("VarIsInitializedOp", held)
    shape = bench("VariableShape", held, out_type=dtypes.int64)
    assert shape.tolist() == [2, 3]
    assert shape.dtype == np.int64


def test_gradient_descent() -> None:
    bench = Bench()
    held = variable(bench, ones(2))
    before = id(held.value)
    bench("ResourceApplyGradientDescent", held, np.float32(0.5), np.array([1, 2], np.float32))
    assert held.read().tolist() == [0.5, 0.0]
    assert id(held.value) == before


def adam_step(value: Any, m: Any, v: Any, g: Any, t: int, nesterov: bool) -> tuple[Any, Any, Any]:
    """One step by the paper's formulas, in float64."""
    lr, b1, b2, eps = 0.1, 0.9, 0.99, 1e-8
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    rate = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
    moved = b1 * m + (1 - b1) * g if nesterov else m
    return value - rate * moved / (np.sqrt(v) + eps), m, v


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (5, 7000)])
def test_adam(nesterov: bool, shape: tuple[int, ...]) -> None:
    bench = Bench()
    rng = np.random.default_rng(0)
    start = np.asarray(rng.normal(size=shape)).astype(np.float32)
    held = [
        variable(bench, x.copy(), name)
        for x, name in zip((start, np.zeros_like(start), np.zeros_like(start)), "wmv", strict=True)
    ]
    want = (start.astype(np.float64), np.zeros(shape), np.zeros(shape))
    for t in range(1, 4):
        g = np.asarray(rng.normal(size=shape)).astype(np.float32)
        rates = [np.float32(r) for r in (0.9**t, 0.99**t, 0.1, 0.9, 0.99, 1e-8)]
        bench("ResourceApplyAdam", *held, *rates, g, use_nesterov=nesterov)
        want = adam_step(*want, g.astype(np.float64), t, nesterov)
    for each, expected in zip(held, want, strict=True):
        assert each.read().dtype == np.float32
        np.testing.assert_allclose(each.read(), expected, 2e-4, 1e-5)


def test_adam_writes_in_place_only_what_nobody_holds() -> None:
    bench = Bench()
    held = [variable(bench, ones(3), name) for name in "wmv"]
    read = held[0].read()
    before = [id(each.value) for each in held]
    rates = [np.float32(r) for r in (0.9, 0.99, 0.1, 0.9, 0.99, 1e-8)]
    bench("ResourceApplyAdam", *held, *rates, ones(3))
    assert read.tolist() == [1, 1, 1]
    assert [id(each.value) == b for each, b in zip(held, before, strict=True)] == [
        False, True, True,
    ]  # fmt: skip


def test_adam_refuses_a_gradient_of_another_shape() -> None:
    bench = Bench()
    held = [variable(bench, ones(3), name) for name in "wmv"]
    rates = [np.float32(1)] * 6
    with pytest.raises(InvalidArgumentError, match=r"shape \[3\] cannot take .* \[2\]"):
        bench("ResourceApplyAdam", *held, *rates, ones(2))
    assert not any(each.busy or each.lock.locked() for each in held)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_counter_counts_up_to_its_limit(kind: Any) -> None:
    bench = Bench()
    dtype = dtypes.from_numpy(np.dtype(kind))
    counter = bench("VarHandleOp", dtype=dtype, shape=(), shared_name=b"n")
    with pytest.raises(NotFoundError, match="updated before it was initialised"):
        bench("ResourceCountUpTo", counter, limit=3, T=dtype)
    bench("AssignVariableOp", counter, kind(1), dtype=dtype)
    seen = [bench("ResourceCountUpTo", counter, limit=3, T=dtype) for _ in range(2)]
    assert [(type(n), int(n)) for n in seen] == [(kind, 1), (kind, 2)]
    with pytest.raises(OutOfRangeError, match="reached the limit of 3"):
        bench("ResourceCountUpTo", counter, limit=3, T=dtype)
    assert counter.read() == 3


def test_a_counter_is_one_number() -> None:
    bench = Bench()
    counter = bench("VarHandleOp", dtype=dtypes.int32, shape=None, shared_name=b"n")
    bench("AssignVariableOp", counter, np.zeros(2, np.int32), dtype=dtypes.int32)
    with pytest.raises(InvalidArgumentError, match="no scalar"):
        bench("ResourceCountUpTo", counter, limit=3, T=dtypes.int32)


def test_values_read_are_safe_without_copying() -> None:
    bench = Bench()
    held = variable(bench, ones(2))
    bench("DisableCopyOnRead", held)
    read = bench("ReadVariableOp", held, dtype=dtypes.float32)
    bench("AssignAddVariableOp", held, ones(2), dtype=dtypes.float32)
    assert read.tolist() == [1, 1]
