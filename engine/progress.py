"""What people see while a batch runs: a live display on a terminal, plain lines elsewhere.

Each way is a sink (`write`, `aclose`) that also takes glimpses of running evaluations (`on_progress`) and
draws itself in a task of its own (`show`). Another way is a class like these and a `case` in `open_progress`.
"""

import os
import sys
import time
from collections.abc import Sequence
from typing import Literal, Protocol

import anyio
import anyio.to_thread
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from engine import host
from engine.board import Board, first_line, name_of_result, reason_of
from engine.boardview import COLOURS, Machine, clock, draw
from engine.evaluation import Evaluation
from engine.events import (
    AdmissionChanged,
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    RunCounts,
    RunDraining,
    WarningGiven,
)
from engine.sandbox import Progress
from engine.views.text import visible

ProgressMode = Literal["auto", "live", "plain"]
# Seconds between two pictures: quick enough to be live, slow enough to be calm.
EVERY = 0.25
# Seconds between two lines about an image that is being pulled.
PULL_EVERY = 5.0


class ProgressView(Protocol):
    """A way to show how a run goes."""

    def on_progress(self, evaluation: Evaluation, progress: Progress) -> None:
        """Take a glimpse of a running evaluation."""

    def begin(self, kept: RunCounts) -> None:
        """Take in what an earlier session of the run has done."""

    def expect(self, total: int) -> None:
        """Take in how many evaluations there are in all, as soon as that is known."""

    async def write(self, events: Sequence[Event]) -> bool:
        """Show what happened; a reader that is gone does not end the run."""

    async def aclose(self) -> None:
        """Let go of the terminal."""

    async def show(self) -> None:
        """Keep the display up to date until cancelled."""


class ProgressConsole(Console):
    """A console whose reader may go away: then there is nothing more to show, and nothing else changes."""

    def on_broken_pipe(self) -> None:
        """Show nothing more."""
        self.quiet = True


def open_progress(
    mode: ProgressMode, console: Console, *, verbose: bool = False, shared: bool = False
) -> ProgressView:
    """Return the way to show progress that fits; `shared`: something else is written to this terminal."""
    wants_live = mode == "live" or (mode == "auto" and not shared)
    if wants_live and console.is_terminal and not console.is_dumb_terminal and not console.quiet:
        return LiveProgress(console, verbose=verbose)
    return PlainProgress(console, verbose=verbose)


def standard_error(*, quiet: bool) -> Console:
    """Return the console of standard error."""
    return ProgressConsole(file=sys.stderr, quiet=quiet, highlight=False, soft_wrap=True)


class PlainProgress:
    """One line for each thing that a person wants to know."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._done = 0
        self._total: int | None = None
        self._pull_told = 0.0

    def on_progress(self, evaluation: Evaluation, progress: Progress) -> None:
        """Say that an image is being pulled, now and then; other glimpses are not worth a line."""
        now = time.monotonic()
        if progress.phase.startswith("pull") and now - self._pull_told > PULL_EVERY:
            self._pull_told = now
            said = f"{visible(evaluation.environment.image)}: {progress.phase}"
            self._console.print(Text(said, style="dim"))

    def begin(self, kept: RunCounts) -> None:
        """Count from what an earlier session has done."""
        self._done = kept.passed + kept.failed + kept.broken

    def expect(self, total: int) -> None:
        """Say in each line how many there are."""
        self._total = total

    async def write(self, events: Sequence[Event]) -> bool:
        """Print what is worth a line."""
        if not self._console.quiet:
            lines = [line for event in events if (line := self._line(event)) is not None]
            await anyio.to_thread.run_sync(_print, self._console, lines)
        return True

    async def aclose(self) -> None:
        """Nothing to let go of."""

    async def show(self) -> None:
        """Lines are printed as they come."""

    def _line(self, event: Event) -> Text | None:
        if not isinstance(event, EvaluationFinished):
            return spoken(event, verbose=self._verbose)
        self._done += 1
        number = f"{self._done}/{self._total}" if self._total is not None else str(self._done)
        return Text.assemble((f"{number:>5} ", "dim"), finished_line(event))


class LiveProgress:
    """A display that stays where it is; what must not be missed goes above it."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._board = Board()
        self._above: list[Text] = []

    def on_progress(self, evaluation: Evaluation, progress: Progress) -> None:
        """Put a running evaluation onto the board."""
        self._board.glimpse(evaluation, progress)

    def begin(self, kept: RunCounts) -> None:
        """Count from what an earlier session has done."""
        self._board.counts = kept

    def expect(self, total: int) -> None:
        """Say how far the bar reaches."""
        self._board.total = total

    async def write(self, events: Sequence[Event]) -> bool:
        """Put what happened onto the board; it is drawn when it is time."""
        for event in events:
            self._board.take(event)
            if isinstance(event, EvaluationFinished):
                line = finished_line(event) if self._verbose else None
            elif isinstance(event, (AdmissionChanged, RunDraining)):
                line = None
            else:
                line = spoken(event, verbose=self._verbose)
            if line is not None:
                self._above.append(line)
        return True

    async def aclose(self) -> None:
        """The task that draws lets go of the terminal."""

    async def show(self) -> None:
        """Draw at intervals until cancelled, then leave the terminal as it was."""
        live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        try:
            while True:
                await self._draw(live)
                await anyio.sleep(EVERY)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._end, live)

    async def _draw(self, live: Live) -> None:
        # Drawn here, where nothing else changes the board; written in a thread, because a terminal that was
        # stopped by Ctrl-S must not stop the run.
        picture = draw(self._board, _machine(), self._console.size.height)
        above, self._above = self._above, []
        await anyio.to_thread.run_sync(self._write, live, picture, above)

    def _write(self, live: Live, picture: RenderableType, above: list[Text]) -> None:
        if self._console.quiet:
            return
        try:
            live.start()
            _print(self._console, above)
            live.update(picture, refresh=True)
        except OSError:
            self._console.quiet = True  # the terminal is gone; the run goes on

    def _end(self, live: Live) -> None:
        try:
            live.stop()
        except OSError:
            self._console.quiet = True
        _print(self._console, self._above)


def _machine() -> Machine:
    memory = host.memory()
    free = memory.available / memory.total if memory else None
    return Machine(load=os.getloadavg()[0], cores=host.cores(), memory_free=free)


def _print(console: Console, lines: Sequence[Text]) -> None:
    try:
        for line in lines:
            console.print(line)
    except OSError:
        console.quiet = True


def finished_line(event: EvaluationFinished) -> Text:
    """Say how an evaluation came out."""
    result = event.result
    passed, total = sum(result.pass_counts.values()), sum(result.total_counts.values())
    cached = ", cached" if result.cached else f", {clock(result.duration)}"
    detail = reason_of(result) if result.broken is not None else f"{passed}/{total} tests{cached}"
    told = f" {name_of_result(result)}: {detail}"
    return Text.assemble((f"{result.verdict:<6}", COLOURS[result.verdict]), told)


def spoken(event: Event, *, verbose: bool) -> Text | None:
    """Say in one line what happened, where that is worth a line."""
    match event:
        case EvaluationRetried():
            reason = first_line(event.broken.detail) if event.broken else "cut off"
            when = "at the end, alone" if event.alone else f"in {clock(event.delay)}"
            return _told("again", "yellow", f"{event.evaluation_id}, {when}: {reason}")
        case EvaluationFlaky():
            names = ", ".join(first_line(test.id, 60) for test in event.tests[:3])
            return _told("flaky", "magenta", f"{event.evaluation_id}: {len(event.tests)} tests, {names}")
        case WarningGiven():
            hint = f"\n{event.hint}" if event.hint else ""
            return _told("warning", "yellow", visible(f"{event.message}{hint}"))
        case RunDraining():
            return _told("stopping", "yellow", f"{event.running} still running; {event.hint}".rstrip("; "))
        case AdmissionChanged() if event.reason or verbose:
            return Text(f"{event.concurrency} of {event.limit} at once: {event.reason}", style="dim")
        case EvaluationStarted() if verbose:
            alone = ", alone" if event.alone else ""
            return Text(f"started {event.evaluation_id}, attempt {event.attempt}{alone}", style="dim")
        case _:
            return None


def _told(word: str, colour: str, text: str) -> Text:
    return Text.assemble((word, colour), f" {text}")
