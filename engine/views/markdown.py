"""A run in Markdown, short enough for a pull request.

Whatever a submission may have named stands in code spans, where neither markup nor mentions nor links act.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from engine.events import ResultLine
from engine.grading import rate
from engine.results import GroupType, Verdict
from engine.views.leaderboard import Standing, key_named, label_names, standings
from engine.views.run import FinishedRun
from engine.views.text import one_line, seconds

# A comment on a pull request is cut off at 65,536 characters.
MOST_ROWS = 50


def render(run: FinishedRun) -> bytes:
    """Render a run as Markdown."""
    parts = [_heading(run), _leaderboards(run), _broken(run), _flaky(run), _footer(run)]
    return ("\n\n".join(part for part in parts if part) + "\n").encode()


def code(text: str, limit: int = 120) -> str:
    """Quote foreign text so that it is read as it stands, also in a cell of a table."""
    line = one_line(text, limit)
    if not line:
        return ""
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    # A backslash before a bar would leave the bar to end the cell.
    line = line.replace("\\|", "\\ |").replace("|", "\\|")
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int) -> str:
    """Write a table whose last `numbers` columns are aligned to the right."""
    rules = ["---"] * (len(headings) - numbers) + ["---:"] * numbers
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rules, *rows))


def _heading(run: FinishedRun) -> str:
    rated = rate((line.verdict, line.broken) for line in run.lines)
    share = "" if rated.share is None else f" ({rated.share:.1%} of {rated.total})"
    counts = {verdict: sum(line.verdict is verdict for line in run.lines) for verdict in Verdict}
    told = [
        f"**{counts[Verdict.PASSED]} passed**{share}",
        f"{counts[Verdict.FAILED]} failed",
        f"{counts[Verdict.BROKEN]} broken",
        f"{sum(line.cached for line in run.lines)} from the store",
    ]
    if run.remaining:
        told.append(f"{run.remaining} without an outcome yet")
    said = f"{', '.join(told)}, in {seconds(run.duration)}, by policy {code(run.policy)}."
    return f"## Run {code(run.run_id)}\n\n{said}"


def _leaderboards(run: FinishedRun) -> str:
    names = label_names(run.lines)
    first = _leaderboard(run, names[0])
    return "\n\n".join([first, *(_folded(name, _leaderboard(run, name)) for name in names[1:])])


def _folded(label: str, content: str) -> str:
    summary = f"by <code>{html.escape(one_line(label, 40))}</code>"
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _leaderboard(run: FinishedRun, label: str) -> str:
    headings = [code(label, 40), *("rate", "95 %", "passed", "failed", "broken"), *GroupType]
    rows = standings(run.lines, key_named(label))
    written = table(headings, map(_cells, rows[:MOST_ROWS]), numbers=len(headings) - 1)
    return written + _more(len(rows))


def _cells(standing: Standing) -> list[str]:
    interval = standing.interval
    return [
        code(standing.name, 60),
        "-" if standing.share is None else f"{standing.share:.1%}",
        "-" if interval is None else f"{interval.low * 100:.0f} to {interval.high * 100:.0f}",
        *(str(standing.verdicts[verdict]) for verdict in Verdict),
        *(_share(standing, group) for group in GroupType),
    ]


def _share(standing: Standing, group: GroupType) -> str:
    total = standing.all_tests[group]
    return f"{standing.passed_tests[group]}/{total}" if total else "-"


def _broken(run: FinishedRun) -> str:
    broken = [line for line in run.lines if line.broken is not None]
    if not broken:
        return ""
    return (
        f"### Broken ({len(broken)})\n\n"
        + table(("evaluation", "kind", "fault", "detail"), _broken_rows(broken[:MOST_ROWS]), numbers=0)
        + _more(len(broken))
    )


def _broken_rows(lines: Iterable[ResultLine]) -> Iterator[Sequence[str]]:
    for line in lines:
        if line.broken is not None:
            yield code(line.id), line.broken.kind, line.broken.fault, code(line.broken.detail)


def _flaky(run: FinishedRun) -> str:
    if not run.flaky:
        return ""
    rows = []
    for name, tests in sorted(run.flaky.items())[:MOST_ROWS]:
        named = ", ".join(code(f"{test.file_path}::{test.id}", 80) for test in tests[:5])
        rows.append((code(name), named or "verdict or counts differ between repeats"))
    return (
        f"### Flaky ({len(run.flaky)})\n\n"
        + table(("evaluation", "tests"), rows, numbers=0)
        + _more(len(run.flaky))
    )


def _more(number: int) -> str:
    return f"\n\n... and {number - MOST_ROWS} more" if number > MOST_ROWS else ""


def _footer(run: FinishedRun) -> str:
    name = run.run_id
    return f"Look closer in its `report.html`, or with `scbench show ID --run {name}`."
