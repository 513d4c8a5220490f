"""A session for a target: this process, a server, or workers that the client plans for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graphvm_runtime import config
from graphvm_runtime.engine.api import Session
from graphvm_runtime.engine.session import LocalSession
from graphvm_runtime.errors import InvalidArgumentError


def connect(target: str = "", options: Any = None) -> Session:
    """The session for a target.

    Args:
        target: empty or `local` for this process; `grpc://host:port`, `grpc://unix:path` for a
            server that is to be the master (`grpcs://` with TLS, see `GRAPHVM_TLS`).
        options: a `ConfigProto`, or None. With a `cluster_def` and no target this process plans
            for those tasks itself, and runs what is placed on none of them.

    Raises:
        InvalidArgumentError: it is no target, or the cluster is malformed.
    """
    cluster = getattr(options, "cluster_def", None)
    if target in ("", "local") and cluster is None:
        return LocalSession()
    # what clusters need is loaded only where one is used
    from graphvm_runtime.cluster.addresses import addresses_of, check

    jobs = {}
    if cluster is not None:
        jobs = addresses_of({job.name: dict(job.tasks) for job in cluster.job})
    if target in ("", "local"):
        return _planning(jobs, options) if jobs else LocalSession()
    scheme, found, address = target.partition("://")
    if not found or scheme not in ("grpc", "grpcs") or not address:
        raise InvalidArgumentError(
            f"{target!r} is no target", do="write grpc://host:port, or nothing for this process"
        )
    check(address)
    from graphvm_runtime.engine.remote import RemoteSession

    return RemoteSession(address, _keys() if scheme == "grpcs" else None)


def _keys() -> Any:
    from graphvm_runtime.cluster.hub import Keys

    files = config.TLS.get().split(",")
    if len(files) != 3:
        raise InvalidArgumentError(
            "no files for TLS",
            do="set GRAPHVM_TLS to authority.pem,certificate.pem,key.pem",
        )
    return Keys(*files)


def _planning(jobs: Mapping[str, Mapping[int, str]], options: Any) -> Session:
    """A session that plans for the tasks of a cluster, and is a task of its own beside them."""
    from graphvm_runtime.cluster.hub import Hub
    from graphvm_runtime.cluster.remote import RemoteWorker, TaskHandler
    from graphvm_runtime.cluster.threads import Threads
    from graphvm_runtime.cluster.transport import Limits
    from graphvm_runtime.cluster.worker import LocalWorker
    from graphvm_runtime.engine.master import MasterSession
    from graphvm_runtime.values.resources import ResourceManager

    me = f"/job:client-{os.urandom(4).hex()}/replica:0/task:0"
    threads, limits = Threads("graphvm-client"), Limits()
    here = LocalWorker(me, ResourceManager(), threads)
    handler = TaskHandler(here, serves=False)
    addresses = {
        f"/job:{job}/replica:0/task:{index}": address
        for job, tasks in jobs.items()
        for index, address in sorted(tasks.items())
    }
    keys = _keys() if config.TLS.get() else None
    hub = handler.hub = here.network = Hub(me, addresses, handler, threads, limits, keys)

    def close() -> None:
        hub.close()
        threads.shutdown()

    remote = [RemoteWorker(task, hub, limits.connect) for task in addresses]
    soft = getattr(options, "allow_soft_placement", True)
    return MasterSession([here, *remote], me, soft, on_close=close)
