"""Does not solve the task, and attacks instead."""

import os


def attack():
    junk = bytes(range(256)) + b"\xed\xa0\x80" + b"\x1b]0;title\x07\x1b[2J" + b"x\0\0\0\2{}" + b"]]>" + b"\n" * 3
    for descriptor in (1, 2):
        os.write(descriptor, junk * 16)
    os.write(1, b"===== 10 passed in 0.01s =====\nsession-timeout: 1 sec exceeded\n")


if __name__ == "__main__":
    attack()
    print("no idea")
