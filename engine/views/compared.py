"""A comparison of two runs for people: on a terminal, in Markdown, in HTML.

All three show the same sections; another form is a function over `sections`.
"""

import html as escaping
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.comparison import KINDS, Comparison, EvaluationChange, Kind, TestChange
from engine.events import ResultLine
from engine.significance import LEVEL, Change
from engine.views.markdown import code, table
from engine.views.text import one_line, visible

MOST_ROWS = 50
HOW = (
    "More than noise: exact McNemar test (two-sided binomial test on evaluations that came out differently), "
    f"repeats of an evaluation taken together, Holm's correction within a label, p < {LEVEL}."
)


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and a table; cells are what others wrote, and not escaped yet."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def summary(comparison: Comparison) -> str:
    """Say in one line what changed."""
    counts = Counter(change.kind for change in comparison.changes)
    told = ", ".join(f"{counts[kind]} {name}" for kind, name in KINDS.items() if counts[kind])
    tests = Counter(test.kind for change in comparison.changes for test in change.tests)
    by_test = ", ".join(f"{tests[kind]} {kind.replace('_', ' ')}" for kind in sorted(tests))
    return f"{told or 'nothing to compare'}" + (f"; tests: {by_test}" if by_test else "")


def sections(comparison: Comparison) -> tuple[Section, ...]:
    """Return everything worth showing, most urgent first."""
    found = [_kind_section(comparison, kind) for kind in KINDS if kind != "same"]
    found.append(_tests(comparison))
    found.append(_scores(comparison))
    found.append(_reasons(comparison))
    return tuple(section for section in found if section.rows)


def _kind_section(comparison: Comparison, kind: Kind) -> Section:
    changes = comparison.of_kind(kind)
    rows = tuple(
        (change.line.id, _outcome(change.before), _outcome(change.after), _tests_changed(change))
        for change in changes
    )
    title = f"{KINDS[kind].capitalize()} ({len(changes)})"
    return Section(title=title, headings=("evaluation", "before", "after", "tests"), rows=rows)


def _outcome(line: ResultLine | None) -> str:
    if line is None:
        return "-"
    if line.broken is not None:
        return f"broken: {line.broken.kind}"
    return f"{line.verdict} {sum(line.pass_counts.values())}/{sum(line.total_counts.values())}"


def _tests_changed(change: EvaluationChange) -> str:
    counts = Counter(test.kind for test in change.tests)
    return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items())


def _tests(comparison: Comparison) -> Section:
    order = ("newly_failing", "flaky", "fixed", "gone", "new")
    found = [(change, test) for change in comparison.changes for test in change.tests]
    found.sort(key=lambda pair: order.index(pair[1].kind))
    rows = tuple(_test_row(change, test) for change, test in found)
    headings = ("test", "evaluation", "change", "before", "after", "message")
    return Section(title=f"Tests ({len(rows)})", headings=headings, rows=rows)


def _test_row(change: EvaluationChange, test: TestChange) -> tuple[str, ...]:
    return (
        f"{test.file_path}::{test.id}",
        change.line.id,
        test.kind.replace("_", " "),
        test.before or "-",
        test.after or "-",
        (test.message or "").strip().partition("\n")[0],
    )


def _scores(comparison: Comparison) -> Section:
    rows = tuple(_score_row(change) for change in comparison.scores)
    headings = ("label", "value", "paired", "before", "after", "better", "worse", "p", "more than noise")
    return Section(title="Scores", headings=headings, rows=rows, note=HOW)


def _score_row(change: Change) -> tuple[str, ...]:
    return (
        change.label,
        change.value,
        str(change.units),
        f"{change.before:.1%}",
        f"{change.after:.1%}",
        str(change.better),
        str(change.worse),
        f"{change.p:.3f}",
        "yes" if change.is_more_than_noise else "no",
    )


def _reasons(comparison: Comparison) -> Section:
    counts = Counter(reason for change in comparison.changes for reason in change.reasons)
    rows = tuple((reason, str(count)) for reason, count in counts.most_common())
    return Section(title="Why evaluations ran again", headings=("changed", "evaluations"), rows=rows)


def terminal(comparison: Comparison) -> RenderableType:
    """Render a comparison for a terminal."""
    parts: list[RenderableType] = [Text(f"{_title(comparison)}\n{summary(comparison)}")]
    for section in sections(comparison):
        parts += [Text(f"\n{section.title}", style="bold"), _grid(section)]
        parts += [Text(line, style="dim") for line in _remarks(section)]
    return Group(*parts)


def _title(comparison: Comparison) -> str:
    return f"{one_line(comparison.before)} to {one_line(comparison.after)}, by policy {comparison.policy}"


def _grid(section: Section) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for heading in section.headings:
        grid.add_column(heading, overflow="fold")
    for row in section.rows[:MOST_ROWS]:
        grid.add_row(*(Text(one_line(cell, 160)) for cell in row))
    return grid


def _remarks(section: Section) -> Iterator[str]:
    if len(section.rows) > MOST_ROWS:
        yield f"... and {len(section.rows) - MOST_ROWS} more"
    if section.note:
        yield section.note


def markdown(comparison: Comparison) -> bytes:
    """Render a comparison for a pull request."""
    parts = [f"## {code(comparison.before)} to {code(comparison.after)}", summary(comparison)]
    for section in sections(comparison):
        rows = [[code(cell) for cell in row] for row in section.rows[:MOST_ROWS]]
        parts += [f"### {section.title}", table(section.headings, rows, numbers=0), *_remarks(section)]
    return ("\n\n".join(parts) + "\n").encode()


STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; }
th, td { border-bottom: 1px solid #8884; }
td { font-family: ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere; min-width: 4rem; }
"""


def html(comparison: Comparison) -> bytes:
    """Render a comparison as one page that needs nothing else."""
    title = escaping.escape(_title(comparison))
    parts = [f"<h1>{title}</h1><p>{escaping.escape(summary(comparison))}</p>"]
    parts += [_html_section(section) for section in sections(comparison)]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title}</title><style>{STYLE}</style>"
    )
    body = f"<main>{''.join(parts)}</main>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'.encode()


def _html_section(section: Section) -> str:
    rows = "".join(f"<tr>{_html_cells('td', row)}</tr>" for row in section.rows)
    headings = _html_cells('th scope="col"', section.headings)
    note = f"<p>{escaping.escape(section.note)}</p>" if section.note else ""
    grid = f"<table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>"
    title = escaping.escape(section.title)
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">{grid}</div>'
    return f"<section><h2>{title}</h2>{region}{note}</section>"


def _html_cells(tag: str, cells: Sequence[str]) -> str:
    end = tag.partition(" ")[0]
    return "".join(f"<{tag}>{escaping.escape(visible(cell))}</{end}>" for cell in cells)
