"""Solves the task, and does something else first."""

import sys

import solution


import ctypes
import os
import signal
import time

# Names that make a line of /proc/PID/stat read like that of a dead or foreign process.
NAMES = (b") Z 1 1 1", b"x) Z 0", b"python (", b")\n1 (x) Z 1", b"scbench-survive")


def attack():
    if os.path.exists("/tmp/survivor"):
        return
    open("/tmp/survivor", "w").close()
    for name in NAMES:
        if become_daemon():
            ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
            for number in range(1, 65):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            while True:
                time.sleep(1)



def become_daemon():
    """Go on in a grandchild with a session of its own; return False in the one that goes on as before."""
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    return True


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
