"""Solves the task, and does something else first."""

import sys

import solution


import os
import socket


def attack():
    for address in (("1.1.1.1", 53), ("172.17.0.1", 2375), ("169.254.169.254", 80), ("2606:4700::1111", 53)):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.settimeout(0.2)
                client.connect(address)
                keep("reached %s" % address[0])
        except OSError:
            pass
    for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)):
        try:
            socket.socket(family, kind, 1).close()
            keep("raw socket")
        except OSError:
            pass
    names = [name for _, name in socket.if_nameindex() if name not in ("lo", "tunl0", "sit0", "ip6tnl0")]
    if names:
        keep("interfaces %s" % names)
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
        if os.path.exists(path):
            keep(path)



def keep(text):
    with open("spoils.txt", "a") as spoils:
        spoils.write(text + "\n")


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
