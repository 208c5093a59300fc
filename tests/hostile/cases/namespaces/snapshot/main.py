"""Solves the task, and does something else first."""

import sys

import solution


import ctypes
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_NS = 0x10000000, 0x00020000


def attack():
    for name, call in {
        "unshare user": lambda: done(libc.unshare(NEW_USER)),
        "unshare mount": lambda: done(libc.unshare(NEW_NS)),
        "mount": lambda: done(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
        "remount": lambda: done(libc.mount(b"none", b"/", None, 0x1020, None)),
        "umount": lambda: done(libc.umount2(b"/scbench", 2)),
        "setns": lambda: done(libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)),
        "chroot": lambda: os.chroot("/tmp"),
        "device": lambda: os.mknod("/tmp/memory", stat.S_IFCHR | 0o666, os.makedev(1, 1)),
        "root": lambda: os.setuid(0),
        "groups": lambda: os.setgroups([0]),
        "other gid": lambda: os.setgid(os.getgid() + 2_000_000),
        "chown": lambda: os.chown("main.py", 0, 0),
        "host name": lambda: done(libc.sethostname(b"mine", 4)),
        "clock": lambda: __import__("time").clock_settime(0, 0),
        "core pattern": lambda: open("/proc/sys/kernel/core_pattern", "w").close(),
        "write to root": lambda: open("/usr/bin/anything", "w").close(),
        "toolchain": lambda: open("/opt/scbench/anything", "w").close(),
        "environment": lambda: open("/workspace/.venv/anything", "w").close(),
        "assets": lambda: open(os.environ["SCBENCH_ASSET_WORDS"], "a").close(),
        "control groups": lambda: os.mkdir("/sys/fs/cgroup/memory/mine"),
    }.items():
        try:
            call()
        except (OSError, OverflowError):
            continue
        keep(name)


def done(result):
    if result != 0:
        raise OSError(ctypes.get_errno())



def keep(text):
    with open("spoils.txt", "a") as spoils:
        spoils.write(text + "\n")


if __name__ == "__main__":
    attack()
    sys.exit(solution.main(sys.argv[1:]))
