"""A run as comma-separated values, one row an evaluation, for spreadsheets."""

import csv
import io
from collections.abc import Mapping

from engine.events import ResultLine
from engine.results import GroupType, Verdict
from engine.views.run import FinishedRun
from engine.views.text import visible

# What makes a spreadsheet take a cell for a formula; the last four are their full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

Cell = str | int | float | None


def render(run: FinishedRun) -> bytes:
    """Render a run as CSV, with a heading."""
    labels = tuple(dict.fromkeys(name for line in run.lines for name in line.labels))
    phases = tuple(dict.fromkeys(name for line in run.lines for name in line.timings))
    rows = [_row(line, labels, phases, flaky=line.id in run.flaky) for line in run.lines]
    target = io.StringIO()
    writer = csv.writer(target)
    headings = rows[0] if rows else _row(_NOTHING, labels, phases, flaky=False)
    writer.writerow([harmless(name) for name in headings])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return target.getvalue().encode()


def harmless(text: str) -> str:
    """Keep a spreadsheet from running a text as a formula."""
    text = visible(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cell(value: Cell) -> Cell:
    return harmless(value) if isinstance(value, str) else value


def _row(
    line: ResultLine, labels: tuple[str, ...], phases: tuple[str, ...], *, flaky: bool
) -> Mapping[str, Cell]:
    broken = line.broken
    row: dict[str, Cell] = {"run_id": line.run_id, "id": line.id, "problem_name": line.problem_name}
    row["checkpoint_name"] = line.checkpoint_name
    row |= {f"label.{name}": line.labels.get(name, "") for name in labels}
    row |= {"verdict": line.verdict.value, "broken_kind": broken.kind.value if broken else ""}
    row |= {
        "broken_fault": broken.fault.value if broken else "",
        "broken_detail": broken.detail if broken else "",
    }
    row["policy"] = line.policy
    for group in GroupType:
        row[f"{group.value}.passed"] = line.pass_counts.get(group, 0)
        row[f"{group.value}.total"] = line.total_counts.get(group, 0)
    row["duration"] = line.duration
    row |= {f"seconds.{name}": line.timings.get(name) for name in phases}
    row |= {"attempts": line.attempts, "cached": int(line.cached), "flaky": int(flaky)}
    row["integrity"] = "; ".join(f"{one.name}: {one.detail}" for one in line.integrity)
    return {**row, "fingerprint": line.fingerprint, "image_digest": line.environment.image_digest}


_NOTHING = ResultLine(
    run_id="", id="", problem_name="", checkpoint_name="", verdict=Verdict.FAILED, policy="", duration=0.0
)
