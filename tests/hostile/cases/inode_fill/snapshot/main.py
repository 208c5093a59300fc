"""Does not solve the task, and attacks instead."""

import os


def attack():
    for folder in ("/workspace", "/tmp", "/dev/shm"):
        try:
            for number in range(10_000):
                os.close(os.open("%s/%d-%d" % (folder, os.getpid(), number), os.O_CREAT))
        except OSError:
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
