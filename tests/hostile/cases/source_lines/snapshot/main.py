"""Does not solve the task, and attacks instead."""

import os


def attack():
    for path in ("inside/grader.py", "inside/evaluate.py", "inside/launcher.py", "inside/identity.py", "<string>", "<frozen runpy>"):
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            os.mkfifo(path)
        except OSError:
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
