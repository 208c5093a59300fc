"""Archives to folders and folders to archives, without following a link."""

import os
import shutil
import stat
import tarfile

KEPT_BITS = 0o777


def unpack(stream, destination):
    """Lay the files of a tar stream below a folder; what is already there under a name is replaced."""
    folders = []
    with tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 18) as archive:
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


def clear(path):
    """Remove whatever stands where something else is to be laid."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def write_file(path, source, member):
    """Copy one regular file out of an archive, with its permissions and time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        while True:
            data = source.read(1 << 18)
            if not data:
                break
            target.write(data)
        os.fchmod(target.fileno(), member.mode & KEPT_BITS)
    os.utime(path, (member.mtime, member.mtime))


def pack(stream, folder, skip=(), last=None):
    """Write a tar of a folder, owned by root and readable by all, one path at the very end.

    Only plain files, folders and links go along, and nothing whose path is in `skip`.
    """
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, bufsize=1 << 18) as archive:
        for path in walk(folder, {*skip, last}):
            add(archive, path, os.path.relpath(path, folder))
        if last is not None:
            add(archive, last, os.path.relpath(last, folder))


def walk(folder, skip):
    """Yield every path below a folder, parents first, but for those in `skip` and all below them."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.path in skip:
            continue
        yield entry.path
        if entry.is_dir(follow_symlinks=False):
            yield from walk(entry.path, skip)


def add(archive, path, arcname):
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
