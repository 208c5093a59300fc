"""Is a change of score more than noise? An exact test on paired evaluations.

The exact McNemar test: of the evaluations that came out differently, as many would be better as worse if
nothing had really changed, so the split follows a binomial distribution with one half. Repeats of an
evaluation are one unit, because they are not independent. Within one label the p-values are corrected for
the number of rows after Holm, so that a long leaderboard has no winner by chance.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import comb

import msgspec

LEVEL = 0.05
OVERALL = "all"


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in both runs: the share of its repeats that passed."""

    labels: Mapping[str, str]
    before: float
    after: float


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How the score of one row of a leaderboard changed."""

    label: str
    value: str
    units: int
    before: float
    after: float
    better: int
    worse: int
    # Two-sided, and corrected for the number of rows of this label.
    p: float

    @property
    def is_more_than_noise(self) -> bool:
        """Whether chance alone would hardly give such a change."""
        return self.p < LEVEL


def binomial_p(better: int, worse: int) -> float:
    """Return how likely a split at least as uneven as this one is by chance."""
    count = better + worse
    tail = sum(comb(count, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / (1 << count))


def score_changes(units: Iterable[Unit]) -> tuple[Change, ...]:
    """Compare scores over all, and by each value of each label."""
    rows: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        rows[OVERALL, ""].append(unit)
        for label, value in unit.labels.items():
            rows[label, value].append(unit)
    by_label: dict[str, list[Change]] = defaultdict(list)
    for (label, value), members in rows.items():
        by_label[label].append(_row(label, value, members))
    return tuple(change for changes in by_label.values() for change in corrected(changes))


def _row(label: str, value: str, units: list[Unit]) -> Change:
    better = sum(unit.after > unit.before for unit in units)
    worse = sum(unit.after < unit.before for unit in units)
    return Change(
        label=label,
        value=value,
        units=len(units),
        before=sum(unit.before for unit in units) / len(units),
        after=sum(unit.after for unit in units) / len(units),
        better=better,
        worse=worse,
        p=binomial_p(better, worse),
    )


def corrected(changes: list[Change]) -> list[Change]:
    """Correct the p-values of rows that are looked at together, after Holm; rows are sorted by name."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, change in enumerate(sorted(changes, key=lambda change: change.p)):
        highest = max(highest, min(1.0, change.p * (len(changes) - rank)))
        adjusted[change.value] = highest
    named = sorted(changes, key=lambda change: change.value)
    return [msgspec.structs.replace(change, p=adjusted[change.value]) for change in named]
