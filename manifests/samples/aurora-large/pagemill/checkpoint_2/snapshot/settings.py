"""Loading of site.toml."""
import os
import tomllib
from typing import Any

from problems import SiteError

DEFAULTS = {"title": "Untitled", "base_url": ""}


def load_settings(source: str) -> dict[str, Any]:
    """Return the settings of the site, with defaults and environment applied."""
    settings: dict[str, Any] = dict(DEFAULTS)
    path = os.path.join(source, "site.toml")
    if os.path.exists(path):
        try:
            with open(path, "rb") as handle:
                settings.update(tomllib.load(handle))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise SiteError(f"site.toml: {error}") from error

    override = os.environ.get("PAGEMILL_BASE_URL", "")
    if override:
        settings["base_url"] = override
    settings["base_url"] = settings["base_url"].rstrip("/")
    return settings
