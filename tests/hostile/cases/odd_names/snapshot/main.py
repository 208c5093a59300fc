"""Solves the task, and does something else first."""

import sys

import solution


def attack():
    pass


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
