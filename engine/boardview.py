"""Draws the live display: a few calm lines, whatever the size of the terminal and of the run."""

from datetime import datetime, timedelta

import msgspec
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from engine.board import PREPARING, Board, Failure, Running
from engine.results import Verdict

COLOURS = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.BROKEN: "yellow"}
MOST_ROWS = 12
# Lines of the display that are not running evaluations: bar, counts, machine, "and more", the cursor's.
FRAME = 6
# From this share of its time limit on, an evaluation stands out.
NEAR_LIMIT = 0.8


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """How busy the machine is, for people."""

    load: float
    cores: int
    # The share of memory that is free, where that can be told.
    memory_free: float | None = None


def draw(board: Board, machine: Machine, height: int) -> RenderableType:
    """Return the display as it is now, at most so many lines high."""
    room = max(1, height - FRAME)
    failures = list(board.failures)[-min(len(board.failures), max(0, room // 4)) :] if room >= 4 else []
    rows = board.places(min(MOST_ROWS, room - len(failures)))
    parts: list[RenderableType] = [_overall(board), _counts(board), _machine(board, machine)]
    parts += [_failure(failure) for failure in failures]
    if rows:
        parts.append(_running(rows, board.clock()))
    hidden = board.hidden_phases()
    if hidden:
        phases = ", ".join(f"{count} {phase}" for phase, count in sorted(hidden.items()))
        parts.append(_line(f"  and {sum(hidden.values())} more: {phases}", "dim"))
    # The cursor rests on an empty line, where the terminal's own echo of Ctrl-C does no harm.
    return Group(*parts, Text(""))


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _overall(board: Board) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=30)
    table.add_column(ratio=1)
    for _ in range(3):
        table.add_column(no_wrap=True, justify="right")
    total = board.total
    bar = ProgressBar(total=total or 1, completed=board.done if total else 0, finished_style="green")
    rate = board.rate()
    table.add_row(
        Text(board.title or "run", style="bold"),
        bar,
        f"{board.done}/{'?' if total is None else total}",
        _spoken_rate(rate) if rate else "",
        _estimate(board),
    )
    return table


def _spoken_rate(rate: float) -> str:
    return f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"


def _estimate(board: Board) -> str:
    if board.draining is not None:
        return "stopping"
    seconds = board.remaining_seconds()
    if seconds is None:
        return ""
    ends = datetime.now().astimezone() + timedelta(seconds=seconds)
    return f"{clock(seconds)} left, ends {ends:%H:%M}" if seconds < 86400 else f"{seconds / 86400:.1f} d left"


def _counts(board: Board) -> Text:
    counts = board.counts
    line = _line("")
    for number, word, colour in (
        (counts.passed, "passed", "green"),
        (counts.failed, "failed", "red"),
        (counts.broken, "broken", "yellow"),
        (counts.cached, "cached", "cyan"),
        (counts.flaky, "flaky", "magenta"),
    ):
        line.append(f"{number} {word}  ", style=colour if number else "dim")
    line.append(f"{len(board.running)} running", style="dim")
    return line


def _machine(board: Board, machine: Machine) -> Text:
    told = f"load {machine.load:.1f} on {machine.cores} cores"
    if machine.memory_free is not None:
        told += f", {machine.memory_free:.0%} of memory free"
    if board.draining is not None:
        hint = f", {board.draining.hint}" if board.draining.hint else ""
        return _line(f"nothing more is started{hint}; {told}", "yellow")
    admission = board.admission
    if admission is None:
        return _line(told, "dim")
    reason = f": {admission.reason}" if admission.reason else ""
    style = "yellow" if admission.concurrency < admission.limit and admission.reason else "dim"
    return _line(f"{told}; {admission.concurrency} of {admission.limit} at once{reason}", style)


def _failure(failure: Failure) -> Text:
    line = _line("")
    line.append(f"{failure.verdict:<6} ", style=COLOURS[failure.verdict])
    line.append(f"{failure.name}: {failure.reason}")
    return line


def _running(rows: list[Running | None], now: float) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(no_wrap=True, width=8)
    table.add_column(no_wrap=True, justify="right", width=9)
    table.add_column(no_wrap=True, justify="right", width=15)
    for row in rows:
        table.add_row(*(_cells(row, now) if row is not None else ("", "", "", "")))
    return table


def _cells(row: Running, now: float) -> tuple[Text, str, str, Text]:
    progress, elapsed = row.progress, now - row.since
    tests = f"{progress.tests_done}/{progress.tests_total}" if progress.tests_total is not None else ""
    if progress.phase == PREPARING:
        time = Text(clock(elapsed), style="dim")
    else:
        late = elapsed > NEAR_LIMIT * row.limit
        time = Text(f"{clock(elapsed)} of {clock(row.limit)}", style="yellow" if late else "dim")
    return Text(f"  {row.name}"), progress.phase, tests, time


def clock(seconds: float) -> str:
    """Say a duration in the least space that is still clear."""
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"
