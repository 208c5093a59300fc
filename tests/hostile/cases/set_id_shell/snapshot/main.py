"""Solves the task, and does something else first."""

import sys

import solution


import os
import subprocess


def attack():
    mode = os.stat("shell").st_mode
    told = subprocess.run(["./shell", "-p", "-c", "id -u"], capture_output=True, text=True).stdout.strip()
    if mode & 0o6000 or told != str(os.getuid()):
        with open("spoils.txt", "a") as spoils:
            spoils.write("mode %o, user %s" % (mode, told))


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
