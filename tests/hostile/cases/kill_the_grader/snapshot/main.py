"""Does not solve the task, and attacks instead."""

import os
import signal


def attack():
    os.kill(os.getppid(), signal.SIGKILL)


if __name__ == "__main__":
    attack()
    print("no idea")
