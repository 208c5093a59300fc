"""What the kernel counted for this container: kills for lack of memory, refused forks, CPU, full disks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CGROUP = "/sys/fs/cgroup"


def read_pairs(*paths: str) -> dict[str, int]:
    """Return the `name value` lines of the first file that can be read."""
    for path in paths:
        try:
            with open(path) as source:
                pairs = (line.split() for line in source)
                return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
        except OSError:
            continue
    return {}


def read_number(path: str) -> int:
    """Return the number in a file, or zero."""
    try:
        with open(path) as source:
            return int(source.read())
    except (OSError, ValueError):
        return 0


def oom_kills() -> int:
    """How many processes of this container the kernel killed for lack of memory."""
    pairs = read_pairs(CGROUP + "/memory/memory.oom_control", CGROUP + "/memory.events")
    return pairs.get("oom_kill", 0)


def refused_forks() -> int:
    """How often a process could not be made because of the limit."""
    return read_pairs(CGROUP + "/pids/pids.events", CGROUP + "/pids.events").get("max", 0)


def cpu() -> dict[str, float]:
    """CPU seconds used by this container, and seconds for which it was held back."""
    usage = read_number(CGROUP + "/cpuacct/cpuacct.usage") / 1e9
    old = read_pairs(CGROUP + "/cpu/cpu.stat")
    new = read_pairs(CGROUP + "/cpu.stat")
    throttled = old.get("throttled_time", 0) / 1e9 or new.get("throttled_usec", 0) / 1e6
    return {"used": usage or new.get("usage_usec", 0) / 1e6, "throttled": throttled}


class Waiting:
    """How long processes of this container were ready to run and had to wait for a CPU."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.seen: dict[str, float] = {}

    def sample(self) -> None:
        """Add what was waited since the last time, as far as those who waited still live."""
        now = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/schedstat" % name) as source:
                        now[name] = int(source.read().split()[1]) / 1e9
                except (OSError, IndexError, ValueError):
                    continue
        self.seconds += sum(max(0.0, waited - self.seen.get(name, 0.0)) for name, waited in now.items())
        self.seen = now


def disk_full(folders: Iterable[str]) -> bool:
    """Whether one of these filesystems has no room or no inode left."""
    for folder in folders:
        try:
            status = os.statvfs(folder)
        except OSError:
            continue
        if status.f_bavail * status.f_frsize < 64 * 1024 or (status.f_files and not status.f_favail):
            return True
    return False


def sockets() -> int:
    """How many connections are still remembered; a network that others use next must not have any."""
    count = 0
    for name in ("tcp", "tcp6", "udp", "udp6"):
        try:
            with open("/proc/net/" + name) as source:
                count += max(0, len(source.readlines()) - 1)
        except OSError:
            continue
    return count
