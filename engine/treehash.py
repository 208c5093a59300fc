"""Hashes of folders, with what earlier runs know about unchanged files.

A file whose size, times, inode and mode are as they were when it was hashed is not read again. Git's rule
for racy files holds: one that changed within the last seconds before it was hashed may change again
without a trace, so nothing is remembered about it.
"""

import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import msgspec

# Coarser than the time stamps of any file system in use.
_RACY_NANOSECONDS = 2_000_000_000
_CHUNK = 1 << 20


class _Known(msgspec.Struct, frozen=True, array_like=True):
    size: int
    mtime: int
    ctime: int
    inode: int
    digest: bytes


_Memory = dict[str, _Known]
_DECODER = msgspec.msgpack.Decoder(_Memory)
_ENCODER = msgspec.msgpack.Encoder()

Keep = Callable[[str], bool]


def everything(_path: str) -> bool:
    """Leave nothing out."""
    return True


class TreeHasher:
    """Hashes folders; safe to use from several threads and processes at once."""

    def __init__(self, memory: Path | None = None, *, rehash: bool = False) -> None:
        self._lock = threading.Lock()
        self._database = _open(memory) if memory is not None else None
        # Distrust what is remembered, but remember anew.
        self._rehash = rehash

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write down what was learnt."""
        if self._database is not None:
            self._database.commit()
            self._database.close()
            self._database = None

    def digest(self, folder: Path, keep: Keep = everything) -> str:
        """Hash names, kinds, modes and contents of all that is in a folder, or one file."""
        root = os.fspath(folder)
        known = {} if self._rehash else self._recall(root)
        learnt: _Memory = {}
        total = hashlib.blake2b(digest_size=20)
        for path, kind, content in _entries(root, keep, known, learnt):
            total.update(b"%s\0%s\0%s\0" % (kind, os.fsencode(path), content))
        if learnt != known:
            self._remember(root, learnt)
        return total.hexdigest()

    def _recall(self, root: str) -> _Memory:
        if self._database is None:
            return {}
        with self._lock:
            row = self._database.execute("select files from trees where root = ?", (root,)).fetchone()
        try:
            return _DECODER.decode(row[0]) if row else {}
        except msgspec.MsgspecError:
            return {}

    def _remember(self, root: str, learnt: _Memory) -> None:
        if self._database is None:
            return
        with self._lock:
            self._database.execute("replace into trees values (?, ?)", (root, _ENCODER.encode(learnt)))
            self._database.commit()


def _open(memory: Path) -> sqlite3.Connection:
    memory.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(memory, timeout=30, check_same_thread=False)
    # What is lost in a power cut is hashed again.
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = off")
    database.execute("create table if not exists trees (root text primary key, files blob)")
    return database


def _entries(root: str, keep: Keep, known: _Memory, learnt: _Memory) -> Iterator[tuple[str, bytes, bytes]]:
    top = Path(root).stat()
    if not stat.S_ISDIR(top.st_mode):
        yield "", _kind(top.st_mode), _content(root, "", top, known, learnt)
        return
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            path = f"{folder}{entry.name}"
            if not keep(path):
                continue
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                pending.append(f"{path}/")
            yield path, _kind(about.st_mode), _content(root, path, about, known, learnt)


def _kind(mode: int) -> bytes:
    if stat.S_ISREG(mode):
        return b"x" if mode & 0o111 else b"f"
    return {stat.S_IFDIR: b"d", stat.S_IFLNK: b"l"}.get(stat.S_IFMT(mode), b"s")


def _content(root: str, path: str, about: os.stat_result, known: _Memory, learnt: _Memory) -> bytes:
    full = f"{root}/{path}" if path else root
    if stat.S_ISLNK(about.st_mode):
        return os.fsencode(Path(full).readlink())
    if not stat.S_ISREG(about.st_mode):
        return b""
    facts = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
    remembered = known.get(path)
    if remembered and facts == (remembered.size, remembered.mtime, remembered.ctime, remembered.inode):
        learnt[path] = remembered
        return remembered.digest
    now = time.time_ns()
    digest = _hash_file(full)
    if max(about.st_mtime_ns, about.st_ctime_ns) < now - _RACY_NANOSECONDS:
        learnt[path] = _Known(*facts, digest)
    return digest


def _hash_file(path: str) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with Path(path).open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()
