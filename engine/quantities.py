"""Durations and sizes as people write them: `90s`, `1h30m`, `2GiB`, `512M`."""

import re
from typing import Annotated

from msgspec import Meta

TEN_YEARS = 10 * 366 * 86400.0

_UNITS_OF_TIME = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART_OF_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")

Duration = Annotated[
    Annotated[str, Meta(pattern=r"^(?=.*[1-9])(\d+(\.\d+)?(ms|s|m|h|d))+$")]
    | Annotated[float, Meta(gt=0, le=TEN_YEARS)],
    Meta(
        examples=["90s", "10m", "1h30m"],
        extra={"expected": "a duration such as 90s, 10m or 1h30m, or a number of seconds"},
    ),
]

DurationOrOff = Annotated[
    Annotated[str, Meta(pattern=r"^(off|(?=.*[1-9])(\d+(\.\d+)?(ms|s|m|h|d))+)$")]
    | Annotated[float, Meta(gt=0, le=TEN_YEARS)],
    Meta(examples=["8h", "off"], extra={"expected": "a duration such as 90s, 10m or 1h30m, or `off`"}),
]

# Bare letters count in 1024 as Docker's options do; only KB, MB, GB and TB are decimal.
_UNITS_OF_SIZE = {
    "": 1,
    "b": 1,
    **{f"{letter}{ending}": 1024**power for power, letter in enumerate("kmgt", 1) for ending in ("", "ib")},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")

Size = Annotated[
    Annotated[str, Meta(pattern=r"^(?=.*[1-9])\d{1,12}(\.\d+)? ?([KkMmGgTt]([Ii]?[Bb])?|[Bb])?$")]
    | Annotated[int, Meta(gt=0, le=2**53)],
    Meta(
        examples=["512M", "2GiB"],
        extra={"expected": "a size such as 512M or 2GiB, or a number of bytes"},
    ),
]


def seconds(duration: str | float) -> float:
    """Turn a duration that has passed the check of its type into seconds."""
    if not isinstance(duration, str):
        return float(duration)
    parts = _PART_OF_TIME.findall(duration)
    return min(sum(float(number) * _UNITS_OF_TIME[unit] for number, unit in parts), TEN_YEARS)


def size_in_bytes(size: str | int) -> int:
    """Turn a size that has passed the check of its type into bytes, at least one."""
    if not isinstance(size, str):
        return size
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"not a size: {size!r}")
    return max(1, int(float(match[1]) * _UNITS_OF_SIZE[match[2].lower()]))


def spoken_duration(value: float) -> str:
    """Say a number of seconds the way a manifest would write it."""
    if value < 60 or value != int(value):
        return f"{value:g}s"
    parts, rest = [], int(value)
    for unit in ("h", "m", "s"):
        count, rest = divmod(rest, int(_UNITS_OF_TIME[unit]))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
