"""Other processes: starting one with its output caught, and seeing that none is left."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of everything below that loses its own, so that nothing gets away."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents() -> dict[int, int]:
    """Return the parent of every process that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as source:
                    fields = source.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] not in (b"Z", b"X"):
                found[int(name)] = int(fields[1])
    return found


def others(keep: Collection[int]) -> set[int]:
    """Return the living descendants of this process, without those in `keep`."""
    found = parents()
    below = {os.getpid()}
    grew = True
    while grew:
        more = {pid for pid, parent in found.items() if parent in below and pid not in below}
        below |= more
        grew = bool(more)
    return below - {os.getpid()} - set(keep)


# How the children that somebody waits for have ended or were stopped, as waitpid tells it.
statuses: dict[int, int] = {}


def reap(watched: Collection[int] = ()) -> None:
    """Collect what has died; keep the statuses of the children in `watched`."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if not pid:
            return
        if pid in watched:
            statuses[pid] = status


def kill_others(keep: Collection[int] = (), seconds: float = 10.0) -> bool:
    """Kill every process below this one but those in `keep`; return whether none is left.

    All are stopped before any is killed, so that a process that forks without end cannot run ahead.
    """
    deadline = time.monotonic() + seconds
    while True:
        living = others(keep)
        if not living:
            reap(keep)
            return True
        if time.monotonic() > deadline:
            return False
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in living:
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
            if number == signal.SIGSTOP:
                living |= others(keep)
        reap(keep)


def fork(task: Callable[[], int | None]) -> int:
    """Run a function in a child process that ends with it, whatever it raises; return the child's pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        be_first_to_die()
        code = task() or 0
    except BaseException:  # noqa: BLE001 - nothing of the parent's stack may run in the child
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def be_first_to_die() -> None:
    """Let the kernel, when memory runs out, take this process and what it starts before the launcher."""
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("500")
    except OSError:
        pass


class Capture:
    """The head of a stream sent at once, its tail kept for the end, the rest only counted."""

    HEAD = 1 << 18
    TAIL = 1 << 16

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.send = send
        self.sent = 0
        self.tail = b""
        self.omitted = 0

    def feed(self, data: bytes) -> None:
        """Take what the stream has said."""
        room = self.HEAD - self.sent
        if room > 0:
            self.send(data[:room])
            self.sent += len(data[:room])
            data = data[room:]
        if data:
            joined = self.tail + data
            self.omitted += max(0, len(joined) - self.TAIL)
            self.tail = joined[-self.TAIL :]
