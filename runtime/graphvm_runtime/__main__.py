"""The command line: `graphvm worker` serves, `inspect` shows a graph, `lint` finds faults in it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.protos.graph_pb2 import GraphDef

M = TypeVar("M", bound=Message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; gives the exit status."""
    parser = argparse.ArgumentParser(prog="graphvm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_worker(commands.add_parser(
        "worker", help="serve as a task of a cluster",
        description="Serves as a task of a cluster until it is told to end.",
    ))  # fmt: skip
    _add_inspect(commands.add_parser(
        "inspect", help="print a graph",
        description="Prints a GraphDef, MetaGraphDef or SavedModel (.pb or .pbtxt), a line a node. "
        "Ops that are not known here are marked by ? and named at the end.",
    ))  # fmt: skip
    _add_lint(commands.add_parser(
        "lint", help="find side effects that always run, or never do",
        description="Finds side effects in a graph that always run, or never do. "
        "The status is 1 where it finds any.",
    ))  # fmt: skip
    given = parser.parse_args(arguments)
    try:
        status: int = given.run(given)
    except GraphvmError as error:
        print(f"graphvm {given.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # `graphvm inspect model.pb | head`: nobody reads on, and that is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _add_worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cluster", required=True,
        help='JSON, or a file of it: {"worker": ["localhost:2222", "localhost:2223"]}',
    )  # fmt: skip
    parser.add_argument("--job", default="worker", help="job of this task (default: worker)")
    parser.add_argument("--task", type=int, default=0, help="number of this task (default: 0)")
    parser.add_argument(
        "--allow", nargs="*", default=[], metavar="OP",
        help="ops that may touch files, the network or Python here, such as SaveV2 RestoreV2",
    )  # fmt: skip
    parser.add_argument(
        "--insecure", action="store_true",
        help="listen on an address that other machines reach, without TLS",
    )  # fmt: skip
    parser.add_argument(
        "--tls", nargs=3, metavar=("CA", "CERT", "KEY"),
        help="files for TLS in which both sides show a certificate",
    )  # fmt: skip
    parser.add_argument("--max-bytes", type=int, help="most bytes of a tensor (default: 8 GiB)")
    parser.add_argument("--max-nodes", type=int, help="most nodes of a graph (default: a million)")
    parser.set_defaults(run=_worker)


def _worker(given: argparse.Namespace) -> int:
    from graphvm_runtime.cluster.hub import Keys
    from graphvm_runtime.cluster.transport import Limits
    from graphvm_runtime.server import Safety, Server, addresses_of

    usual = Limits()
    server = Server(
        addresses_of(_cluster(given.cluster)),
        given.job,
        given.task,
        Safety(given.insecure, Keys(*given.tls) if given.tls else None, frozenset(given.allow)),
        Limits(
            usual.value if given.max_bytes is None else given.max_bytes,
            usual.nodes if given.max_nodes is None else given.max_nodes,
        ),
    )
    server.start()

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    os.environ["GRAPHVM_TASK"] = server.name  # for what this process starts
    print(f"{server.name} serves at {server.target}", flush=True)
    try:
        server.join()
    except KeyboardInterrupt:
        return 130
    finally:
        server.stop()
    return 0


def _cluster(text: str) -> dict[str, Any]:
    if not text.lstrip().startswith(("{", "[")):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidArgumentError(f"the cluster cannot be read: {error}") from error
    try:
        cluster = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"the cluster is no JSON: {error}",
            do='write it like {"worker": ["localhost:2222", "localhost:2223"]}',
        ) from error
    if not isinstance(cluster, dict):
        raise InvalidArgumentError("the cluster must be an object: job -> list of addresses")
    # the whole of TF_CONFIG will do
    inner = cluster.get("cluster")
    return inner if isinstance(inner, dict) else cluster


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a .pb or .pbtxt file, or a SavedModel's folder")
    parser.add_argument("--summary", action="store_true", help="only counts of ops")
    parser.set_defaults(run=_inspect)


def _inspect(given: argparse.Namespace) -> int:
    from graphvm_runtime.ir.definition_text import counted_ops, print_definition, unknown_ops
    from graphvm_runtime.ir.graphdef.read import read_graph
    from graphvm_runtime.ir.text import print_graph

    for title, definition in _graphs_in(given.file):
        print(f"# {title}")
        unknown = unknown_ops(definition)
        if given.summary:
            for op, number in counted_ops(definition).most_common():
                print(f"{number:8} {'? ' if op in unknown else ''}{op}")
        elif unknown:
            print(print_definition(definition, limit=16))
        else:
            print(print_graph(read_graph(definition), limit=16))
        if unknown:
            print(f"# ops not known here, marked by ?: {', '.join(unknown)}")
    return 0


def _add_lint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a .pb or .pbtxt file, or a SavedModel's folder")
    parser.set_defaults(run=_lint)


def _lint(given: argparse.Namespace) -> int:
    from graphvm_runtime.ir.graphdef.read import read_graph
    from graphvm_runtime.ir.lints import lint

    found = [f for _, graph in _graphs_in(given.file) for f in lint(read_graph(graph))]
    for finding in found:
        print(finding)
    return int(bool(found))


def _graphs_in(file: Path) -> list[tuple[str, GraphDef]]:
    """The graphs in a file, with titles: GraphDef, MetaGraphDef or SavedModel."""
    from graphvm_runtime.protos.meta_graph_pb2 import MetaGraphDef
    from graphvm_runtime.protos.saved_model_pb2 import SavedModel

    if file.is_dir():
        file = next((f for f in map(file.joinpath, _SAVED_MODELS) if f.exists()), file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidArgumentError(f"{file} cannot be read: {error.strerror or error}") from error
    if file.name in _SAVED_MODELS:
        found = _parsed(SavedModel, data)
        graphs = list(found.meta_graphs) if found is not None else []
        return [(f"{file} {', '.join(g.meta_info_def.tags)}", g.graph_def) for g in graphs]
    graph = _parsed(GraphDef, data)
    if graph is not None and graph.node and all(n.op for n in graph.node):
        return [(str(file), graph)]
    meta = _parsed(MetaGraphDef, data)
    if meta is not None and meta.HasField("graph_def"):
        return [(str(file), meta.graph_def)]
    raise InvalidArgumentError(f"{file} is no GraphDef, MetaGraphDef or SavedModel")


_SAVED_MODELS = ("saved_model.pb", "saved_model.pbtxt")


def _parsed(kind: type[M], data: bytes) -> M | None:
    """The message in a file, as text or not; None where it is of another kind."""
    message = kind()
    with contextlib.suppress(DecodeError):
        message.ParseFromString(data)
        return message
    with contextlib.suppress(text_format.ParseError, UnicodeDecodeError):
        text_format.Parse(data.decode(), message)
        return message
    return None


if __name__ == "__main__":
    sys.exit(main())
