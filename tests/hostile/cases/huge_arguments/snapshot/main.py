"""Solves the task, and does something else first."""

import sys

import solution


import os


def attack():
    if os.path.exists("/tmp/huge"):
        return
    open("/tmp/huge", "w").close()
    for _ in range(8):
        if become_daemon():
            try:
                os.execve("/bin/sleep", ["sleep", "600"][:1] + ["600"] + ["0"] * 0, {"A" * 1000: "B" * (120 << 10), "C": "D" * (120 << 10)})
            except OSError:
                os._exit(1)



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
