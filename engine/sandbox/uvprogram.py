"""The uv program for containers: the one that we depend on, or its build for another system."""

import functools
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from uv import find_uv_bin

from engine.paths import cache_folder
from engine.sandbox import Archive
from engine.sandbox.launch import uv_archive

# Docker's names for processors, as uv's builds call them.
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}


def own_uv() -> Archive:
    """Return the uv program that this installation depends on."""
    return uv_archive(Path(find_uv_bin()).parent)


def uv_programs(architecture: str) -> Iterator[Archive]:
    """Yield the programs to try in a container, likeliest first.

    Our own dependency fits most images. One for another processor, or with another libc, needs the
    statically linked build, which is fetched once and kept.
    """
    processor = PROCESSORS.get(architecture, platform.machine())
    if processor == platform.machine():
        yield own_uv()
    yield uv_archive(static_build(processor))


@functools.cache
def version() -> str:
    """Tell the version of the uv program that is brought along."""
    told = subprocess.run([find_uv_bin(), "--version"], capture_output=True, text=True, check=True)
    return told.stdout.split()[1]


def static_build(processor: str) -> Path:
    """Return the folder of the statically linked uv for a processor, fetching it if need be."""
    folder = cache_folder() / f"uv-{version()}-{processor}"
    if not folder.is_dir():
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_folder()) as temporary:
            target = ("--target", temporary, "--python-platform", f"{processor}-unknown-linux-musl")
            command = [find_uv_bin(), "pip", "install", "--no-deps", "--quiet", *target, f"uv=={version()}"]
            subprocess.run(command, check=True, capture_output=True)
            (Path(temporary) / "bin").rename(folder)
    return folder
