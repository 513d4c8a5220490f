"""Clusters: which tasks there are, and servers that are one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.protos.cluster_pb2 import ClusterDef
from graphvm_runtime.protos.tensorflow_server_pb2 import ServerDef


class ClusterSpec:
    """The tasks of a cluster: for each job its addresses, `host:port`.

    Args:
        cluster: a mapping from jobs to lists of addresses or to mappings from task numbers to
            addresses, a `ClusterDef`, or another ClusterSpec.

    Raises:
        TypeError: it is something else.

    Source: `tf.train.ClusterSpec`.
    """

    def __init__(self, cluster: Any) -> None:
        self._jobs: dict[str, dict[int, str]] = {}
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, ClusterDef):
            self._jobs = {job.name: dict(sorted(job.tasks.items())) for job in cluster.job}
        elif isinstance(cluster, Mapping):
            for job, tasks in cluster.items():
                self._jobs[job] = _tasks(job, tasks)
        else:
            raise TypeError(
                f"a cluster is a mapping, a ClusterDef or a ClusterSpec, not "
                f"{type(cluster).__name__}"
            )

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]  # equal by its content, like a dictionary

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    @property
    def jobs(self) -> list[str]:
        """Names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """The cluster as a dictionary: lists where task numbers have no gaps."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """The cluster as a message."""
        message = ClusterDef()
        for name, tasks in self._jobs.items():
            job = message.job.add(name=name)
            for index, address in tasks.items():
                job.tasks[index] = address
        return message

    def _job(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"the cluster has no job {job!r}; it has {', '.join(self._jobs)}")
        return self._jobs[job]

    def num_tasks(self, job_name: str) -> int:
        """Number of tasks of a job. Raises ValueError."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Numbers of the tasks of a job. Raises ValueError."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Address of a task. Raises ValueError."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"job {job_name!r} has no task {task_index}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Addresses of the tasks of a job, None for numbers not in use. Raises ValueError."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, Mapping):
        found = dict(sorted(tasks.items()))
    elif isinstance(tasks, Sequence) and not isinstance(tasks, str):
        found = dict(enumerate(tasks))
    else:
        raise TypeError(f"the tasks of job {job!r} are a list or a mapping, not {tasks!r}")
    if not isinstance(job, str) or not all(isinstance(k, int) for k in found):
        raise TypeError("jobs are named by strings, tasks by numbers")
    if not all(isinstance(address, str) for address in found.values()):
        raise TypeError(f"an address of job {job!r} is no string")
    return found


class Server:
    """A task of a cluster, in this process: a worker for any master, a master for any client.

    Args:
        server_or_cluster_def: a cluster, or a `ServerDef`.
        job_name: this task's job; may be left out where there is only one.
        task_index: this task's number; may be left out where there is only one.
        protocol: `grpc`.
        config: the default options of sessions; not used by this server itself.
        start: whether to begin at once.
        insecure: listen on an address that other machines reach, without TLS.
        tls: files for TLS in which both sides show a certificate: authority, certificate, key.
        allow: ops that may touch files, the network or Python here, such as `SaveV2`.

    Raises:
        ValueError: it does not say which task to be.
        PermissionDeniedError: other machines could reach it, and nothing protects it.
        UnavailableError: the address is taken.

    Source: `tf.train.Server`.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
        *,
        insecure: bool = False,
        tls: Sequence[str] | None = None,
        allow: Collection[str] = (),
    ) -> None:
        # grpc is loaded only where a cluster is used
        from graphvm_runtime.server import Keys, Safety
        from graphvm_runtime.server import Server as Running

        self._definition = _server_def(server_or_cluster_def, job_name, task_index, protocol)
        if config is not None:
            self._definition.default_session_config.CopyFrom(config)
        spec = ClusterSpec(self._definition.cluster)
        self._server = Running(
            spec._jobs,
            self._definition.job_name,
            self._definition.task_index,
            Safety(insecure, Keys(*tls) if tls else None, frozenset(allow)),
        )
        if start:
            self.start()

    @property
    def server_def(self) -> ServerDef:
        """The cluster, and which task of it this is."""
        return self._definition

    @property
    def target(self) -> str:
        """What a `Session` takes to have this server as its master."""
        return self._server.target

    def start(self) -> None:
        """Begins to serve; does nothing when it has begun."""
        self._server.start()

    def join(self) -> None:
        """Waits until the server is stopped."""
        self._server.join()

    def stop(self) -> None:
        """Ends all sessions and streams."""
        self._server.stop()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """A cluster of one task, on a free port of this machine."""
        return Server(
            ClusterSpec({"localhost": ["localhost:0"]}), protocol="grpc", config=config, start=start
        )


def _server_def(
    given: Any, job_name: str | None, task_index: int | None, protocol: str | None
) -> ServerDef:
    definition = ServerDef()
    if isinstance(given, ServerDef):
        definition.CopyFrom(given)
        if job_name is not None:
            definition.job_name = job_name
        if task_index is not None:
            definition.task_index = task_index
    else:
        spec = ClusterSpec(given)
        definition.cluster.CopyFrom(spec.as_cluster_def())
        if job_name is None:
            if len(spec.jobs) != 1:
                raise ValueError("job_name must be given: the cluster has several jobs, or none")
            job_name = spec.jobs[0]
        if task_index is None:
            indices = spec.task_indices(job_name)
            if len(indices) != 1:
                raise ValueError(f"task_index must be given: job {job_name!r} has several tasks")
            task_index = indices[0]
        definition.job_name = job_name
        definition.task_index = task_index
    if protocol is not None:
        definition.protocol = protocol
    definition.protocol = definition.protocol or "grpc"
    if definition.protocol != "grpc":
        raise InvalidArgumentError(f"there is no protocol {definition.protocol!r}; use grpc")
    return definition


__all__ = ["ClusterDef", "ClusterSpec", "Server", "ServerDef"]
