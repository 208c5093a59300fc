"""Does not solve the task, and attacks instead."""

import os


def attack():
    line = b"y" * (24 << 20)
    while line:
        line = line[os.write(1, line) :]


if __name__ == "__main__":
    attack()
    print("no idea")
