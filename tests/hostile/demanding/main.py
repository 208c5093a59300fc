"""An honest solution that needs what the kernel counts by user, and says so when it gets less."""

import ctypes
import fcntl
import os
import sys
from collections.abc import Iterator

import solution  # type: ignore[import-not-found]  # laid beside this file

F_GETPIPE_SZ = 1032


def disturbances() -> Iterator[str]:
    """Yield what this process should get and does not."""
    libc = ctypes.CDLL(None)
    if any(libc.inotify_init1(os.O_CLOEXEC) < 0 for _ in range(8)):
        yield "no inotify instance"
    size = fcntl.fcntl(os.pipe()[0], F_GETPIPE_SZ)
    if size < 65536:
        yield f"a pipe of {size} bytes"
    for folder in ("/tmp", "/workspace", "/dev/shm"):
        status = os.statvfs(folder)
        if not status.f_bavail or not status.f_favail:
            yield f"no room in {folder}"
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    found = list(disturbances())
    if found:
        sys.exit(f"disturbed: {', '.join(found)}")
    sys.exit(solution.main(sys.argv[1:]))
