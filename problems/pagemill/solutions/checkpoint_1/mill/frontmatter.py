"""Front matter: `KEY: VALUE` lines between two lines `---`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .errors import MillError

FENCE = "---"
KEY = re.compile(r"[a-z][a-z0-9_]*")
DIGITS = re.compile(r"[0-9]+")


@dataclass
class FrontMatter:
    values: dict[str, object] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def parse_value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    if DIGITS.fullmatch(text):
        return int(text)
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    if len(text) >= 2 and text[0] == "[" and text[-1] == "]":
        inner = text[1:-1].strip()
        return [item.strip() for item in inner.split(",")] if inner else []
    return text


def split_page(text: str, where: str) -> tuple[FrontMatter, str]:
    """Return the front matter and the Markdown text of a page."""
    matter = FrontMatter()
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return matter, text
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() == FENCE:
            return matter, "\n".join(lines[number:])
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or not KEY.fullmatch(key):
            raise_if_unclosed(lines, where)
            raise MillError(f"{where}:{number}: bad front matter line")
        if key in matter.values:
            raise_if_unclosed(lines, where)
            raise MillError(f"{where}:{number}: duplicate key: {key}")
        matter.values[key] = parse_value(value)
        matter.raw[key] = value
        matter.lines[key] = number
    raise MillError(f"{where}:1: front matter is not closed")


def raise_if_unclosed(lines: list[str], where: str) -> None:
    """Without an end, the Markdown text would be taken for bad front matter lines."""
    if not any(line.rstrip() == FENCE for line in lines[1:]):
        raise MillError(f"{where}:1: front matter is not closed")
