"""What a container gets: the submission, the tests with their assets, pytest.ini, and which tests to hide.

Nothing here follows a link of a submission; what cannot be copied safely is refused, with the reason.
"""

import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from engine.environment import HideTests
from engine.errors import UserError
from engine.problem import ProblemConfig
from engine.results import Broken, BrokenKind
from engine.sandbox import Archive

# More names than this is no submission, and would fill the container's inodes.
FILE_LIMIT = 50_000
# Archives below this size never touch the disk.
IN_MEMORY = 4 << 20
# Made by the engine in every container, so that one that was shipped would only be hidden.
NOT_COPIED = frozenset({".venv"})
# Tests have one time, so that equal trees give equal archives.
TEST_TIME = 1_577_836_800
BUILTIN_MARKERS = {
    "error": "error-handling / edge-case tests",
    "functionality": "non-core / nice-to-have tests",
    "regression": "regression tests from prior checkpoints",
}


class TestTree(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of one checkpoint as they go into a container."""

    __test__ = False

    archives: tuple[Archive, ...]
    test_files: tuple[str, ...]
    hidden: tuple[str, ...]
    assets: tuple[str, ...]


class Refused(Exception):
    """A submission that cannot be copied; the message says why."""


def submission_archive(folder: Path, size_limit: int, *, keep_times: bool = True) -> Archive | Broken:
    """Pack a submission: links as links, no special file, no set-id bit, within a size.

    Without times, equal files give equal archives.
    """
    spool: BinaryIO = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # type: ignore[assignment]  # noqa: SIM115
    try:
        with spool:
            _pack(spool, folder, _walk(folder), size_limit, keep_times)
            return Archive(name="submission", data=_take(spool))
    except Refused as refusal:
        return Broken.of(BrokenKind.SUBMISSION_REFUSED, str(refusal))
    except OSError as error:
        place = _shown(error.filename or folder)
        return Broken.of(BrokenKind.SUBMISSION_REFUSED, f"{place} cannot be read: {error.strerror}")


def inputs_archive(folder: Path, names: Iterable[str], size_limit: int) -> Archive | Broken:
    """Pack only the named files of a submission, as its set-up may see them; missing ones are left out."""
    target = io.BytesIO()
    try:
        paths = (path for name in names if (path := _own_file(folder, name)))
        _pack(target, folder, paths, size_limit, keep_times=False)
    except Refused as refusal:
        return Broken.of(BrokenKind.SUBMISSION_REFUSED, str(refusal))
    return Archive(name="inputs", data=target.getvalue())


def _own_file(folder: Path, name: str) -> str | None:
    parts = Path(name).parts
    for depth in range(1, len(parts)):
        if folder.joinpath(*parts[:depth]).is_symlink():
            raise Refused(f"{_shown(name)} lies behind a link; a set-up input must be a file of its own")
    path = folder / name
    return str(path) if os.path.lexists(path) else None


def _take(spool: BinaryIO) -> bytes | Path:
    size = spool.tell()
    spool.seek(0)
    if size <= IN_MEMORY:
        return spool.read()
    descriptor, name = tempfile.mkstemp(prefix="scbench-")
    with os.fdopen(descriptor, "wb") as target:
        while data := spool.read(1 << 20):
            target.write(data)
    return Path(name)


def discard(archives: Iterable[Archive]) -> None:
    """Delete the archives that were too large for memory."""
    for archive in archives:
        if isinstance(archive.data, Path):
            archive.data.unlink(missing_ok=True)


def _walk(folder: Path) -> Iterator[str]:
    """Yield every path below a folder, parents first."""
    pending = [str(folder)]
    count = 0
    while pending:
        directory = pending.pop()
        with os.scandir(directory) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if directory == str(folder) and entry.name in NOT_COPIED:
                    continue
                count += 1
                if count > FILE_LIMIT:
                    raise Refused(f"the submission has more than {FILE_LIMIT} files")
                yield entry.path
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _pack(target: BinaryIO, folder: Path, paths: Iterable[str], size_limit: int, keep_times: bool) -> None:
    size = 0
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            member = tarfile.TarInfo(os.path.relpath(path, folder))
            status = os.lstat(path)
            member.mtime = int(status.st_mtime) if keep_times else 0
            size += _add(archive, path, member, status, size_limit - size)


def _add(
    archive: tarfile.TarFile, path: str, member: tarfile.TarInfo, status: os.stat_result, room: int
) -> int:
    member.mode = status.st_mode & 0o777
    if stat.S_ISDIR(status.st_mode):
        member.type, member.mode = tarfile.DIRTYPE, member.mode | 0o700
        archive.addfile(member)
    elif stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(Path(path).readlink())
        archive.addfile(member)
    elif stat.S_ISREG(status.st_mode):
        return _add_file(archive, path, member, room)
    else:
        raise Refused(f"{_shown(member.name)} is neither a file, a folder nor a link")
    return 0


def _add_file(archive: tarfile.TarFile, path: str, member: tarfile.TarInfo, room: int) -> int:
    # Not through a link that was put there since, and never waiting for a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as source:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{_shown(member.name)} changed while it was copied")
        if status.st_size > room:
            raise Refused(f"the submission is larger than its disk limit (at {_shown(member.name)})")
        member.size = status.st_size
        member.mode |= 0o400
        try:
            archive.addfile(member, source)
        except OSError as error:
            raise Refused(f"{_shown(member.name)} changed while it was copied") from error
    return member.size


def _shown(name: str | Path) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def test_tree(problem: ProblemConfig, checkpoint: str, hide: HideTests) -> TestTree:
    """Lay out the tests of a checkpoint: what runs, what goes along, what the submission must not read."""
    modules = tuple(problem.test_modules(checkpoint))
    left_out = {*problem.later_modules(checkpoint), "__pycache__", "assets"}
    tests = io.BytesIO()
    with tarfile.open(fileobj=tests, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add_text(archive, "pytest.ini", pytest_ini(problem))
        _add_problem_path(archive, problem, problem.tests, "tests", left_out)
    archives = [Archive(name="tests", data=tests.getvalue())]
    if problem.static_assets:
        archives.append(_assets_archive(problem))
    return TestTree(
        archives=tuple(archives),
        test_files=modules,
        hidden=tuple(_hidden(problem.tests, left_out, hide)),
        assets=tuple(problem.static_assets),
    )


def _assets_archive(problem: ProblemConfig) -> Archive:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in problem.static_assets.items():
            _add_problem_path(archive, problem, problem.path / path, name, set())
    return Archive(name="assets", data=target.getvalue())


def _hidden(tests: Path, left_out: set[str], hide: HideTests) -> Iterator[str]:
    for path in sorted(tests.iterdir()):
        if path.name in left_out or hide == "none":
            continue
        if hide == "all" or (path.suffix == ".py" and path.is_file()):
            yield path.name


def _add_problem_path(
    archive: tarfile.TarFile, problem: ProblemConfig, path: Path, name: str, left_out: set[str]
) -> None:
    """Add a file or folder of the problem; a link becomes what it leads to, as long as it stays inside."""
    if not path.resolve().is_relative_to(problem.path.resolve()):
        raise UserError(f"{path}: leads out of the problem {problem.name}; put a copy inside it")
    status = path.stat()
    member = tarfile.TarInfo(name)
    member.mtime = TEST_TIME
    if path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(member)
        for child in sorted(path.iterdir()):
            if child.name not in left_out:
                _add_problem_path(archive, problem, child, f"{name}/{child.name}", {"__pycache__"})
    elif path.is_file():
        member.size, member.mode = status.st_size, 0o755 if status.st_mode & 0o111 else 0o644
        with path.open("rb") as source:
            archive.addfile(member, source)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(data), TEST_TIME
    archive.addfile(member, io.BytesIO(data))


def pytest_ini(problem: ProblemConfig) -> str:
    """Return the configuration that registers the markers."""
    described = BUILTIN_MARKERS | {name: marker.description for name, marker in problem.markers.items()}
    lines = [f"    {name}: {' '.join(description.split())}" for name, description in described.items()]
    return "\n".join(["[pytest]", "markers =", *lines, ""])
