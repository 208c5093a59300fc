"""Where the engine keeps what outlives a run, by the habits of the system."""

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder for what must not be lost: results and locked versions."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "scbench"


def cache_folder() -> Path:
    """Return the folder for what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scbench"
