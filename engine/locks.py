"""The exact versions of everything that was ever prepared, so that making it again gives the same."""

from collections.abc import Mapping
from pathlib import Path


class Locks:
    """A folder of files with `name==version` lines, one for each key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: str) -> str:
        """Return the lines recorded for a key, or nothing."""
        try:
            return self._path(key).read_text("utf-8")
        except OSError:
            return ""

    def write(self, key: str, versions: Mapping[str, str]) -> None:
        """Record the versions for a key, unless they are already known."""
        path = self._path(key)
        if path.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".partial")
        temporary.write_text("".join(f"{name}=={version}\n" for name, version in sorted(versions.items())))
        temporary.replace(path)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.txt"
