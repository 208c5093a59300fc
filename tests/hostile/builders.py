"""Parts of submissions that no repository can hold: pipes, odd names, files without end, and controls."""

import os
import shutil
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

HONEST = Path(__file__).parent / "honest"
DEMANDING = Path(__file__).parent / "demanding"


def honest(folder: Path) -> None:
    """Be an honest solution."""
    shutil.copy(HONEST / "main.py", folder / "main.py")


def demanding(folder: Path) -> None:
    """Be an honest solution that notices when somebody takes what the kernel counts by user."""
    shutil.copy(HONEST / "main.py", folder / "solution.py")
    shutil.copy(DEMANDING / "main.py", folder / "main.py")


def named_pipe(folder: Path) -> None:
    """Put a pipe where a copy that opens everything waits for ever."""
    os.mkfifo(folder / "data.txt")


def unix_socket(folder: Path) -> None:
    """Leave a socket in the folder."""
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(folder, os.O_RDONLY)
        try:  # the path of a socket must be short
            listener.bind(f"/proc/self/fd/{here}/service")
        finally:
            os.close(here)


def too_many_files(folder: Path) -> None:
    """Make more names than anybody needs."""
    for outer in range(60):
        (folder / str(outer)).mkdir()
        for inner in range(1000):
            (folder / str(outer) / str(inner)).touch()


def endless_file(folder: Path) -> None:
    """Make a file of 5 GB that takes no room here."""
    with (folder / "blob").open("wb") as blob:
        blob.truncate(5 << 30)


def large_requirements(folder: Path) -> None:
    """Make requirements far beyond the size limit, though not beyond the memory of this machine."""
    with (folder / "requirements.txt").open("wb") as blob:
        blob.truncate(200 << 20)


def bottomless_folders(folder: Path) -> None:
    """Nest folders until no path reaches the last one."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def odd_names(folder: Path) -> None:
    """Use every byte that a name may have."""
    for name in (b"\xff\xfe", b"new\nline", b"\x1b[31mred", b" ", b"-rf", b"'; exit 1; '", "\u202e".encode()):
        (folder / os.fsdecode(name)).write_text("a name is only bytes")


def set_id_bits(folder: Path) -> None:
    """Ship a shell that would run as its owner."""
    shutil.copy("/bin/sh", folder / "shell")
    (folder / "shell").chmod(0o6755)


def rounded_up(folder: Path) -> None:
    """Stay within the size limit by the byte, and go over it by the block."""
    for number in range(14_000):
        (folder / f"{number}.txt").write_bytes(b"x" * 4097)


BUILDERS: Mapping[str, Callable[[Path], None]] = {
    builder.__name__: builder
    for builder in (
        honest,
        demanding,
        named_pipe,
        unix_socket,
        too_many_files,
        endless_file,
        large_requirements,
        bottomless_folders,
        odd_names,
        set_id_bits,
        rounded_up,
    )
}
