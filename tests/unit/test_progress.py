import io
import os
from collections.abc import Iterator

import anyio
import pytest
from rich.console import Console

from engine.events import (
    AdmissionChanged,
    EvaluationFlaky,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    FlakyTest,
    RunCounts,
    RunDraining,
    WarningGiven,
)
from engine.progress import LiveProgress, PlainProgress, ProgressConsole, open_progress, standard_error
from engine.results import Broken, BrokenKind, Verdict
from tests.unit.test_board import HOSTILE, finished

FLAKY = FlakyTest(id="test_x", file_path="tests/test_c.py", statuses=("failed", "passed"))


def console(*, terminal: bool = False) -> ProgressConsole:
    return ProgressConsole(
        file=io.StringIO(), force_terminal=terminal, width=80, height=24, highlight=False, soft_wrap=True
    )


def written(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


async def until(screen: Console, text: str) -> None:
    while text not in written(screen):  # noqa: ASYNC110 - a file tells nobody that it was written to
        await anyio.sleep(0.01)


async def shown(*events: Event, verbose: bool = False) -> list[str]:
    screen = console()
    await PlainProgress(screen, verbose=verbose).write(events)
    return written(screen).splitlines()


@pytest.fixture
def closed_pipe() -> Iterator[Console]:
    """A console whose reader has gone."""
    source, sink = os.pipe()
    os.close(source)
    file = os.fdopen(sink, "w", buffering=1)
    yield ProgressConsole(file=file, force_terminal=True, width=80, height=24)
    # What could not be written is still in its buffer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    file.close()


async def test_plain_lines_say_how_evaluations_come_out() -> None:
    """One line for each outcome, with its number, its verdict and its reason."""
    broken = Broken.of(BrokenKind.SETUP_FAILED, "no such package\nmore")
    lines = await shown(
        finished("a"), finished("b", Verdict.BROKEN, broken=broken), finished("c", cached=True)
    )
    assert lines == [
        "    1 passed p c: 0/0 tests, 1s",
        "    2 broken p c: setup_failed (submission): no such package",
        "    3 passed p c: 0/0 tests, cached",
    ]


async def test_plain_lines_count_from_what_was_done() -> None:
    """A resumed run goes on counting, and says how many there are once that is known."""
    screen = console()
    progress = PlainProgress(screen)
    progress.begin(RunCounts(passed=4, failed=1))
    progress.expect(30)
    await progress.write([finished("a")])
    assert written(screen).startswith(" 6/30 passed")


async def test_everything_that_matters_has_a_line() -> None:
    """Retries, flaky tests, warnings, draining and admission are told."""
    lines = await shown(
        EvaluationRetried(run_id="r", evaluation_id="a", attempt=1, delay=5.0),
        EvaluationRetried(run_id="r", evaluation_id="a", attempt=1, alone=True),
        EvaluationFlaky(run_id="r", evaluation_id="a", tests=(FLAKY,)),
        WarningGiven(run_id="r", name="n", message="odd", hint="mend it"),
        RunDraining(run_id="r", reason="signal", running=2, hint="a second signal ends them now"),
        AdmissionChanged(run_id="r", concurrency=1, limit=8, reason="little memory"),
        EvaluationStarted(run_id="r", evaluation_id="a"),
    )
    assert lines == [
        "again a, in 5s: cut off",
        "again a, at the end, alone: cut off",
        "flaky a: 1 tests, test_x",
        "warning odd",
        "mend it",
        "stopping 2 still running; a second signal ends them now",
        "1 of 8 at once: little memory",
    ]


async def test_verbose_tells_starts() -> None:
    """With --verbose every start has a line."""
    start = EvaluationStarted(run_id="r", evaluation_id="a", attempt=2, alone=True)
    assert await shown(start, verbose=True) == ["started a, attempt 2, alone"]


async def test_hostile_text_is_spelled_out_in_plain_lines() -> None:
    """What a submission says can neither steer the terminal nor be read as markup."""
    broken = Broken.of(BrokenKind.SETUP_FAILED, HOSTILE)
    lines = await shown(
        finished("b", Verdict.BROKEN, problem_name=HOSTILE, broken=broken),
        EvaluationRetried(run_id="r", evaluation_id="a", attempt=1, broken=broken),
        WarningGiven(run_id="r", name="n", message=HOSTILE),
        EvaluationFlaky(
            run_id="r", evaluation_id="a", tests=(FlakyTest(id=HOSTILE, file_path="", statuses=()),)
        ),
    )
    assert all(r"x\x1b[2Jy\u202e[bold]z" in line for line in lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize(
    ("mode", "terminal", "shared", "kind"),
    [
        ("auto", True, False, LiveProgress),
        ("auto", False, False, PlainProgress),
        ("auto", True, True, PlainProgress),
        ("live", True, True, LiveProgress),
        ("live", False, False, PlainProgress),
        ("plain", True, False, PlainProgress),
    ],
)
def test_the_display_fits_the_place(mode: str, terminal: bool, shared: bool, kind: type) -> None:
    """Live on a terminal that nothing else is written to, plain lines elsewhere."""
    assert type(open_progress(mode, console(terminal=terminal), shared=shared)) is kind  # type: ignore[arg-type]


def test_nothing_live_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that cannot move its cursor gets plain lines."""
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_progress("auto", console(terminal=True)), PlainProgress)


async def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """With --quiet not a byte is written."""
    progress = open_progress("auto", standard_error(quiet=True))
    await progress.write([finished("a", Verdict.FAILED)])
    assert capsys.readouterr().err == ""


async def test_no_colour_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes the colours away, on a terminal too."""
    monkeypatch.setenv("NO_COLOR", "1")
    screen = console(terminal=True)
    await PlainProgress(screen).write([finished("a", Verdict.FAILED)])
    assert "\x1b[31m" not in written(screen)


async def test_a_reader_that_is_gone_changes_nothing(closed_pipe: Console) -> None:
    """When nobody reads progress any more, the run goes on in silence."""
    for progress in (PlainProgress(closed_pipe), LiveProgress(closed_pipe)):
        closed_pipe.quiet = False
        with anyio.move_on_after(0.3):
            async with anyio.create_task_group() as group:
                group.start_soon(progress.show)
                assert await progress.write([finished("a")])
                await anyio.sleep_forever()
        assert closed_pipe.quiet


async def test_the_cursor_is_given_back(anyio_backend: str) -> None:
    """However the display ends, the cursor is visible again and the lines are gone."""
    screen = console(terminal=True)
    progress = LiveProgress(screen)
    with pytest.raises(ExceptionGroup):  # noqa: PT012 - the group is what ends the display
        async with anyio.create_task_group() as group:
            group.start_soon(progress.show)
            await until(screen, "passed")
            raise RuntimeError("a bug")
    text = written(screen)
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


async def test_warnings_outlive_the_display() -> None:
    """What must not be missed is above the display and stays."""
    screen = console(terminal=True)
    progress = LiveProgress(screen)
    async with anyio.create_task_group() as group:
        group.start_soon(progress.show)
        await until(screen, "passed")
        await progress.write([WarningGiven(run_id="r", name="n", message="at the last moment")])
        group.cancel_scope.cancel()
    assert "at the last moment" in written(screen)


async def test_live_lines_above_only_with_verbose() -> None:
    """Results scroll by above the display only where that was asked for."""
    for verbose in (False, True):
        screen = console(terminal=True)
        progress = LiveProgress(screen, verbose=verbose)
        await progress.write([finished("a", problem_name="special")])
        async with anyio.create_task_group() as group:
            group.start_soon(progress.show)
            await until(screen, "1 passed")
            group.cancel_scope.cancel()
        assert ("special" in written(screen)) is verbose
