"""Session: runs a graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from graphvm.graph.default_stack import SESSIONS
from graphvm.graph.graph import Graph, get_default_graph
from graphvm.graph.tensor import Tensor
from graphvm.session.feeding import (
    Convert,
    Fetches,
    Pack,
    cache_key,
    converter,
    feed_tensors,
    flat_feeds,
    flat_key,
)
from graphvm.session.timeline import step_stats
from graphvm_runtime import config
from graphvm_runtime.engine import Plan, Request, connect
from graphvm_runtime.errors import (
    GraphError,
    GraphvmError,
    InternalError,
    OpError,
    ResourceExhaustedError,
    warned,
)
from graphvm_runtime.ir.calls import SYMBOLIC
from graphvm_runtime.ir.graph import Function, Node, source_text
from graphvm_runtime.trace import Trace

FULL_TRACE = 3  # RunOptions.TraceLevel
GROWTHS = 100  # runs before each of which the graph has grown: then a script is warned


class _Entry:
    """A pair of fetches and feeds, ready to run."""

    __slots__ = ("converters", "keys", "pack", "plan")

    def __init__(
        self, keys: tuple[Any, ...], converters: list[Convert], plan: Plan, pack: Pack
    ) -> None:
        self.keys = keys
        self.converters = converters
        self.plan = plan
        self.pack = pack


class Session:
    """Runs operations and evaluates tensors of a graph.

    Args:
        target: empty for this process, `grpc://host:port` for a server.
        graph: the graph; the default graph when left out.
        config: a `ConfigProto`. `operation_timeout_in_ms` bounds every run; a `cluster_def` lets
            the session plan for those workers itself.

    Thread-safe: any number of threads may run at the same time. Source: `tf.compat.v1.Session`.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self._target = target = _target(target)
        self._graph = get_default_graph() if graph is None else graph
        if not isinstance(self._graph, Graph):
            raise TypeError(f"graph must be a Graph, not {type(graph).__name__}")
        _check_message("config", config, "ConfigProto")
        self._timeout = _seconds(getattr(config, "operation_timeout_in_ms", 0))
        self._engine = connect(target, config)
        self._seen = 0
        self._growths = 0
        self._functions = 0
        self._reported: set[Any] = set()
        self._entries: dict[Any, _Entry] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._entered: list[Any] = []

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a `GraphDef`."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target that it was made with."""
        return self._target

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Runs what the fetches need, and gives their values.

        Args:
            fetches: tensors, operations, their names, variables, or lists, tuples, dictionaries
                and named tuples of them.
            feed_dict: values for any tensors of the graph, in place of what they would be. A
                tuple of tensors may be a key, for a structure of as many values.
            options: a `RunOptions`: `timeout_in_ms`, `trace_level`.
            run_metadata: a `RunMetadata` that receives the step stats of a traced run.

        Returns:
            The structure of `fetches`, with NumPy arrays (scalars for rank 0, bytes for strings)
            in place of tensors and None in place of operations. Arrays are the caller's own.

        Raises:
            ValueError: an unknown fetch, a fed value of the wrong shape.
            TypeError: an unknown feed, a fed value of the wrong type.
            RuntimeError: the session is closed.
            OpError: a node failed; names the node and the line that made it.

        Source: `tf.compat.v1.Session.run`.
        """
        if self._seen != self._graph.version:
            self._extend()
            self._count_growth()
        feeds = feed_dict or ()
        try:
            entry = self._entries.get(flat_key(fetches, feeds))
        except TypeError:  # lists in lists
            entry = self._known(fetches, feeds)
        if entry is None or config.overridden():
            if feed_dict is not None:
                feed_dict = flat_feeds(self._graph, feed_dict)
            entry = self._entry(fetches, tuple(feed_dict or ()))
        if self._closed:
            raise _closed()
        if feed_dict:
            values = [f(v) for f, v in zip(entry.converters, feed_dict.values(), strict=True)]
        else:
            values = []
        try:
            if options is None and run_metadata is None and not config.TRACE.get():
                return entry.pack(entry.plan.run(values, self._timeout))
            return entry.pack(self._run_with(entry.plan, values, options, run_metadata))
        except GraphvmError as error:
            raise self._blamed(error) from _cause(error)
        except MemoryError as error:  # kernels are done: it is the copy for the caller
            raise ResourceExhaustedError("out of memory for the fetched values") from error

    def _blamed(self, error: GraphvmError) -> GraphvmError:
        """An error of a run as the user sees it: with the operation, without our own frames."""
        if isinstance(error, OpError) and error.node_name in self._graph:
            error.op = self._graph.operation_named(error.node_name)
        return error if config.TRACEBACK.get() == "full" else error.with_traceback(None)

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs these fetches with these feeds, faster than `run`.

        Args:
            fetches: as for `run`.
            feed_list: tensors; the function takes a value for each, in this order.
            accept_options: let the function take `options=` and `run_metadata=`.

        Raises:
            as `run`.

        Source: `tf.compat.v1.Session.make_callable`.
        """
        self._extend()
        entry = self._entry(fetches, tuple(feed_list or ()))
        converters, plan, pack = entry.converters, entry.plan, entry.pack
        count = len(converters)
        single = isinstance(fetches, Tensor)
        timeout = self._timeout
        alone = converters[0] if count == 1 else None
        direct: list[Callable[..., Any] | None] = [None]

        def values_of(args: tuple[Any, ...]) -> list[Any]:
            if len(args) != count:
                raise TypeError(f"the function takes {count} values, got {len(args)}")
            return [f(v) for f, v in zip(converters, args, strict=True)]

        def call(*args: Any) -> Any:
            if self._closed:
                raise _closed()
            run = direct[0]
            try:
                if run is None:
                    values = pack(plan.run(values_of(args), timeout))
                    if timeout is None:
                        direct[0] = plan.direct()
                    return values
                if alone is not None and len(args) == 1:
                    results = run(None, alone(args[0]))
                else:
                    results = run(None, *values_of(args))
            except GraphvmError as error:
                raise self._blamed(error) from _cause(error)
            return results[0] if single else pack(results)

        if not accept_options:
            return call

        def call_with_options(*args: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if options is None and run_metadata is None:
                return call(*args)
            if self._closed:
                raise _closed()
            try:
                return pack(self._run_with(plan, values_of(args), options, run_metadata))
            except GraphvmError as error:
                raise self._blamed(error) from _cause(error)

        return call_with_options

    def stats(self, fetches: Any, feeds: Sequence[Any] = ()) -> dict[str, int]:
        """Counts of the instructions that these fetches take once they are optimised.

        `interpreted` is 0 where every instruction was emitted.
        """
        self._extend()
        return self._entry(fetches, tuple(feeds)).plan.stats()

    def program(self, fetches: Any, feeds: Sequence[Any] = ()) -> str:
        """The optimised program of these fetches as text, with its Python source."""
        self._extend()
        return self._entry(fetches, tuple(feeds)).plan.text()

    def list_devices(self) -> list[Any]:
        """Devices that the session can place nodes on."""
        return list(self._engine.list_devices())

    def close(self) -> None:
        """Cancels what runs and lets go of variables, queues and programs."""
        if not self._closed:
            self._closed = True
            self._entries.clear()
            self._engine.close()

    def as_default(self) -> Any:
        """A context in which this is the default session."""
        return SESSIONS.holding(self)

    def __enter__(self) -> Session:
        graph, session = self._graph.as_default(), self.as_default()
        graph.__enter__()
        session.__enter__()
        self._entered.append((graph, session))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        graph, session = self._entered.pop()
        session.__exit__(kind, error, trace)
        graph.__exit__(kind, error, trace)
        self.close()

    def __repr__(self) -> str:
        return f"<Session of {self._graph!r}{' at ' + self._target if self._target else ''}>"

    def _known(self, fetches: Any, feeds: Iterable[Any]) -> _Entry | None:
        """The entry of a run like this one; None where it is new, or not a valid run at all."""
        try:
            return self._entries.get(cache_key(fetches, feeds))
        except TypeError:
            return None

    def _entry(self, fetches: Any, feed_keys: tuple[Any, ...]) -> _Entry:
        if config.overridden():  # switches choose another plan, and only for this run
            return self._made_entry(fetches, feed_keys)
        try:
            key = cache_key(fetches, feed_keys)
            found = self._entries.get(key)
        except TypeError:
            return self._made_entry(fetches, feed_keys)
        if found is None:
            found = self._entries[key] = self._made_entry(fetches, feed_keys)
        return found

    def _made_entry(self, fetches: Any, feed_keys: tuple[Any, ...]) -> _Entry:
        if self._closed:
            raise _closed()
        structure = Fetches(self._graph, fetches)
        tensors = feed_tensors(self._graph, feed_keys)
        if len(set(tensors)) != len(tensors):
            twice = next(t for t in tensors if tensors.count(t) > 1)
            raise GraphError(f"tensor {twice.name!r} is fed twice")
        request = Request(
            tuple(t.endpoint for t in tensors),
            tuple(t.endpoint for t in structure.tensors),
            tuple(dict.fromkeys(o.name for o in structure.targets)),
        )
        plan = self._engine.plan(request)
        return _Entry(feed_keys, [converter(t) for t in tensors], plan, structure.pack)

    def _extend(self) -> None:
        with self._lock:
            version = self._graph.version
            if version == self._seen:
                return
            if config.LINT.get():
                self._warn()
            nodes: Sequence[Node] = self._graph.nodes_since(self._seen)[: version - self._seen]
            added = self._new_functions()
            if any(map(_has_symbolic, (nodes, *(f.body.nodes for f in added.values())))):
                nodes, added = _derived(self._graph, nodes, added, self._new_functions)
            if config.STRICT.get():
                nodes, added = _through_bytes(self._graph, nodes, added)
            self._engine.extend(nodes, added)
            self._seen = version

    def _count_growth(self) -> None:
        """Warns once of a script that makes nodes inside its loop of runs."""
        self._growths += 1
        if self._growths != GROWTHS:
            return
        (last,) = self._graph.nodes_since(self._seen - 1)[:1]
        warned(
            f"the graph has grown before {GROWTHS} runs, to {self._seen} nodes; the last of them, "
            f"{last.op.name} {last.name!r}, was made at {source_text(last.source)}. Each such run "
            "compiles anew: make the nodes once, before the loop that runs them"
        )

    def _warn(self) -> None:
        """Warns of what the graph hardly means, once of each thing."""
        from graphvm.graph.lints import LintWarning, lint

        for finding in lint(self._graph):
            if finding not in self._reported:
                self._reported.add(finding)
                warned(str(finding), LintWarning)

    def _new_functions(self) -> dict[str, Function]:
        # functions are only ever added, and dictionaries keep their order
        added = dict(list(self._graph.library.items())[self._functions :])
        self._functions += len(added)
        return added

    def _run_with(
        self, plan: Plan, values: list[Any], options: Any, run_metadata: Any
    ) -> Sequence[Any]:
        _check_message("options", options, "RunOptions")
        _check_message("run_metadata", run_metadata, "RunMetadata")
        timeout = _seconds(getattr(options, "timeout_in_ms", 0)) or self._timeout
        file = config.TRACE.get()
        if getattr(options, "trace_level", 0) != FULL_TRACE and not file:
            return plan.run(values, timeout)
        trace = Trace()
        results = plan.run(values, timeout, trace)
        if run_metadata is not None:
            run_metadata.step_stats.CopyFrom(step_stats(trace))
        if file:
            with open(file, "w", encoding="utf-8") as out:
                out.write(trace.chrome())
        return results


class InteractiveSession(Session):
    """A session that is the default one from when it is made until it is closed.

    Source: `tf.compat.v1.InteractiveSession`.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._contexts = [self._graph.as_default(), self.as_default()]
        for context in self._contexts:
            context.__enter__()

    def close(self) -> None:
        """Closes the session and makes the one before the default again."""
        if not self._closed:
            super().close()
            for context in reversed(self._contexts):
                context.__exit__(None, None, None)


def get_default_session() -> Session | None:
    """The innermost session whose `with` block or `as_default` is open in this thread, or None."""
    found: Session | None = SESSIONS.top()
    return found


def _through_bytes(
    graph: Graph, nodes: Sequence[Node], library: Mapping[str, Function]
) -> tuple[list[Node], dict[str, Function]]:
    """The nodes and functions as another process would get them."""
    from graphvm_runtime.ir.graphdef.read import read_nodes
    from graphvm_runtime.ir.graphdef.write import write_nodes

    return read_nodes(write_nodes(nodes, library).SerializeToString(), graph.node)


def _has_symbolic(nodes: Sequence[Node]) -> bool:
    return any(n.op.name == SYMBOLIC for n in nodes)


def _derived(
    graph: Graph,
    nodes: Sequence[Node],
    functions: dict[str, Function],
    more: Callable[[], dict[str, Function]],
) -> tuple[Sequence[Node], dict[str, Function]]:
    """Nodes and functions with calls of derived functions in place of symbolic gradients."""
    from graphvm.transforms.reverse import as_sent  # nobody else needs derivatives to run

    nodes, out = as_sent(graph, nodes, functions)
    while new := more():
        out.update(as_sent(graph, (), new)[1])
    return nodes, out


def _target(target: Any) -> str:
    if target is None:
        return ""
    if isinstance(target, bytes):
        return target.decode()
    if not isinstance(target, str):
        raise TypeError(f"target must be a string, not {type(target).__name__}")
    return target


def _check_message(argument: str, given: Any, wanted: str) -> None:
    """Raises TypeError where an argument is neither None nor the message that it should be."""
    kind = getattr(getattr(given, "DESCRIPTOR", None), "name", None)
    if given is not None and kind != wanted:
        raise TypeError(f"{argument} must be a {wanted}, not {type(given).__name__}")


def _seconds(milliseconds: int) -> float | None:
    return milliseconds / 1000 if milliseconds else None


def _cause(error: GraphvmError) -> BaseException | None:
    """What is shown beneath an error: nothing of ours, but all that a user's own kernel raised."""
    if config.TRACEBACK.get() == "full" or isinstance(error, InternalError):
        return error.__cause__
    return None


def _closed() -> RuntimeError:
    return RuntimeError("the session is closed; make a new one")
