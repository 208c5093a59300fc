from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.significance import OVERALL, Change, Unit, binomial_p, corrected, score_changes

counts = st.integers(0, 12)


@given(counts, counts)
def test_p_is_the_share_of_splits_at_least_as_uneven(better: int, worse: int) -> None:
    """The p-value is what counting every way in which coins can fall gives."""
    total = better + worse
    if total > 12:
        total, worse = 12, max(0, 12 - better)
        better = 12 - worse
    sides = [sum(falls) for falls in product((0, 1), repeat=total)]
    uneven = sum(abs(2 * heads - total) >= abs(better - worse) for heads in sides)
    assert binomial_p(better, worse) == pytest.approx(uneven / len(sides))


@given(st.integers(0, 300), st.integers(0, 300))
def test_p_is_a_probability_and_has_no_side(better: int, worse: int) -> None:
    """Better and worse are treated alike."""
    assert 0 < binomial_p(better, worse) <= 1
    assert binomial_p(better, worse) == binomial_p(worse, better)


def test_known_value() -> None:
    """Eight of nine discordant pairs on one side: the value from the textbooks."""
    assert binomial_p(8, 1) == pytest.approx(0.0390625)


def unit(model: str, before: float, after: float) -> Unit:
    return Unit(labels={"model": model}, before=before, after=after)


def test_scores_by_label() -> None:
    """Each value of each label has a row, and all together have one."""
    units = [unit("a", 0, 1)] * 10 + [unit("b", 1, 1), unit("b", 1, 0)]
    rows = {(row.label, row.value): row for row in score_changes(units)}
    assert rows["model", "a"].is_more_than_noise
    assert (rows["model", "a"].before, rows["model", "a"].after) == (0.0, 1.0)
    assert not rows["model", "b"].is_more_than_noise
    assert (rows["model", "b"].better, rows["model", "b"].worse, rows["model", "b"].units) == (0, 1, 2)
    assert rows[OVERALL, ""].units == 12


def test_many_rows_need_more_evidence() -> None:
    """What one row alone would show is noise among twenty."""
    alone = score_changes([unit("a", 0, 1)] * 6)
    among = [unit("a", 0, 1)] * 6 + [unit(f"m{number}", 1, 1) for number in range(20)]
    assert next(row for row in alone if row.value == "a").is_more_than_noise
    assert not next(row for row in score_changes(among) if row.value == "a").is_more_than_noise


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_correction_keeps_order_and_never_helps(values: list[float]) -> None:
    """Corrected values are no smaller, stay in order, and stay probabilities."""
    rows = [
        Change(label="l", value=f"{index:02}", units=1, before=0, after=0, better=0, worse=0, p=p)
        for index, p in enumerate(values)
    ]
    adjusted = [row.p for row in corrected(rows)]
    assert all(old <= new <= 1 for old, new in zip(values, adjusted, strict=True))
    assert all(
        adjusted[i] <= adjusted[j]
        for i in range(len(rows))
        for j in range(len(rows))
        if values[i] < values[j]
    )
