"""Lints find what a graph hardly means, and keep quiet about what it may well mean."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import graphvm as tf
from graphvm.graph.lints import LintWarning
from graphvm_runtime import config
from graphvm_runtime.__main__ import main


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def v(request: Any) -> Any:
    return tf.get_variable("v", initializer=1.0, use_resource=request.param)


@pytest.fixture
def p() -> Any:
    return tf.placeholder(tf.bool, [], "p")


def kinds() -> list[str]:
    return [f.kind for f in tf.lint()]


def waiting(op: Any, value: Any) -> Any:
    with tf.control_dependencies([op]):
        return tf.identity(value)


def tower(i: Any) -> Any:
    return i < 3


# -- always ----------------------------------------------------------------------------------


def test_an_assignment_outside_that_one_side_uses_always_runs(v: Any, p: Any) -> None:
    outside = tf.assign_add(v, 1.0)
    tf.cond(p, lambda: tf.identity(outside), lambda: tf.constant(0.0))
    (found,) = tf.lint()
    assert found.kind == "always-runs"
    assert "runs whichever side of 'cond' is taken" in found.what
    assert "only the then side uses it" in found.what
    assert "test_lints.py" in found.made
    assert "Assign" in found.node
    assert str(found).startswith("always-runs: Assign")
    assert "\n  do    make it inside the function of that side" in str(found)


def test_an_assignment_outside_that_one_side_waits_for_always_runs(v: Any, p: Any) -> None:
    outside = tf.assign_add(v, 1.0)
    tf.cond(p, lambda: tf.constant(0.0), lambda: waiting(outside, 1.0))
    (found,) = tf.lint()
    assert found.kind == "always-runs"
    assert "only the else side uses it" in found.what


def test_what_leads_through_other_ops_to_one_side_always_runs(v: Any, p: Any) -> None:
    outside = tf.sqrt(tf.assign_add(v, 1.0) * 2.0)
    tf.cond(p, lambda: outside + 1.0, lambda: tf.constant(0.0))
    assert kinds() == ["always-runs"]


def test_a_dequeue_and_a_print_outside_always_run(p: Any) -> None:
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    item = queue.dequeue()
    tf.switch_case(tf.cast(p, tf.int32), [lambda: item, lambda: tf.constant(0.0)])
    shown = tf.Print(tf.constant(1.0), ["x"])
    tf.cond(p, lambda: shown, lambda: tf.constant(0.0))
    assert kinds() == ["always-runs", "always-runs"]
    assert "only side 0 uses it" in tf.lint()[0].what


def test_what_stands_inside_is_fine(v: Any, p: Any) -> None:
    tf.cond(p, lambda: tf.assign_add(v, 1.0) + 0.0, lambda: v + 0.0)
    tf.cond(p, lambda: tf.group(tf.assign_add(v, 1.0)), lambda: tf.no_op())
    tf.cond(p, lambda: waiting(tf.print("x"), 1.0), lambda: tf.constant(0.0))
    assert kinds() == []


def test_what_both_sides_or_others_use_is_fine(v: Any, p: Any) -> None:
    outside = tf.assign_add(v, 1.0)
    tf.cond(p, lambda: outside + 1.0, lambda: outside + 2.0)
    other = tf.assign_add(v, 2.0)
    tf.cond(p, lambda: other + 1.0, lambda: tf.constant(0.0))
    tf.identity(other)
    assert kinds() == []


def test_a_branch_that_comes_after_an_assignment_is_fine(v: Any, p: Any) -> None:
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        tf.cond(p, lambda: v + 1.0, lambda: v + 2.0)
    assert kinds() == []


def test_reading_drawing_and_the_predicate_are_fine(v: Any, p: Any) -> None:
    noise, value = tf.random_uniform([]), tf.identity(v)
    tf.cond(p, lambda: noise + value, lambda: tf.constant(0.0))
    tf.cond(tf.assign_add(v, 1.0) > 2.0, lambda: v + 1.0, lambda: tf.constant(0.0))
    tf.gradients(tf.cond(p, lambda: v * v, lambda: v + 0.0), v)
    assert kinds() == []


# -- once ------------------------------------------------------------------------------------


def test_what_a_body_waits_for_runs_once(v: Any) -> None:
    outside = tf.assign_add(v, 1.0)
    tf.while_loop(tower, lambda i: waiting(outside, i + 1), [tf.constant(0)])
    (found,) = tf.lint()
    assert found.kind == "runs-once"
    assert "before the loop 'while', not in each iteration" in found.what


def test_a_body_that_assigns_is_fine(v: Any) -> None:
    tf.while_loop(tower, lambda i: waiting(tf.assign_add(v, 1.0), i + 1), [tf.constant(0)])
    start = tf.assign_add(v, 1.0)
    tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.identity(start)])
    assert kinds() == []


# -- never -----------------------------------------------------------------------------------


def test_what_nothing_in_a_branch_needs_never_runs(v: Any, p: Any) -> None:
    def side() -> Any:
        tf.assign_add(v, 1.0)
        return tf.constant(1.0)

    tf.cond(p, side, lambda: tf.constant(0.0))
    (found,) = tf.lint()
    assert found.kind == "never-runs"
    assert "in a body of 'cond' never runs" in found.what
    assert "in side" in found.made


def test_what_nothing_in_a_loop_needs_never_runs(p: Any) -> None:
    def body(i: Any) -> Any:
        tf.print("at", i)
        tf.Print(i, [i])
        tf.Assert(i < 2, [i])
        return tf.cond(p, lambda: i + 1, lambda: i + 2)

    tf.while_loop(tower, body, [tf.constant(0)])
    assert kinds() == ["never-runs"] * 3


def test_a_branch_inside_that_nothing_needs_never_runs(v: Any, p: Any) -> None:
    def body(i: Any) -> Any:
        tf.cond(p, lambda: tf.assign_add(v, 1.0) + 0.0, lambda: tf.constant(0.0))
        tf.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(0.0))
        return i + 1

    tf.while_loop(tower, body, [tf.constant(0)])
    (found,) = tf.lint()
    assert found.kind == "never-runs"
    assert "If" in found.node


def test_effects_of_defined_functions_are_fine(p: Any) -> None:
    w = tf.get_variable("w", initializer=1.0, use_resource=True)

    @tf.Defun(tf.float32)
    def f(x: Any) -> Any:
        w.assign_add(1.0)
        return x

    tf.cond(p, lambda: f(1.0), lambda: tf.constant(0.0))
    assert kinds() == []


def test_arrays_maps_and_their_derivatives_are_fine(p: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.map_fn(lambda e: tf.cond(e > 0.0, lambda: e * e, lambda: e), x)
    tf.gradients(tf.gradients(y, x)[0], x)
    array = tf.TensorArray(tf.float32, 3)
    tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])
    assert kinds() == []


# -- where findings appear -------------------------------------------------------------------


def trap(v: Any, p: Any) -> Any:
    outside = tf.identity(tf.assign_add(v, 1.0))
    return tf.cond(p, lambda: outside + 1.0, lambda: tf.constant(0.0))


def test_a_session_warns_once_under_the_switch(v: Any, p: Any) -> None:
    y = trap(v, p)
    with tf.Session() as session, config.LINT.set(True):
        with pytest.warns(LintWarning, match="always-runs") as caught:
            session.run(v.initializer)
        assert caught[0].filename == __file__
        tf.identity(y)
        session.run(y, {p: True})
    with tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        session.run(v.initializer)


@pytest.mark.parametrize("control_flow", ["functional", "v1"])
def test_the_command_line_finds_them_in_files(
    control_flow: str, tmp_path: Path, capsys: Any, graph: Any, v: Any, p: Any
) -> None:
    tf.cond(p, lambda: v + 1.0, lambda: tf.constant(0.0))
    good, bad = tmp_path / "good.pb", tmp_path / "bad.pb"
    good.write_bytes(graph.as_graph_def(control_flow=control_flow).SerializeToString())
    trap(v, p)
    bad.write_bytes(graph.as_graph_def(control_flow=control_flow).SerializeToString())
    assert main(["lint", str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["lint", str(bad)]) == 1
    assert capsys.readouterr().out.startswith("always-runs: Assign")


def test_a_graph_of_switches_is_looked_at_in_its_functional_form(graph: Any, p: Any) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    trap(v, p)
    saved = graph.as_graph_def(control_flow="v1")
    assert "Switch" in {n.op for n in saved.node}
    with tf.Graph().as_default():
        tf.import_graph_def(saved, name="")
        assert kinds() == ["always-runs"]


def test_a_mistake_made_again_does_not_hide_the_first() -> None:
    with tf.Graph().as_default():
        p, v = tf.placeholder(tf.bool, []), tf.Variable(0.0)
        a = tf.assign(v, 1.0)
        tf.cond(p, lambda: a + 0.0, lambda: v + 0.0)
        assert [f.kind for f in tf.lint()] == ["always-runs"]
        tf.cond(p, lambda: a * 2.0, lambda: v * 2.0)
        assert [f.kind for f in tf.lint()] == ["always-runs"] * 2

        def body(i: Any) -> Any:
            with tf.control_dependencies([a]):
                return i + 1

        tf.while_loop(lambda i: i < 3, body, [0])
        assert sorted(f.kind for f in tf.lint()) == ["always-runs", "always-runs", "runs-once"]
        tf.cond(p, lambda: a * 2.0, lambda: a * 3.0)  # needs it in any case
        assert [f.kind for f in tf.lint()] == ["runs-once"]
