import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from engine.board import RATE_WINDOW, Board, reason_of
from engine.boardview import MOST_ROWS, Machine, clock, draw
from engine.environment import EnvironmentSpec, Limits
from engine.evaluation import Evaluation
from engine.events import (
    AdmissionChanged,
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    ResultLine,
    RunCounts,
    RunDraining,
    RunStarted,
)
from engine.results import Broken, BrokenKind, GroupType, Verdict
from engine.sandbox import Progress

MACHINE = Machine(load=1.5, cores=2, memory_free=0.42)
HOSTILE = "x\x1b[2Jy\u202e[bold]z"


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def evaluation(name: str, limit: float = 240.0) -> Evaluation:
    return Evaluation(
        id=name,
        problem_name=f"problem-{name}",
        problem_path="",
        checkpoint="checkpoint_1",
        submission="",
        environment=EnvironmentSpec(),
        limits=Limits(evaluation=limit),
        labels=(("model", "aurora"),),
    )


def finished(name: str, verdict: Verdict = Verdict.PASSED, **given: object) -> EvaluationFinished:
    line = ResultLine(
        run_id="r",
        id=name,
        problem_name="p",
        checkpoint_name="c",
        verdict=verdict,
        policy="any",
        duration=1.0,
    )
    line = msgspec.structs.replace(line, **given)
    return EvaluationFinished(run_id="r", evaluation_id=name, result=line)


def running(board: Board, count: int, phase: str = "tests") -> None:
    for number in range(count):
        board.glimpse(evaluation(f"e{number}"), Progress(phase=phase, tests_done=1, tests_total=9))


def drawn(board: Board, width: int = 80, height: int = 24) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), record=True)
    console.print(draw(board, MACHINE, height))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_outcomes_are_counted() -> None:
    """Every outcome counts once, on top of what an earlier session has done."""
    board = Board()
    board.counts = RunCounts(passed=3)
    board.take(finished("a"))
    board.take(finished("b", Verdict.FAILED, cached=True))
    board.take(finished("c", Verdict.BROKEN, broken=Broken.of(BrokenKind.OUT_OF_MEMORY, "too much")))
    board.take(EvaluationFlaky(run_id="r", evaluation_id="b", tests=()))
    assert board.counts == RunCounts(passed=4, failed=1, broken=1, cached=1, flaky=1)
    assert board.done == 6


def test_what_ended_has_no_line() -> None:
    """An evaluation is on the board from its first glimpse until it ends or is retried."""
    board = Board()
    running(board, 3)
    board.take(finished("e0"))
    board.take(EvaluationRetried(run_id="r", evaluation_id="e1", attempt=1))
    assert list(board.running) == ["e2"]


def test_time_limit_counts_from_the_end_of_preparation() -> None:
    """What is prepared for all is not held against one evaluation."""
    time = Clock()
    board = Board(time)
    board.glimpse(evaluation("a"), Progress(phase="prepare"))
    time.now += 60
    board.glimpse(evaluation("a"), Progress(phase="start"))
    time.now += 5
    board.glimpse(evaluation("a"), Progress(phase="tests"))
    assert time.now - board.running["a"].since == 5
    assert "5s of 4m00s" in "\n".join(drawn(board))


def test_rate_and_end_are_estimated() -> None:
    """The rate is that of the last endings, and the end follows from it."""
    time = Clock()
    board = Board(time)
    board.total = 30
    assert board.rate() is None
    assert board.remaining_seconds() is None
    for number in range(10):
        time.now += 2
        board.take(finished(str(number)))
    assert board.rate() == pytest.approx(0.5)
    assert board.remaining_seconds() == pytest.approx(40)
    text = "\n".join(drawn(board))
    assert "10/30" in text
    assert "30.0/min" in text
    assert "40s left, ends" in text


def test_rate_forgets_a_flood_of_stored_answers() -> None:
    """Answers from the store at the beginning do not promise an early end for ever."""
    time = Clock()
    board = Board(time)
    for number in range(1000):
        board.take(finished(f"cached{number}", cached=True))
    for number in range(RATE_WINDOW):
        time.now += 10
        board.take(finished(str(number)))
    assert board.rate() == pytest.approx(0.1)


def test_everyone_keeps_a_line() -> None:
    """A line stays with its evaluation; a free one goes to what has run longest without."""
    board = Board()
    running(board, 6)

    def names() -> list[str | None]:
        return [one.name.split()[0] if one else None for one in board.places(3)]

    assert names() == ["problem-e0", "problem-e1", "problem-e2"]
    board.take(finished("e1"))
    assert names() == ["problem-e0", "problem-e3", "problem-e2"]
    for name in ("e0", "e4", "e5"):
        board.take(finished(name))
    assert names() == [None, "problem-e3", "problem-e2"]
    board.take(finished("e2"))
    board.take(finished("e3"))
    assert names() == []


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=60),
    st.integers(1, 12),
    st.integers(0, 12),
)
def test_lines_are_calm(steps: list[tuple[bool, int]], count: int, other: int) -> None:
    """Whatever starts and ends, nothing is shown twice, nothing moves, and no line is left empty in vain."""
    board = Board()
    before: list[object] = []
    for starts, number in steps:
        if starts:
            board.glimpse(evaluation(f"e{number}"), Progress(phase="tests"))
        else:
            board.take(finished(f"e{number}"))
        places = board.places(count)
        shown = [one.name for one in places if one]
        assert len(shown) == len(set(shown)) == min(count, len(board.running))
        for index, name in enumerate(before):
            if name in [one.name for one in board.running.values()]:
                place = places[index]
                assert place is not None
                assert place.name == name
        before = [one.name if one else None for one in places]
    assert sum(board.hidden_phases().values()) == max(0, len(board.running) - count)
    assert len(board.places(other)) <= other


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("height", [5, 10, 24, 60])
def test_two_hundred_at_once_fit(width: int, height: int) -> None:
    """However many run, the display is no larger than the terminal and no line is broken."""
    board = Board()
    running(board, 200)
    board.total = 2000
    for number in range(20):
        board.take(finished(f"f{number}", Verdict.FAILED, total_counts={GroupType.CORE: 3}))
    lines = drawn(board, width, height)
    assert len(lines) <= max(height, 7)
    assert max(map(len, lines)) <= width
    assert sum("problem-e" in line for line in lines) <= MOST_ROWS


def test_hidden_ones_are_summed_up() -> None:
    """What has no line of its own is counted by phase."""
    board = Board()
    running(board, MOST_ROWS)
    for number in range(188):
        phase = "tests" if number < 150 else "prepare"
        board.glimpse(evaluation(f"more{number}"), Progress(phase=phase))
    assert "  and 188 more: 38 prepare, 150 tests" in drawn(board, 80, 40)


def test_failures_have_a_reason() -> None:
    """Of the last failures one sees why."""
    board = Board()
    board.take(finished("a", Verdict.FAILED, total_counts={GroupType.CORE: 3, GroupType.ERROR: 1}))
    detail = "uv pip install: exit code 1\nmore"
    board.take(finished("b", Verdict.BROKEN, broken=Broken.of(BrokenKind.SETUP_FAILED, detail)))
    lines = drawn(board, 120)
    assert "failed p c: passed only Core 0/3, Error 0/1" in lines
    assert "broken p c: setup_failed (submission): uv pip install: exit code 1" in lines


def test_admission_and_draining_are_told() -> None:
    """One sees why fewer run than could, and that a run is coming to its end."""
    board = Board()
    board.take(RunStarted(run_id="r", name="night"))
    reason = "only 5% of memory is free"
    board.take(AdmissionChanged(run_id="r", concurrency=3, limit=8, reason=reason))
    assert f"load 1.5 on 2 cores, 42% of memory free; 3 of 8 at once: {reason}" in drawn(board, 120)
    board.take(RunDraining(run_id="r", reason="signal", running=2, hint="a second signal ends them now"))
    text = "\n".join(drawn(board, 120))
    assert "stopping" in text
    assert "nothing more is started, a second signal ends them now" in text
    assert text.startswith("night")


def test_hostile_text_steers_no_terminal() -> None:
    """Names and details with control characters are spelled out."""
    board = Board()
    board.glimpse(msgspec.structs.replace(evaluation("a"), problem_name=HOSTILE), Progress(phase="tests"))
    broken = Broken.of(BrokenKind.SETUP_FAILED, HOSTILE)
    board.take(finished("b", Verdict.BROKEN, problem_name=HOSTILE, broken=broken))
    text = "\n".join(drawn(board, 200))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count(r"x\x1b[2Jy\u202e[bold]z") == 3


def test_a_failure_without_a_failing_test_is_explained() -> None:
    """A policy can fail what has no failing test."""
    assert reason_of(finished("a", Verdict.FAILED).result) == "no test that the policy asks for"


@pytest.mark.parametrize(
    ("seconds", "told"), [(-1, "0s"), (59.4, "59s"), (59.6, "1m00s"), (3599, "59m59s"), (3660, "1h01m")]
)
def test_durations_are_short(seconds: float, told: str) -> None:
    """A duration is said in the least space that is still clear."""
    assert clock(seconds) == told
