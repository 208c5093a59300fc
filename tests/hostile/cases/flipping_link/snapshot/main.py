"""Leaves a daemon that swaps a file for a link to the expected file, without end."""

import ctypes
import os
import sys

RENAME_EXCHANGE = 2
libc = ctypes.CDLL(None)


def main(given, out):
    expected = os.path.join(os.path.dirname(given), "expected.txt")
    os.symlink(expected, out)
    with open(out + ".file", "w") as target:
        target.write("wrong")
    if os.fork():
        return
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    names = os.fsencode(out), os.fsencode(out + ".file")
    while os.getppid():
        libc.syscall(316, -100, names[0], -100, names[1], RENAME_EXCHANGE)


main(*sys.argv[1:])
