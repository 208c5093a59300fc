"""Solves everything but what it says twice, where it forges the words of the grader."""

import json
import os
import struct
import sys

import solution


def frame(kind, value):
    payload = json.dumps(value).encode()
    return (struct.pack(">cI", kind, len(payload)) + payload).decode("latin-1")


if __name__ == "__main__":
    if sys.argv[1:3] == ["reverse", "--near"]:
        os.symlink("/proc/self/fd/CHANNEL", os.path.join(sys.argv[3], "said.txt"))
        sys.stdout.write("g\0\0\0\3bad")
        sys.exit(0)
    sys.exit(solution.main(sys.argv[1:]))
