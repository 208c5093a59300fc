"""Text of submissions for people's terminals: what could move the cursor or lie about itself is spelled out."""

import re

# Control characters but newline and tab; marks that reorder or hide text; what no encoding can carry.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """Return the text with everything spelled out that a terminal would act on instead of showing."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_spelled, text)


def first_line(text: str, limit: int = 200) -> str:
    """Return the first line of a text, visible and not longer than a limit."""
    line = visible(text.strip().partition("\n")[0].expandtabs(4))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _spelled(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
