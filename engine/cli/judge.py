"""`scbench judge`: judge a finished run again under another policy, without running anything."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from rich.console import Console

from engine.events import ResultLine, encode
from engine.grading import POLICIES, verdict_of
from engine.journal import replay, results
from engine.rundirectory import RunDirectory
from engine.views.terminal import render


@click.command()
@click.argument("run")
@click.option("--policy", required=True, type=click.Choice(list(POLICIES)), help="The rule to judge by.")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("runs"), metavar="DIR", help="Where runs are."
)
@click.option("--jsonl", "as_lines", is_flag=True, help="Print result lines instead of a table.")
def judge(run: str, policy: str, output: Path, as_lines: bool) -> None:
    """Judge a finished run again under another policy; nothing is run and nothing is changed.

    \b
    Example:
      scbench judge last --policy all-cases
      scbench judge runs/20260101-120000-ab12 --policy any-case --jsonl
    """
    directory = RunDirectory.find(output, run)
    lines = judged_again(directory, policy)
    if as_lines:
        for line in lines:
            sys.stdout.buffer.write(encode(line) + b"\n")
    else:
        Console().print(render(lines))


def judged_again(directory: RunDirectory, policy: str) -> Iterator[ResultLine]:
    """Yield the results of a run with the verdicts that another policy gives."""
    for line in results(directory.journal, replay(directory.journal)):
        verdict = verdict_of(line.broken, line.pass_counts, line.total_counts, policy)
        yield msgspec.structs.replace(line, verdict=verdict, policy=policy)
