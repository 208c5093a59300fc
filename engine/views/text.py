"""What submissions say, made harmless for people to read."""

import re

# Sequences that steer a terminal, and characters that turn the reading direction round.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_SPACES = re.compile(r"\s+")


def visible(text: str) -> str:
    """Spell out characters that act instead of being seen; lines and tabs stay."""
    return _UNSEEN.sub(_spelled, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return the text as one visible line of bounded length."""
    line = visible(_SPACES.sub(" ", text[: 4 * limit]).strip())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def shortened(text: str, limit: int) -> str:
    """Keep the end of a long text, where errors stand, and some of its beginning."""
    if len(text) <= limit:
        return text
    head = limit // 4
    left_out = len(text) - limit
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[head + left_out :]}"


def seconds(duration: float) -> str:
    """Say how long something took, as short as people say it."""
    if duration < 60:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def _spelled(match: re.Match[str]) -> str:
    character = match.group()
    if character == "\r":
        return "\\r"
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
