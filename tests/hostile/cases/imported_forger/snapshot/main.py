"""Writes frames of every kind, each wrong in its own way."""

import os
import struct


def frame(kind, payload):
    return struct.pack(">cI", kind, len(payload)) + payload


FRAMES = (
    frame(b"t", b'{"nodeid": 1, "when": "never", "outcome": []}'),
    frame(b"c", b'[["x", "y"], 3]'),
    frame(b"u", b'"there is no seal"'),
    frame(b"g", b'"zero"'),
    frame(b"t", b"[" * 200_000),
    struct.pack(">cI", b"t", 0xFFFFFFFF),
)
for descriptor in range(3, 64):
    for said in FRAMES:
        try:
            os.set_blocking(descriptor, False)
            os.write(descriptor, said)
        except OSError:
            break


def double(number):
    return 2 * number
