"""Device names: parse, merge and match. Data only."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from graphvm_runtime.errors import GraphError

_PART = re.compile(
    r"/(?:job:(?P<job>[A-Za-z_][\w.\-]*)|replica:(?P<replica>\d+|\*)|task:(?P<task>\d+|\*)"
    r"|device:(?P<type>[A-Za-z_]\w*)(?::(?P<index>\d+|\*))?"
    r"|(?P<old>[cCgG][pP][uU])(?::(?P<old_index>\d+|\*))?)$"
)


class DeviceSpec(NamedTuple):
    """A partial device name, `/job:worker/replica:0/task:1/device:CPU:0`.

    Source: `tf.DeviceSpec`.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def merged(self, other: DeviceSpec) -> DeviceSpec:
        """This name, with what `other` says winning."""
        if other == ANY:
            return self
        return DeviceSpec(
            self.job if other.job is None else other.job,
            self.replica if other.replica is None else other.replica,
            self.task if other.task is None else other.task,
            self.device_type if other.device_type is None else other.device_type,
            self.device_index if other.device_index is None else other.device_index,
        )

    def matches(self, full: DeviceSpec) -> bool:
        """Whether the full name satisfies all that this one says."""
        return all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.job, full.job),
                (self.replica, full.replica),
                (self.task, full.task),
                (self.device_type, full.device_type),
                (self.device_index, full.device_index),
            )
        )

    def task_only(self) -> DeviceSpec:
        """The process that this device is in."""
        return self._replace(device_type=None, device_index=None)

    def __str__(self) -> str:
        text = ""
        if self.job is not None:
            text += f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text


ANY = DeviceSpec()


@lru_cache(maxsize=4096)
def parsed(name: str) -> DeviceSpec:
    """The device that a full, partial or old (`/gpu:0`) name means.

    Raises:
        GraphError: the name has a part that is no device part.
    """
    if not name:
        return ANY
    fields: dict[str, str | int | None] = {}
    for part in name.split("/")[1:] if name.startswith("/") else [name]:
        found = _PART.match("/" + part)
        if found is None:
            raise GraphError(
                f"{name!r} is no device name: {part!r} is not understood",
                do="write it like /job:worker/task:1/device:CPU:0",
            )
        for key, value in found.groupdict().items():
            if value is None:
                continue
            key = {"old": "type", "old_index": "index"}.get(key, key)
            if key == "type":
                fields["device_type"] = value.upper()
            elif key == "job":
                fields["job"] = value
            else:
                number = None if value == "*" else int(value)
                fields["device_index" if key == "index" else key] = number
    return DeviceSpec(**fields)  # type: ignore[arg-type]  # the keys and types are made above
