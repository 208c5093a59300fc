"""The record of what the last build made in an output folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

NAME = ".pagemill.json"


def read(output: Path) -> set[str]:
    try:
        files = json.loads((output / NAME).read_text(encoding="utf-8"))["files"]
        return {name for name in files if is_inside(name)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()


def write(output: Path, files: Iterable[str]) -> None:
    text = json.dumps({"files": sorted(files)}, indent=1)
    (output / NAME).write_text(text + "\n", encoding="utf-8")


def is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and bool(path.parts)


def remove(output: Path, names: Iterable[str]) -> list[str]:
    """Remove files, and the folders that become empty; return the files that were there."""
    removed = []
    for name in sorted(names):
        path = output / name
        if not path.is_file() and not path.is_symlink():
            continue
        path.unlink()
        removed.append(name)
        for folder in path.parents:
            if folder == output or any(folder.iterdir()):
                break
            folder.rmdir()
    return removed
