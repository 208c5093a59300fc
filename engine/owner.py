"""Who owns a container or a folder: a process, named so that a later one can tell whether it still lives."""

import functools
import os
import socket
from pathlib import Path


@functools.cache
def current() -> str:
    """Name this process: host, boot, pid and start time; no other process ever has the same name."""
    return f"{socket.gethostname()}/{_boot()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_dead(name: str) -> bool:
    """Tell whether a process named so is known to be gone; of other machines nothing is known."""
    try:
        host, boot, pid, started = name.split("/")
    except ValueError:
        return False
    if host != socket.gethostname():
        return False
    return boot != _boot() or _start_time(int(pid)) != started


@functools.cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def _start_time(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "gone"
