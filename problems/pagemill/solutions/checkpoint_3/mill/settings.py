"""site.toml and the environment."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from types import SimpleNamespace

from .errors import MillError

VARIABLE = "PAGEMILL_BASE_URL"


def read_settings(source: Path) -> SimpleNamespace:
    values: dict[str, object] = {"title": "Untitled", "base_url": ""}
    path = source / "site.toml"
    if path.is_file():
        try:
            values.update(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as exc:
            raise MillError(f"site.toml: {exc}") from exc
    values["base_url"] = str(os.environ.get(VARIABLE) or values["base_url"]).rstrip("/")
    return SimpleNamespace(**values)
