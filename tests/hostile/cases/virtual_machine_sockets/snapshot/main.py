"""Solves the task, and does something else first."""

import sys

import solution


import socket


def attack():
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return
    keep("a socket that leaves the container")



def keep(text):
    with open("spoils.txt", "a") as spoils:
        spoils.write(text + "\n")


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
