"""Who is best: pass rates by a label, with how sure they are.

A rate's interval is Wilson's at 95 %. Repeats of one submission resemble each other and are not worth as
much as as many submissions: the number of evaluations is divided by the design effect, 1 + (m - 1) r, with
m repeats on average and r their intraclass correlation, before the interval is taken.
"""

import difflib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from engine.errors import UserError
from engine.events import ResultLine
from engine.grading import Rate, counts_for_rates, rate
from engine.results import GroupType, Verdict

Z = 1.959963984540054

Counts = Mapping[GroupType, int]
Key = Callable[[ResultLine], str]


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """Where a rate lies, with 95 % confidence."""

    low: float
    high: float


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a leaderboard."""

    name: str
    rate: Rate
    share: float | None
    interval: Interval | None
    verdicts: Mapping[Verdict, int]
    passed_tests: Counts
    all_tests: Counts
    seconds: float


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of one evaluation as they enter a rate."""

    counts: bool
    passed: Counts
    total: Counts


def label_names(lines: Iterable[ResultLine]) -> tuple[str, ...]:
    """Name the labels that there are, and after them problem and checkpoint."""
    names = dict.fromkeys(name for line in lines for name in line.labels)
    return (*names, *(name for name in ("problem", "checkpoint") if name not in names))


def label_named(name: str | None, lines: Iterable[ResultLine]) -> str:
    """Return a label that there is, the first where none is named."""
    names = label_names(lines)
    if name is None or name in names:
        return name or names[0]
    near = difflib.get_close_matches(name, names, n=1)
    advice = f"did you mean {near[0]!r}? " if near else ""
    raise UserError(f"there is no label {name!r}: {advice}There are: {', '.join(names)}")


def key_named(name: str) -> Key:
    """Return what a line has under this label."""
    fields: Mapping[str, Key] = {
        "problem": lambda line: line.problem_name,
        "checkpoint": lambda line: line.checkpoint_name,
    }
    return lambda line: line.labels.get(name) or (fields[name](line) if name in fields else "-")


def standings(lines: Sequence[ResultLine], key: Key) -> tuple[Standing, ...]:
    """Sum up evaluations by what `key` gives, best first."""
    counted = count_tests(lines)
    rows: dict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        rows[key(line)].append(index)
    found = [
        _standing(name, [lines[index] for index in places], [counted[index] for index in places])
        for name, places in rows.items()
    ]
    return tuple(sorted(found, key=lambda one: (-(-1.0 if one.share is None else one.share), one.name)))


def count_tests(lines: Sequence[ResultLine]) -> tuple[Counted, ...]:
    """Count tests as rates take them: what a submission broke has as many tests as others, none passed."""
    expected: dict[tuple[str, str], dict[GroupType, int]] = {}
    for line in lines:
        known = expected.setdefault((line.problem_name, line.checkpoint_name), dict.fromkeys(GroupType, 0))
        for group, number in line.total_counts.items():
            known[group] = max(known[group], number)
    return tuple(_counted(line, expected[line.problem_name, line.checkpoint_name]) for line in lines)


def _counted(line: ResultLine, expected: Counts) -> Counted:
    if not counts_for_rates(line.broken):
        return Counted(counts=False, passed={}, total={})
    if line.broken is not None:
        return Counted(counts=True, passed={}, total=expected)
    return Counted(counts=True, passed=line.pass_counts, total=line.total_counts)


def _standing(name: str, lines: Sequence[ResultLine], counted: Sequence[Counted]) -> Standing:
    rated = rate((line.verdict, line.broken) for line in lines)
    share = rated.share
    return Standing(
        name=name,
        rate=rated,
        share=share,
        interval=None if share is None else wilson(share, effective_size(lines)),
        verdicts={verdict: sum(line.verdict is verdict for line in lines) for verdict in Verdict},
        passed_tests={group: sum(one.passed.get(group, 0) for one in counted) for group in GroupType},
        all_tests={group: sum(one.total.get(group, 0) for one in counted) for group in GroupType},
        seconds=sum(line.duration for line in lines),
    )


def wilson(share: float, size: float) -> Interval:
    """Return Wilson's score interval of a share that was seen among `size` of them."""
    centre = share + Z * Z / (2 * size)
    spread = Z * math.sqrt(share * (1 - share) / size + Z * Z / (4 * size * size))
    scale = 1 + Z * Z / size
    return Interval(low=max(0.0, (centre - spread) / scale), high=min(1.0, (centre + spread) / scale))


def effective_size(lines: Iterable[ResultLine]) -> float:
    """Say how many independent evaluations those that count are worth."""
    units: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for line in lines:
        if counts_for_rates(line.broken):
            labels = (f"{name}={value}" for name, value in sorted(line.labels.items()))
            unit = (line.problem_name, line.checkpoint_name, *labels)
            units[unit].append(line.verdict is Verdict.PASSED)
    return _effective(list(units.values()))


def _effective(units: Sequence[Sequence[int]]) -> float:
    size, number = sum(map(len, units)), len(units)
    if number < 2 or size == number:
        return float(size)
    mean = sum(map(sum, units)) / size
    between = sum(len(unit) * (sum(unit) / len(unit) - mean) ** 2 for unit in units) / (number - 1)
    within = sum(sum(unit) * (1 - sum(unit) / len(unit)) for unit in units) / (size - number)
    typical = (size - sum(len(unit) ** 2 for unit in units) / size) / (number - 1)
    spread = between + (typical - 1) * within
    correlation = min(1.0, max(0.0, (between - within) / spread)) if spread else 1.0
    return size / (1 + (size / number - 1) * correlation)
