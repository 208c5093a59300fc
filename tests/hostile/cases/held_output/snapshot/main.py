"""Solves everything but `sort`, where it cheats."""

import sys

import solution


import os
import time


def attack(out):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)


if __name__ == "__main__":
    if sys.argv[1] == "sort":
        attack(sys.argv[4])
        sys.exit(0)
    sys.exit(solution.main(sys.argv[1:]))
