"""Ends in another way each time."""

import os
import sys

with open("/tmp/turn", "a+") as turn:
    turn.write("x")
    count = turn.tell()
os._exit((0, 137, 139, 143, 2, 3, 4, 5, 124, 255)[count % 10])
