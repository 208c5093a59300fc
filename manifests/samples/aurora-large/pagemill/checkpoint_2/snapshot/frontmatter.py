"""Parser for the front matter of a page."""
import re
from dataclasses import dataclass, field
from typing import Any

from problems import SiteError

DELIMITER = "---"
_KEY_PATTERN = re.compile(r"^[a-z][a-z0-9_]*\Z")
_INT_PATTERN = re.compile(r"^[0-9]+\Z")


@dataclass
class FrontMatter:
    """Values by key, with the raw text and the line number of each."""

    values: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    line_numbers: dict[str, int] = field(default_factory=dict)


def convert_value(raw: str) -> Any:
    """Convert the text of a value to bool, int, str or list."""
    if raw == "true":
        return True
    if raw == "false":
        return False
    if _INT_PATTERN.match(raw):
        return int(raw)
    if len(raw) >= 2 and raw.startswith('"') and raw.endswith('"'):
        return raw[1:-1]
    if len(raw) >= 2 and raw.startswith("[") and raw.endswith("]"):
        body = raw[1:-1]
        if not body.strip():
            return []
        return [part.strip() for part in body.split(",")]
    return raw


def find_closing_line(lines: list[str]) -> int | None:
    """Return the index of the closing delimiter, or None if there is none."""
    for index in range(1, len(lines)):
        if lines[index].rstrip() == DELIMITER:
            return index
    return None


def parse(text: str, display_name: str) -> tuple[FrontMatter, str]:
    """Split the text of a page into (metadata, body)."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != DELIMITER:
        return FrontMatter(), text

    closing = find_closing_line(lines)
    if closing is None:
        raise SiteError(f"{display_name}:1: front matter is not closed")

    metadata = FrontMatter()
    for index in range(1, closing):
        line = lines[index]
        if not line.strip() or line.startswith("#"):
            continue
        if ":" not in line:
            raise SiteError(f"{display_name}:{index + 1}: bad front matter line")
        key, raw = line.split(":", 1)
        key = key.strip()
        if not _KEY_PATTERN.match(key):
            raise SiteError(f"{display_name}:{index + 1}: bad front matter line")
        if key in metadata.values:
            raise SiteError(f"{display_name}:{index + 1}: duplicate key: {key}")
        metadata.values[key] = convert_value(raw.strip())
        metadata.raw[key] = raw.strip()
        metadata.line_numbers[key] = index + 1

    body = "\n".join(lines[closing + 1:])
    return metadata, body
