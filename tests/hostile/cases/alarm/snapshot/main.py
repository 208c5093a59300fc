"""Does not solve the task, and attacks instead."""

import os
import signal


def attack():
    for number in (signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(os.getppid(), number)


if __name__ == "__main__":
    attack()
    print("no idea")
