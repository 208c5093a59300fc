import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import UserError
from engine.events import ResultLine
from engine.results import Broken, BrokenKind, GroupType, Verdict
from engine.views.leaderboard import effective_size, key_named, label_named, label_names, standings, wilson


def line(
    model: str, verdict: Verdict, *, problem: str = "p", kind: BrokenKind | None = None, core: int = 0
) -> ResultLine:
    return ResultLine(
        run_id="r",
        id=f"{model}-{problem}",
        problem_name=problem,
        checkpoint_name="c",
        labels={"model": model},
        verdict=verdict,
        broken=Broken.of(kind, "") if kind else None,
        policy="core-cases",
        pass_counts={GroupType.CORE: core},
        total_counts={GroupType.CORE: 0 if kind else 4},
        duration=1.0,
    )


@pytest.mark.parametrize(
    ("passed", "size", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_intervals_are_those_of_the_textbook(passed: int, size: int, low: float, high: float) -> None:
    """Wilson's interval has the values that are published for it."""
    interval = wilson(passed / size, size)
    assert interval.low == pytest.approx(low, abs=1e-4)
    assert interval.high == pytest.approx(high, abs=1e-4)


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_an_interval_holds_its_rate(passed: int, size: int) -> None:
    """The rate that was seen always lies in its interval, which lies between nothing and everything."""
    share = min(passed, size) / size
    interval = wilson(share, size)
    assert 0 <= interval.low <= share + 1e-12
    assert share - 1e-12 <= interval.high <= 1


def test_repeats_that_agree_are_worth_one() -> None:
    """Running the same submission five times over, with the same outcome, makes nothing surer."""
    once = [
        line("m", verdict, problem=f"p{n}") for n, verdict in enumerate([Verdict.PASSED, Verdict.FAILED] * 4)
    ]
    assert effective_size(once) == 8
    assert effective_size(once * 5) == pytest.approx(8)


def test_repeats_that_differ_by_chance_are_worth_themselves() -> None:
    """Outcomes that have nothing to do with the submission are as good as independent ones."""
    mixed = [
        line("m", verdict, problem=f"p{n}") for n in range(4) for verdict in (Verdict.PASSED, Verdict.FAILED)
    ]
    assert effective_size(mixed) == 8


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1))
def test_no_number_of_evaluations_is_worth_more_than_itself(outcomes: list[tuple[int, bool]]) -> None:
    """The effective number lies between the number of submissions and that of evaluations."""
    lines = [
        line("m", Verdict.PASSED if passed else Verdict.FAILED, problem=f"p{number}")
        for number, passed in outcomes
    ]
    size = effective_size(lines)
    assert len({number for number, _ in outcomes}) - 1e-9 <= size <= len(lines) + 1e-9
    assert math.isfinite(size)


def test_what_a_submission_broke_counts_with_all_its_tests() -> None:
    """Breaking the grader costs every test that others at this checkpoint had."""
    lines = [
        line("good", Verdict.PASSED, core=4),
        line("cheat", Verdict.BROKEN, kind=BrokenKind.TAMPERED),
        line("unlucky", Verdict.BROKEN, kind=BrokenKind.DAEMON_ERROR),
    ]
    good, cheat, unlucky = standings(lines, key_named("model"))
    assert (good.name, good.share) == ("good", 1.0)
    assert (cheat.name, cheat.share, cheat.all_tests[GroupType.CORE]) == ("cheat", 0.0, 4)
    assert (unlucky.name, unlucky.share, unlucky.interval) == ("unlucky", None, None)
    assert unlucky.all_tests[GroupType.CORE] == 0


def test_labels_are_named_as_they_come() -> None:
    """A leaderboard goes by any label, by problem and by checkpoint, and an unknown one is told."""
    lines = [line("m", Verdict.PASSED)]
    assert label_names(lines) == ("model", "problem", "checkpoint")
    assert label_named(None, lines) == "model"
    assert key_named("problem")(lines[0]) == "p"
    with pytest.raises(UserError, match="did you mean 'model'"):
        label_named("modle", lines)
