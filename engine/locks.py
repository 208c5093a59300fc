"""What was prepared under every key, with exact versions, so that making it again gives the same."""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from engine.sandbox import Prepared

_DECODER = msgspec.json.Decoder(Prepared)


class Locks:
    """A folder of records, one for each key. All methods block shortly."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Records never change, so each is read once.
        self._read: dict[str, Prepared] = {}

    def read(self, key: str) -> Prepared | None:
        """Return what was once prepared under a key."""
        if key not in self._read:
            try:
                self._read[key] = _DECODER.decode(self._path(key).read_bytes())
            except (OSError, msgspec.MsgspecError):
                return None
        return self._read[key]

    def write(self, prepared: Prepared) -> None:
        """Record what was prepared, unless that is already known; a full disk costs only the record."""
        path = self._path(prepared.key)
        with contextlib.suppress(OSError):
            if not path.exists():
                self._folder.mkdir(parents=True, exist_ok=True)
                write_whole(path, msgspec.json.encode(prepared))

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file so that others see all of it or nothing."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def constraints(prepared: Prepared) -> str:
    """Spell the versions as the lines of a lock file."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(prepared.versions.items()))
