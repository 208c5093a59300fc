"""A small leaderboard for the terminal."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from engine.events import ResultLine
from engine.results import GroupType, Verdict
from engine.views.leaderboard import Standing, key_named, label_named, standings
from engine.views.text import one_line

_HEADINGS = ("passed", "failed", "broken", "rate", "95 %", "Core", "Func", "Regr", "Error")


def render(lines: Iterable[ResultLine], by: str | None = None) -> Table:
    """Sum up a run by a label, or by the first that there is, best first."""
    lines = tuple(lines)
    label = label_named(by, lines)
    table = Table(title="Leaderboard", title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column(Text(one_line(label, 40)), no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for standing in standings(lines, key_named(label)):
        # A Text is not read for markup, and one line of it steers no terminal.
        table.add_row(Text(one_line(standing.name, 60)), *_cells(standing))
    return table


def _cells(standing: Standing) -> Iterable[str]:
    for verdict in Verdict:
        yield str(standing.verdicts[verdict])
    yield "-" if standing.share is None else f"{standing.share:.0%}"
    interval = standing.interval
    yield "-" if interval is None else f"{interval.low * 100:.0f}-{interval.high * 100:.0f}"
    for group in GroupType:
        total = standing.all_tests[group]
        yield f"{standing.passed_tests[group]}/{total}" if total else "-"
