"""Does not solve the task, and attacks instead."""

import os


def attack():
    block = b"x" * (1 << 20)
    for _ in range(1024):
        os.write(1, block)


if __name__ == "__main__":
    attack()
    print("no idea")
