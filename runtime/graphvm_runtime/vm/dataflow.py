"""TF1's dataflow machine: tagged tokens, frames, dead tensors, non-strict merges.

It runs what has no functional form, and is the reference for what has: raised, lowered and
interpreted forms of a graph must agree. One thread runs all nodes; ops that wait report back
through a queue, so any number of them never stops a node that can run.

Source: Arvind and Culler, "Dataflow Architectures" (1986); TensorFlow's executor for what it does
with dead tokens at the borders of frames.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import numpy as np

from graphvm_runtime.compiler.values import own, picked, truth
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.ir.graph import Endpoint, Graph, source_text
from graphvm_runtime.values.resources import Step
from graphvm_runtime.vm.error_translation import translated
from graphvm_runtime.vm.tokens import (
    DEAD,
    ENTER,
    EXIT,
    MERGE,
    NEXT,
    NOTHING,
    PASS,
    PLAIN,
    REGION,
    START,
    SWITCH,
    WITH_STEP,
    Called,
    Item,
    Table,
    no_functions,
    tables,
)  # fmt: skip

GRACE = 5.0  # seconds that a failed step waits for work on other threads to end

_INDICES = tuple(np.int32(i) for i in range(16))


class Runs(Protocol):
    """A function's program."""

    def run(self, step: Step, *args: Any) -> Sequence[Any]:
        """Its results."""


class _Iteration:
    """Tokens of one iteration of one frame."""

    __slots__ = (
        "children",
        "dead",
        "frame",
        "inputs",
        "inside",
        "number",
        "outstanding",
        "pending",
    )

    def __init__(self, frame: _Frame, number: int) -> None:
        table = frame.table
        self.frame = frame
        self.number = number
        self.pending = table.pending.copy()
        self.dead = table.dead.copy()
        self.inputs: list[Any] = [None] * table.inputs
        self.outstanding = 0  # nodes that are ready or running
        self.inside = 0  # frames started from here that have not ended
        self.children: dict[int, _Frame] | None = None


class _Frame:
    """One run of a loop.

    Attributes:
        outer: the iteration that started it.
        count: number of the newest iteration.
        live: iterations that have not ended.
        missing: Enter nodes that have not fired.
        invariants: what constant Enters brought, given again to each iteration.
        waiting: tokens for an iteration that `limit` does not let start yet.
        dead_exits: exits that were dead in the newest iteration.
    """

    __slots__ = (
        "count", "dead_exits", "invariants", "iterations", "live", "missing", "outer", "table",
        "waiting",
    )  # fmt: skip

    def __init__(self, table: Table, outer: _Iteration | None) -> None:
        self.table = table
        self.outer = outer
        self.count = 0
        self.live = 1
        self.missing = table.enters
        self.invariants: list[tuple[Item, Any]] = []
        self.waiting: list[tuple[Item, Any]] = []
        self.dead_exits: list[Item] = []
        self.iterations = {0: _Iteration(self, 0)}


class Dataflow:
    """A graph that is run node by node, as tokens arrive.

    All its nodes run: it is pruned before. Immutable, so any number of runs may go on at a time.

    Args:
        graph: with or without primitives; variables are resources.
        feeds: endpoints whose values are given to `run`; those that nothing needs are dropped.
        fetches: endpoints whose values `run` gives.
        targets: nodes that are run for their effect alone; here only checked to be there.
        program_for: the program of a library function, for functional nodes.
        called: what kernels that take functions call, by the function's name.

    Raises:
        InvalidArgumentError: a node has inputs from different frames, or something inside a loop
            is fed or fetched.
        UnimplementedError: an op has no kernel.
    """

    def __init__(
        self,
        graph: Graph,
        feeds: Sequence[Endpoint],
        fetches: Sequence[Endpoint],
        targets: Collection[str] = (),
        program_for: Callable[[str], Runs] | None = None,
        called: Called = no_functions,
    ) -> None:
        known = {*graph.by_name, *(e.node for e in feeds)}
        for name in (*targets, *(e.node for e in fetches)):
            if name not in known:
                raise InvalidArgumentError(f"the graph has no operation {name!r}")
        self.graph = graph
        self.fetches = tuple(fetches)
        self._program_for = program_for
        self._programs: dict[str, Runs] = {}
        self._tables = tables(graph, feeds, fetches, called)

    def run(self, step: Step, feeds: Sequence[Any]) -> list[Any]:
        """Values of the fetches. They may share memory with constants, feeds and variables.

        Raises:
            InvalidArgumentError: a fetched tensor is dead: it is on a branch that was not taken.
            OpError: a node failed, or the step was cancelled.
        """
        with np.errstate(all="ignore"):
            return _Run(self, step).results(feeds)

    def program(self, name: str) -> Runs:
        """The program of a library function."""
        found = self._programs.get(name)
        if found is None:
            if self._program_for is None:
                raise InvalidArgumentError(f"no program for the function {name!r}")
            found = self._programs[name] = self._program_for(name)
        return found

    def region(self, item: Item, step: Step, args: Sequence[Any]) -> Sequence[Any]:
        """Outputs of a functional node."""
        region = item.region
        assert region is not None
        if region.kind == "call":
            return self.program(region.functions[0]).run(step, *args)
        if region.kind in ("if", "case"):
            count = len(region.functions)
            chosen = 0 if truth(args[0]) else 1
            if region.kind == "case":
                chosen = picked(args[0], count)
            return self.program(region.functions[chosen]).run(step, *args[1:])
        cond, body = (self.program(f) for f in region.functions)
        while truth(cond.run(step, *args)[0]):
            step.cancel.check()
            args = body.run(step, *args)
        return args


_Report = tuple[Item | None, Any, Any, GraphvmError | None]


class _Run:
    """One run: all that changes."""

    def __init__(self, dataflow: Dataflow, step: Step) -> None:
        self.dataflow = dataflow
        self.step = step
        self.ready: deque[tuple[Item, _Iteration]] = deque()
        self.reports: queue.SimpleQueue[_Report] = queue.SimpleQueue()
        self.waiting = 0  # ops that have not reported
        self.fetched: list[Any] = [DEAD] * len(dataflow.fetches)
        self.unwatch: Callable[[], None] | None = None

    def results(self, feeds: Sequence[Any]) -> list[Any]:
        root = _Frame(self.dataflow._tables.root, None)
        outside = root.iterations[0]
        try:
            self._begin(outside, feeds)
            self._execute()
        except BaseException as error:
            self.step.cancel.cancel(error if isinstance(error, GraphvmError) else None)
            self._let_go()
            raise
        finally:
            if self.unwatch is not None:
                self.unwatch()
        for place, value in enumerate(self.fetched):
            if value is DEAD:
                end = self.dataflow.fetches[place]
                node = self.dataflow.graph.by_name[end.node]
                raise InvalidArgumentError(
                    f"fetch {place}, {end}, does not have a value: it is on a branch "
                    "that was not taken",
                    node=node.signature(),
                    made=source_text(node.source),
                    do="fetch the Merge that joins the branches",
                )
        return self.fetched

    def _begin(self, outside: _Iteration, feeds: Sequence[Any]) -> None:
        tables_ = self.dataflow._tables
        for (edges, after, places), value in zip(tables_.feeds, feeds, strict=True):
            for place in places:
                self.fetched[place] = value
            for item, at in edges:
                self._give(item, at, outside, value)
            for item in after:
                self._give_control(item, outside, False)
        for item in tables_.roots:
            outside.outstanding += 1
            self.ready.append((item, outside))

    def _let_go(self) -> None:
        """Waits a while for what runs elsewhere, so that it does not outlive the step."""
        end = time.monotonic() + GRACE
        while self.waiting and (left := end - time.monotonic()) > 0:
            try:
                item, _, _, _ = self.reports.get(timeout=left)
            except queue.Empty:
                return
            self.waiting -= item is not None

    # ---- tokens arrive

    def _give(self, item: Item, at: int, there: _Iteration, value: Any) -> None:
        """A data token for the input at `at` of `item`."""
        i = item.at
        if item.kind == MERGE:
            if value is DEAD:
                there.dead[i] += 1
                is_ready = there.pending[i] == 1 and there.dead[i] == item.dead_at
            else:
                count = there.pending[i]
                there.pending[i] = count & ~1
                if not count & 1:
                    return  # not the first one alive
                there.inputs[item.base] = (value, at - item.base)
                is_ready = count == 1
        else:
            if value is DEAD:
                there.dead[i] += 1
            else:
                there.inputs[at] = value
            there.pending[i] -= 1
            is_ready = not there.pending[i]
        if is_ready:
            there.outstanding += 1
            self.ready.append((item, there))

    def _give_control(self, item: Item, there: _Iteration, dead: bool) -> None:
        i = item.at
        if item.kind == MERGE:  # what a merge gives does not depend on control edges being alive
            there.pending[i] = count = there.pending[i] - 2
            is_ready = count == 0 or (count == 1 and there.dead[i] == item.dead_at)
        else:
            if dead:
                there.dead[i] += 1
            there.pending[i] -= 1
            is_ready = not there.pending[i]
        if is_ready:
            there.outstanding += 1
            self.ready.append((item, there))

    def _send(self, item: Item, there: _Iteration, outputs: Sequence[Any] | None) -> None:
        """All tokens of a node into an iteration; None: they are dead."""
        if outputs is None:
            for receiver, _, at in item.edges:
                if receiver.kind == MERGE and item.kind == ENTER:
                    # no token will come around a loop that never starts
                    there.dead[receiver.at] = receiver.dead_at - 1
                self._give(receiver, at, there, DEAD)
            for receiver in item.followers:
                self._give_control(receiver, there, True)
            return
        inputs, pending = there.inputs, there.pending
        for receiver, index, at in item.edges:
            value = outputs[index]
            if value is DEAD or receiver.kind == MERGE:
                self._give(receiver, at, there, value)
                continue
            inputs[at] = value  # the usual case of `_give`, written out since it is most of a run
            i = receiver.at
            pending[i] = left = pending[i] - 1
            if not left:
                there.outstanding += 1
                self.ready.append((receiver, there))
        for receiver in item.followers:
            self._give_control(receiver, there, False)

    # ---- frames

    def _enter(self, item: Item, there: _Iteration, value: Any) -> None:
        table = item.child
        assert table is not None
        if there.children is None:
            there.children = {}
        frame = there.children.get(id(table))
        if frame is None:
            frame = there.children[id(table)] = _Frame(table, there)
            there.inside += 1
        outputs = None if value is DEAD else (value,)
        frame.missing -= 1
        if item.constant:
            frame.invariants.append((item, outputs))
            for iteration in list(frame.iterations.values()):
                self._send(item, iteration, outputs)
        else:
            self._send(item, frame.iterations[0], outputs)
        if not frame.missing:
            self._clean(frame, 0)

    def _next(self, item: Item, there: _Iteration, value: Any) -> None:
        frame = there.frame
        if there.number == frame.count:
            if frame.live == frame.table.limit:
                frame.waiting.append((item, (value,)))
                return
            self._iterate(frame)
        self._send(item, frame.iterations[there.number + 1], (value,))

    def _iterate(self, frame: _Frame) -> None:
        """Begins another iteration."""
        frame.count += 1
        frame.live += 1
        new = frame.iterations[frame.count] = _Iteration(frame, frame.count)
        frame.dead_exits.clear()
        waiting, frame.waiting = frame.waiting, []
        for item, outputs in waiting:
            self._send(item, new, outputs)
        for item, outputs in frame.invariants:
            self._send(item, new, outputs)

    def _clean(self, frame: _Frame, number: int) -> None:
        """Drops iterations that have ended, starts what waited for that, ends the frame."""
        outer = frame.outer
        if outer is None:
            return
        while number <= frame.count:
            found = frame.iterations.get(number)
            if found is not None:
                if found.outstanding or found.inside:
                    return
                if frame.missing if number == 0 else number - 1 in frame.iterations:
                    return
                del frame.iterations[number]
                frame.live -= 1
                if frame.waiting:
                    self._iterate(frame)
            number += 1
        if frame.live or frame.missing:
            return
        assert outer.children is not None
        del outer.children[id(frame.table)]
        outer.inside -= 1
        for item in frame.dead_exits:
            self._send(item, outer, None)
        if not outer.outstanding:
            self._clean(outer.frame, outer.number)

    # ---- nodes run

    def _execute(self) -> None:
        ready, cancel = self.ready, self.step.cancel
        while True:
            while ready:
                item, there = ready.popleft()
                if cancel.error is not None:
                    raise cancel.error
                if there.dead[item.at] >= item.dead_at:
                    self._finish_dead(item, there)
                else:
                    self._run(item, there)
            if not self.waiting:
                return
            if self.unwatch is None:
                self.unwatch = cancel.on_cancel(
                    lambda error: self.reports.put((None, None, None, error))
                )
            item_, there_, outputs, error = self.reports.get()
            if error is not None:
                self.waiting -= item_ is not None
                raise error
            assert item_ is not None
            self.waiting -= 1
            self._finish(item_, there_, outputs)

    def _run(self, item: Item, there: _Iteration) -> None:
        kind, base, arity = item.kind, item.base, item.arity
        inputs = there.inputs
        if kind == MERGE:
            value, index = inputs[base]
            inputs[base] = None
            number = _INDICES[index] if index < len(_INDICES) else np.int32(index)
            self._finish(item, there, (value, number))
            return
        if arity == 1:  # a token is gone once it is read, and so is its memory
            args = [inputs[base]]
            inputs[base] = None
        else:
            args = inputs[base : base + arity]
            for at in range(base, base + arity):
                inputs[at] = None
        if kind in (PLAIN, WITH_STEP):
            outputs = self._call(item, args)
        elif kind == PASS:
            outputs = args
        elif kind == SWITCH:
            data, pred = args
            if getattr(pred, "ndim", 0):
                raise InvalidArgumentError(
                    f"the predicate must be a scalar, got shape {list(pred.shape)}",
                    node=item.node.signature(),
                    made=source_text(item.node.source),
                )
            outputs = (DEAD, data) if pred else (data, DEAD)
        elif kind == NOTHING:
            outputs = ()
        elif kind == ENTER:
            for _, place in item.fetches:
                self.fetched[place] = args[0]
            self._enter(item, there, args[0])
            self._done(there)
            return
        elif kind == NEXT:
            self._next(item, there, args[0])
            self._done(there)
            return
        elif kind == EXIT:
            outer = there.frame.outer
            assert outer is not None
            for _, place in item.fetches:
                self.fetched[place] = args[0]
            self._send(item, outer, args)
            self._done(there)
            return
        elif kind == START:
            self._start(item, there, args)
            return
        else:
            assert kind == REGION
            assert item.region is not None
            if item.region.blocking:
                self._run_apart(item, there, args)
                return
            outputs = self._located_region(item, args)
        self._finish(item, there, outputs)

    def _call(self, item: Item, args: list[Any]) -> Sequence[Any]:
        step = self.step
        for i in item.copies:
            args[i] = own(args[i])
        try:
            start = time.perf_counter() if step.trace is not None else 0.0
            result = item.call(step, *args) if item.kind == WITH_STEP else item.call(*args)
            if step.trace is not None:
                name = item.node.name
                step.trace.add(name, item.node.op.name, start, time.perf_counter())
        except Exception as error:
            fault = translated(error, item.node, args)
            if fault is error:
                raise
            raise fault from error
        return _outputs(item, result)

    def _located_region(self, item: Item, args: Sequence[Any]) -> Sequence[Any]:
        try:
            return self.dataflow.region(item, self.step, args)
        except Exception as error:
            fault = translated(error, item.node)
            if fault is error:
                raise
            raise fault from error

    def _start(self, item: Item, there: _Iteration, args: list[Any]) -> None:
        def done(result: Any, error: GraphvmError | None) -> None:
            if error is not None:
                self.reports.put((item, there, None, translated(error, item.node)))
            else:
                self.reports.put((item, there, _outputs(item, result), None))

        for i in item.copies:
            args[i] = own(args[i])
        self.waiting += 1
        try:
            item.start(self.step, done, *args)
        except Exception as error:
            self.reports.put((item, there, None, translated(error, item.node)))

    def _run_apart(self, item: Item, there: _Iteration, args: Sequence[Any]) -> None:
        """A functional node that may wait: on a thread of its own."""

        def work() -> None:
            try:
                with np.errstate(all="ignore"):
                    outputs = self.dataflow.region(item, self.step, args)
            except Exception as error:
                self.reports.put((item, there, None, translated(error, item.node)))
            else:
                self.reports.put((item, there, outputs, None))

        self.waiting += 1
        threading.Thread(target=work, name=f"graphvm-{item.node.name}", daemon=True).start()

    def _finish(self, item: Item, there: _Iteration, outputs: Sequence[Any]) -> None:
        for index, place in item.fetches:
            self.fetched[place] = outputs[index]
        self._send(item, there, outputs)
        self._done(there)

    def _finish_dead(self, item: Item, there: _Iteration) -> None:
        kind = item.kind
        for at in range(item.base, item.base + item.arity):
            there.inputs[at] = None
        if kind == ENTER:
            self._enter(item, there, DEAD)
        elif kind == EXIT:
            # it leaves the loop only if the loop ends without it ever having been alive
            if there.number == there.frame.count:
                there.frame.dead_exits.append(item)
        elif kind != NEXT:
            self._send(item, there, None)
        self._done(there)

    def _done(self, there: _Iteration) -> None:
        there.outstanding -= 1
        if not there.outstanding:
            self._clean(there.frame, there.number)


def _outputs(item: Item, result: Any) -> Sequence[Any]:
    """What a kernel returned, as a sequence."""
    if item.outputs == 1:
        return (result,)
    outputs: Sequence[Any] = result if item.outputs else ()
    return outputs
