"""Hashes of folders, with what earlier runs know about unchanged files.

A file whose size, times, inode and mode are as they were when it was hashed is not read again. Git's rule
for racy files holds: one that changed within the last seconds before it was hashed may change again
without a trace, so nothing is remembered about it.
"""

import contextlib
import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

# Coarser than the time stamps of any file system in use.
_RACY_NANOSECONDS = 2_000_000_000
_CHUNK = 1 << 20
_SHARED_SECONDS = 1.0


class _Known(msgspec.Struct, frozen=True, array_like=True):
    size: int
    mtime: int
    ctime: int
    inode: int
    digest: bytes


class _Content(NamedTuple):
    digest: bytes
    # Old enough for its times to tell of every later change.
    is_lasting: bool = False


_Memory = dict[str, _Known]
_DECODER = msgspec.msgpack.Decoder(_Memory)
_ENCODER = msgspec.msgpack.Encoder()

Keep = Callable[[str], bool]


def everything(_path: str) -> bool:
    """Leave nothing out."""
    return True


class TreeHasher:
    """Hashes folders; safe to use from several threads and processes at once."""

    def __init__(
        self, memory: Path | None = None, *, rehash: bool = False, clock: Callable[[], int] = time.time_ns
    ) -> None:
        # How many files had to be read because nothing was known about them.
        self.files_read = 0
        self._lock = threading.Lock()
        self._database = _open(memory) if memory is not None else None
        # Distrust what is remembered, but remember anew.
        self._rehash = rehash
        self._clock = clock
        self._shared: dict[tuple[str, str], tuple[float, str]] = {}

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
        # What is left out this time stays known for the next.
        learnt = {path: one for path, one in known.items() if not keep(path)}
        total = hashlib.blake2b(digest_size=20)
        for path, about in _entries(root, keep):
            content = self._content(f"{root}/{path}" if path else root, about, known.get(path))
            total.update(b"%s\0%s\0%s\0" % (_kind(about.st_mode), os.fsencode(path), content.digest))
            if content.is_lasting:
                learnt[path] = _Known(*_stamp(about), content.digest)
        if learnt != known:
            self._remember(root, learnt)
        return total.hexdigest()

    def shared_digest(self, folder: Path, variant: str = "", keep: Keep = everything) -> str:
        """Hash what many evaluations share, such as tests, at most once a second for each variant."""
        key, now = (os.fspath(folder), variant), time.monotonic()
        made, digest = self._shared.get(key, (0.0, ""))
        if not digest or now - made > _SHARED_SECONDS:
            digest = self.digest(folder, keep)
            self._shared[key] = (now, digest)
        return digest

    def _content(self, path: str, about: os.stat_result, known: _Known | None) -> _Content:
        if stat.S_ISLNK(about.st_mode):
            return _Content(os.fsencode(Path(path).readlink()))
        if not stat.S_ISREG(about.st_mode):
            return _Content(b"")
        if known and _stamp(about) == (known.size, known.mtime, known.ctime, known.inode):
            return _Content(known.digest, is_lasting=True)
        self.files_read += 1
        latest_safe = self._clock() - _RACY_NANOSECONDS
        is_lasting = max(about.st_mtime_ns, about.st_ctime_ns) < latest_safe
        return _Content(_hash_file(path), is_lasting=is_lasting)

    def _recall(self, root: str) -> _Memory:
        if self._database is None:
            return {}
        try:
            with self._lock:
                row = self._database.execute("select files from trees where root = ?", (root,)).fetchone()
            return _DECODER.decode(row[0]) if row else {}
        except (sqlite3.Error, msgspec.MsgspecError):
            # Only time is lost.
            return {}

    def _remember(self, root: str, learnt: _Memory) -> None:
        if self._database is None:
            return
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._database.execute("replace into trees values (?, ?)", (root, _ENCODER.encode(learnt)))
            self._database.commit()


def _open(memory: Path) -> sqlite3.Connection:
    memory.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(memory)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        # Nothing is in it that could not be learnt again.
        memory.unlink(missing_ok=True)
        return _connect(memory)


def _connect(memory: Path) -> sqlite3.Connection:
    database = sqlite3.connect(memory, timeout=30, check_same_thread=False)
    # What is lost in a power cut is hashed again.
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = off")
    database.execute("create table if not exists trees (root text primary key, files blob)")
    return database


def _entries(root: str, keep: Keep) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a folder, by its path from there; of a file, the file itself."""
    top = Path(root).stat()
    if not stat.S_ISDIR(top.st_mode):
        yield "", top
        return
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            path = f"{folder}{entry.name}"
            if keep(path):
                about = entry.stat(follow_symlinks=False)
                pending += [f"{path}/"] if stat.S_ISDIR(about.st_mode) else []
                yield path, about


def _kind(mode: int) -> bytes:
    if stat.S_ISREG(mode):
        return b"x" if mode & 0o111 else b"f"
    return {stat.S_IFDIR: b"d", stat.S_IFLNK: b"l"}.get(stat.S_IFMT(mode), b"s")


def _stamp(about: os.stat_result) -> tuple[int, int, int, int]:
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino


def _hash_file(path: str) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with Path(path).open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()
