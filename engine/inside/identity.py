"""Who a process is: the submission, or the grader under the seal.

The seal: the grader keeps a group of its own as *saved* and *filesystem* gid only. It can open what
belongs to that group; whatever it starts goes through execve, where the kernel sets both back to the
effective gid, and has lost it. Because its gids are not all the same, processes of the submission's
uid can neither trace it nor read its memory, descriptors or environment.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys

from . import filters

_libc = ctypes.CDLL(None, use_errno=True)


class SealError(Exception):
    """The seal does not hold on this kernel; nothing may be judged under it."""


def become(uid: int, gid: int) -> None:
    """Turn this process into the submission, with nothing of root left."""
    filters.install()
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def seal(uid: int, gid: int, grader_gid: int) -> None:
    """Turn this process into the grader: the submission's uid, and a group that no child inherits."""
    filters.install()
    # With its own gid in no list, and another as filesystem gid, the kernel would start every child as if it
    # were set-id: the loader then drops TMPDIR and LD_LIBRARY_PATH.
    os.setgroups([gid])
    os.setresgid(gid, gid, grader_gid)
    _libc.setfsgid(grader_gid)
    os.setresuid(uid, uid, uid)
    if _libc.setfsgid(-1) != grader_gid:
        raise SealError("the kernel did not take the filesystem gid")


def unseal(gid: int) -> None:
    """Give the grader's group away for good: in a fork that goes on without an exec."""
    os.setresgid(gid, gid, gid)


def probe(canary: str, control: str) -> None:
    """Show that this process can open the canary and that a child cannot, or raise SealError."""
    try:
        with open(canary, "rb") as source:
            source.read()
    except OSError as error:
        raise SealError("the grader cannot open its own files: %s" % error) from error
    if not _child_can_read(control):
        raise SealError("a child cannot read what everybody can: the probe says nothing")
    if _child_can_read(canary):
        raise SealError("a child can open what only the grader may")


def _child_can_read(path: str) -> bool:
    cat = shutil.which("cat", path="/bin:/usr/bin")
    code = "import sys; open(sys.argv[1], 'rb').read()"
    command = [cat, path] if cat else [sys.executable, "-I", "-S", "-c", code, path]
    silent = subprocess.DEVNULL
    return subprocess.call(command, stdin=silent, stdout=silent, stderr=silent) == 0
