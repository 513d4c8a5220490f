"""Addresses of tasks: how they are written, who can reach them, and that no two are one."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import Any

from graphvm_runtime.errors import InvalidArgumentError, UnavailableError, clipped

_JOB = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_UNIX = "unix:"
_LOCALHOST = ("127.0.0.1", "::1")
_TRIES = 20  # for a port that is free at all addresses of a name
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def split(address: object) -> tuple[str, int]:
    """Host and port of an address; the port is 0 where any will do.

    Raises:
        InvalidArgumentError: it is not of the form `host:port`.
    """
    if not isinstance(address, str):
        raise _wrong(address, "is no text")
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or port.endswith("]"):
        raise _wrong(address, "has no port" if address else "is empty")
    if not (port.isascii() and port.isdigit()):
        raise _wrong(address, f"has the port {clipped(port)}, which is no number")
    if len(port) > 5 or int(port) > 65535:
        raise _wrong(address, f"has the port {clipped(port)}, which is not in 1..65535")
    if bracketed:
        host = host[1:-1]
        if not isinstance(_as_ip(host), ipaddress.IPv6Address):
            raise _wrong(address, "has no IPv6 address in its brackets")
    elif ":" in host:
        raise _wrong(address, "has several colons", f"write [{host}]:{port} for an IPv6 address")
    elif re.search(r"[\s/,@\[\]]", host):
        raise _wrong(address, "has characters that no host has")
    return host, int(port)


def _wrong(
    address: object, why: str, do: str = "write it like localhost:2222"
) -> InvalidArgumentError:
    return InvalidArgumentError(f"the address {clipped(address)} {why}", do=do)


def check(address: object) -> None:
    """Raises InvalidArgumentError for what is neither `host:port` nor `unix:path`."""
    if not (isinstance(address, str) and address.startswith(_UNIX)):
        split(address)
    elif address == _UNIX:
        raise _wrong(address, "has no path", "write it like unix:/tmp/socket")


def _as_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_local(address: str) -> bool:
    """Whether only processes of this machine can reach an address."""
    if address.startswith(_UNIX):
        return True
    host, _ = split(address)
    if host.lower() == "localhost":
        return True
    ip = _as_ip(host)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip is not None and ip.is_loopback


def addresses_of(
    cluster: Mapping[str, Collection[str] | Mapping[int, str]],
) -> dict[str, dict[int, str]]:
    """A cluster with its tasks by number, from lists or mappings of addresses.

    Raises:
        InvalidArgumentError: a name or an address is malformed, or two tasks have one address.
    """
    if not isinstance(cluster, Mapping):
        raise InvalidArgumentError(
            f"a cluster maps jobs to addresses, and {clipped(cluster)} does not",
            do='write it like {"worker": ["localhost:2222", "localhost:2223"]}',
        )
    made = {job: _tasks(job, tasks) for job, tasks in cluster.items()}
    seen: dict[object, str] = {}
    for job, tasks in made.items():
        for number, address in tasks.items():
            name = f"task {number} of job {job!r}"
            key = _identity(address)
            other = seen.setdefault(key, name) if key is not None else name
            if other != name:
                raise InvalidArgumentError(
                    f"{other} and {name} both have the address {address}",
                    do="give each task an address of its own",
                )
    return made


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if not isinstance(job, str) or not _JOB.fullmatch(job):
        raise InvalidArgumentError(
            f"{clipped(job)} is no name of a job",
            do="take letters, digits, and _ . -, with a letter or _ first",
        )
    if isinstance(tasks, str | bytes) or not isinstance(tasks, Collection):
        raise InvalidArgumentError(
            f"job {job!r} has {clipped(tasks)} where a list of addresses is wanted",
            do='write it like {"worker": ["localhost:2222", "localhost:2223"]}',
        )
    pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
    made: dict[int, str] = {}
    for number, address in pairs:
        try:
            index = int(number)
        except (TypeError, ValueError):
            index = -1
        if index < 0 or isinstance(number, bool | float):
            raise InvalidArgumentError(f"job {job!r} has a task with the number {clipped(number)}")
        try:
            check(address)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                f"task {index} of job {job!r}: {error.what}", do=error.do
            ) from None
        made[index] = address
    return made


def _identity(address: str) -> object:
    """The same for two ways to write one address; None for a port that is still open."""
    if address.startswith(_UNIX):
        return address
    host, port = split(address)
    name = _LOCALHOST[0] if host.lower() == "localhost" else host.lower()
    return (str(_as_ip(name) or name), port) if port else None


def to_bind(address: str) -> list[str]:
    """What a server listens on for an address: each that its host stands for, one port for all.

    Raises:
        UnavailableError: somebody else listens on one of them, or this machine has none of them.
    """
    host, port = split(address)
    hosts = _hosts(host, address)
    reason = "no port is free at all of them"
    for _ in range(1 if port else _TRIES):
        number, found = port, list[str]()
        with ExitStack() as probes:
            for each in hosts:
                family = socket.AF_INET6 if ":" in each else socket.AF_INET
                try:
                    probe = probes.enter_context(socket.socket(family, socket.SOCK_STREAM))
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    if family == socket.AF_INET6:
                        probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, each != "::")
                    probe.bind((each, number))
                except OSError as error:
                    reason = error.strerror or str(error)
                    if error.errno in _ABSENT:
                        continue  # a machine without IPv6 may have a name for it
                    found.clear()
                    break
                number = probe.getsockname()[1]
                found.append(f"[{each}]:{number}" if ":" in each else f"{each}:{number}")
        if found:
            return found
    raise taken(address, reason)


def taken(address: str, reason: str) -> UnavailableError:
    """The error for an address at which no server can listen."""
    return UnavailableError(
        f"cannot listen on {address}: {reason}", do="see who has that port, or take another"
    )


def _hosts(host: str, address: str) -> list[str]:
    if host.lower() == "localhost":
        return list(_LOCALHOST)
    if _as_ip(host) is not None:
        return [host]
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise taken(address, f"the host is not known ({error})") from error
    return list(dict.fromkeys(str(info[4][0]) for info in found))
