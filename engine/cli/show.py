"""`scbench show`: everything about one evaluation, for people."""

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.boardview import COLOURS
from engine.cli.runs import complete_ids, find_id, output_option, read_result, run_option
from engine.events import ResultLine
from engine.results import GroupType, TestResult
from engine.rundirectory import RunDirectory
from engine.views.text import one_line, seconds, shortened, visible

STATUS_COLOURS = {"passed": "green", "failed": "red", "error": "yellow", "skipped": "dim"}
MOST_MESSAGE = 4000


@click.command()
@click.argument("evaluation_id", metavar="ID", shell_complete=complete_ids)
@run_option
@output_option
@click.option(
    "--tests", "which", type=click.Choice(["all", "failing", "none"]), default="all", help="Which tests."
)
@click.option("--messages/--no-messages", default=True, help="Why tests failed.")
def show(evaluation_id: str, run: str, output: Path, which: str, messages: bool) -> None:
    """Show one evaluation: verdict, tests, messages, timings, integrity, how to repeat it.

    ID is an id as results have it, or any part of one that fits no other.

    \b
    Example:
      scbench show ledger-checkpoint_1-aurora
      scbench show ledger-checkpoint_1-aurora --run 20260101-120000-ab12 --tests failing
    """
    directory = RunDirectory.find(output, run)
    line = read_result(directory, find_id(directory, evaluation_id))
    console = Console(highlight=False, soft_wrap=True)
    console.print(_heading(line))
    console.print(_facts(line))
    tests = [test for test in line.tests or () if which == "all" or test.status not in ("passed", "skipped")]
    if tests and which != "none":
        console.print(_tests(tests))
    if messages:
        for part in _messages(line.tests or ()):
            console.print(part)
    for told in _repeat(directory, line):
        console.print(told, markup=False)


def _heading(line: ResultLine) -> Text:
    labels = ", ".join(f"{name}={value}" for name, value in line.labels.items())
    named = one_line(f"{line.problem_name} {line.checkpoint_name} {labels}")
    heading = Text.assemble((line.verdict.value, f"bold {COLOURS[line.verdict]}"), f" {named}\n")
    if line.broken is not None:
        heading.append(f"{line.broken.kind}, fault of the {line.broken.fault}\n", style="yellow")
        heading.append(visible(shortened(line.broken.detail.strip(), MOST_MESSAGE)) + "\n")
    return heading


def _facts(line: ResultLine) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(line):
        table.add_row(name, Text(visible(value)))
    return table


def _rows(line: ResultLine) -> Iterator[tuple[str, str]]:
    yield "id", line.id
    yield "run", line.run_id
    counts = (
        f"{group} {line.pass_counts.get(group, 0)}/{line.total_counts[group]}"
        for group in GroupType
        if line.total_counts.get(group)
    )
    yield "tests", f"{', '.join(counts) or 'none'} (policy {line.policy})"
    code, collected = line.pytest_exit_code, line.pytest_collected
    yield "pytest", f"exit code {'-' if code is None else code}, {collected or 0} collected"
    phases = ", ".join(f"{name} {seconds(value)}" for name, value in line.timings.items())
    yield "time", f"{seconds(line.duration)}{f' ({phases})' if phases else ''}"
    yield "attempts", f"{line.attempts}{', answered from the store' if line.cached else ''}"
    yield "integrity", "; ".join(f"{one.name}: {one.detail}" for one in line.integrity) or "no warning"
    environment = line.environment
    sealed = "sealed" if environment.sealed else "not sealed"
    yield "sandbox", f"{environment.sandbox}, {sealed}"
    yield "image", f"{environment.image} {environment.image_digest}, Python {environment.python}"
    yield "toolchain", " ".join(f"{name}=={version}" for name, version in environment.toolchain.items())
    yield "packages", " ".join(f"{name}=={version}" for name, version in environment.packages.items()) or "-"
    yield "fingerprint", line.fingerprint or "-"


def _tests(tests: list[TestResult]) -> Text:
    # Lines, not a table: a node id that is folded cannot be copied.
    lines = Text("\n")
    for test in tests:
        lines.append(f"{test.status:<8}", style=STATUS_COLOURS[test.status])
        lines.append(f"{test.group_type.value:<14}{test.duration_ms:>8.0f} ms  ", style="dim")
        lines.append(one_line(f"{test.file_path}::{test.id}", 500) + "\n")
    return lines


def _messages(tests: tuple[TestResult, ...]) -> Iterator[Text]:
    for test in tests:
        if test.failure_message and test.status in ("failed", "error"):
            name = one_line(f"{test.file_path}::{test.id}", 500)
            message = visible(shortened(test.failure_message.strip(), MOST_MESSAGE))
            yield Text.assemble(("\n" + name, f"bold {STATUS_COLOURS[test.status]}"), f"\n{message}")


def _repeat(directory: RunDirectory, line: ResultLine) -> Iterator[str]:
    folder = directory.evaluation(line.id)
    yield f"\noutput and reports: {folder}"
    yield "repeat it:"
    yield f"  scbench debug {line.id} --run {directory.path} --all-tests"
    yield "look at it from inside:"
    yield f"  scbench debug {line.id} --run {directory.path}"
