"""Solves the task, and does something else first."""

import sys

import solution


def attack():
    with open(".venv/seen") as seen:
        names = seen.read().split()
    others = set(names) - {".", "..", ".venv", "requirements.txt"}
    if others:
        with open("spoils.txt", "a") as spoils:
            spoils.write("set-up saw %s" % others)


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
