"""Archives to folders and folders to archives, without following a link."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from typing import Protocol

    class Readable(Protocol):
        """Where bytes come from: a file, or an archive on its way from the engine."""

        def read(self, size: int, /) -> bytes:
            """Return up to `size` bytes, none at the end."""


KEPT_BITS = 0o777


def unpack(stream: Readable, destination: str) -> None:
    """Lay the files of a tar stream below a folder; what is already there under a name is replaced."""
    folders = []
    source = cast("IO[bytes]", stream)  # of which tarfile only reads in this mode
    with tarfile.open(fileobj=source, mode="r|", bufsize=1 << 18) as archive:
        for member in archive:
            path = os.path.join(destination, member.name)
            if member.isdir():
                if not os.path.isdir(path) or os.path.islink(path):
                    clear(path)
                    os.makedirs(path)
                folders.append((path, member.mode & KEPT_BITS))
                continue
            clear(path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if member.issym():
                os.symlink(member.linkname, path)
            elif member.isreg():
                write_file(path, archive.extractfile(member), member)
    for path, mode in reversed(folders):
        os.chmod(path, mode)


def clear(path: str) -> None:
    """Remove whatever stands where something else is to be laid."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def write_file(path: str, source: IO[bytes] | None, member: tarfile.TarInfo) -> None:
    """Copy one regular file out of an archive, with its permissions and time."""
    assert source is not None, member.name  # is None for what is no regular file
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        while True:
            data = source.read(1 << 18)
            if not data:
                break
            target.write(data)
        os.fchmod(target.fileno(), member.mode & KEPT_BITS)
    os.utime(path, (member.mtime, member.mtime))


def pack(stream: IO[bytes], folder: str, skip: Iterable[str] = (), last: str | None = None) -> None:
    """Write a tar of a folder, owned by root and readable by all, one path at the very end.

    Only plain files, folders and links go along, and nothing whose path is in `skip`.
    """
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, bufsize=1 << 18) as archive:
        for path in walk(folder, {*skip, last}):
            add(archive, path, os.path.relpath(path, folder))
        if last is not None:
            add(archive, last, os.path.relpath(last, folder))


def walk(folder: str, skip: Container[str | None]) -> Iterator[str]:
    """Yield every path below a folder, parents first, but for those in `skip` and all below them."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.path in skip:
            continue
        yield entry.path
        if entry.is_dir(follow_symlinks=False):
            yield from walk(entry.path, skip)


def add(archive: tarfile.TarFile, path: str, arcname: str) -> None:
    """Add one path; sockets, devices and pipes are left out."""
    status = os.lstat(path)
    member = tarfile.TarInfo(arcname)
    member.mtime = int(status.st_mtime)
    if stat.S_ISLNK(status.st_mode):
        member.type = tarfile.SYMTYPE
        member.linkname = os.readlink(path)
        archive.addfile(member)
    elif stat.S_ISDIR(status.st_mode):
        member.type = tarfile.DIRTYPE
        member.mode = 0o755
        archive.addfile(member)
    elif stat.S_ISREG(status.st_mode):
        member.size = status.st_size
        member.mode = 0o755 if status.st_mode & 0o111 else 0o644
        with open(path, "rb") as source:
            archive.addfile(member, source)
