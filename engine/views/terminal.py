"""A small leaderboard for the terminal."""

from collections import defaultdict
from collections.abc import Iterable

from rich.table import Table

from engine.events import ResultLine
from engine.grading import Rate, rate
from engine.results import Fault, GroupType, Verdict


def render(lines: Iterable[ResultLine]) -> Table:
    """Sum up a run by its first label, or by problem where there is none, best first."""
    rows: dict[str, list[ResultLine]] = defaultdict(list)
    label = "problem"
    for line in lines:
        name, value = next(iter(line.labels.items()), ("problem", line.problem_name))
        label = name
        rows[value].append(line)
    table = Table(title="Leaderboard", title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column(label, no_wrap=True)
    for heading in ("passed", "failed", "broken", "rate", "Core", "Func", "Regr", "Error"):
        table.add_column(heading, justify="right", no_wrap=True)
    rated = {value: rate((line.verdict, line.broken) for line in found) for value, found in rows.items()}
    for value in sorted(rows, key=lambda value: (-(rated[value].share or 0.0), value)):
        table.add_row(value, *_cells(rows[value], rated[value]))
    return table


def _cells(lines: list[ResultLine], rated: Rate) -> Iterable[str]:
    for verdict in Verdict:
        yield str(sum(line.verdict is verdict for line in lines))
    yield "-" if rated.share is None else f"{rated.share:.0%}"
    judged = [line for line in lines if line.broken is None or line.broken.fault is Fault.SUBMISSION]
    for group in GroupType:
        passed = sum(line.pass_counts.get(group, 0) for line in judged)
        total = sum(line.total_counts.get(group, 0) for line in judged)
        yield f"{passed}/{total}" if total else "-"
