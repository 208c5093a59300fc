"""Does not solve the task, and attacks instead."""

import os
import time


def attack():
    grader = os.getppid()
    for change in (
        lambda: os.setpriority(os.PRIO_PROCESS, grader, 19),
        lambda: os.sched_setscheduler(grader, os.SCHED_IDLE, os.sched_param(0)),
        lambda: os.sched_setaffinity(grader, {0}),
    ):
        try:
            change()
        except OSError:
            pass
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(null, descriptor)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass
        os._exit(0)


if __name__ == "__main__":
    attack()
    print("no idea")
