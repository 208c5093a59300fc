"""How this machine is doing: memory, CPU and disk, for admission to go by.

Linux tells it in /proc; elsewhere what cannot be told is None.
"""

import os
import shutil
from pathlib import Path

import msgspec

_MEMORY = Path("/proc/meminfo")
_CPU = Path("/proc/stat")


class CpuTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Ticks since the machine started."""

    idle: int
    total: int


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of memory, and how many of them could be had without swapping."""

    total: int
    available: int


def cores() -> int:
    """Tell how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def memory() -> Memory | None:
    """Tell how much memory there is. Blocks."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        return Memory(total=_bytes(lines["MemTotal"]), available=_bytes(lines["MemAvailable"]))
    except (OSError, KeyError, ValueError):
        return None


def cpu_times() -> CpuTimes | None:
    """Tell how the CPUs spent their time so far. Blocks."""
    try:
        ticks = [int(field) for field in _CPU.read_text().split("\n", 1)[0].split()[1:9]]
        # user, nice, system, idle, waiting for input or output, ...
        return CpuTimes(idle=ticks[3] + ticks[4], total=sum(ticks))
    except (OSError, IndexError, ValueError):
        return None


def idle_share(before: CpuTimes | None, after: CpuTimes | None) -> float | None:
    """Tell which share of the time between two readings the CPUs were idle."""
    if before is None or after is None or after.total <= before.total:
        return None
    return min(1.0, max(0.0, (after.idle - before.idle) / (after.total - before.total)))


def disk_free(path: Path) -> int | None:
    """Tell how many bytes can be written below a folder. Blocks."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def disk_size(path: Path) -> int | None:
    """Tell how large the disk is that a folder lies on. Blocks."""
    try:
        return shutil.disk_usage(path).total
    except OSError:
        return None


def _bytes(field: str) -> int:
    return int(field.split(maxsplit=1)[0]) * 1024
