"""`scbench compare`: what changed between two runs."""

import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console

from engine.cli.runs import complete_runs, output_option
from engine.comparison import Comparison
from engine.comparison import compare as compare_runs
from engine.rundirectory import RunDirectory
from engine.views import compared
from engine.views.formats import write_file
from engine.views.run import load_run


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to compare, and what to do with it."""

    output: Path
    form: str
    to: Path | None
    ignore: tuple[str, ...]
    fail_on: str | None


@click.command()
@click.argument("before", metavar="A", shell_complete=complete_runs)
@click.argument("after", metavar="B", shell_complete=complete_runs)
@output_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "html"]),
    default="terminal",
    help="For whom.",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write it; default: standard output.",
)
@click.option("--ignore", multiple=True, metavar="LABEL", help="Pair evaluations that differ in this label.")
@click.option("--fail-on", type=click.Choice(["regressions"]), help="Exit with 1 where there is any.")
def compare(before: str, after: str, **given: object) -> None:
    """Tell what changed from run A to run B: verdicts, tests, scores, and why things ran again.

    A regression is a verdict or a test that was passed and is not any more. What differs although nothing
    changed that it depends on is flaky, and no regression.

    \b
    Example:
      scbench compare 20260101-120000-ab12 last
      scbench compare runs/main runs/branch --fail-on regressions
      scbench compare runs/a runs/b --format html --to comparison.html
      scbench compare runs/aurora runs/breeze --ignore model
    """
    options = msgspec.convert(given, Options)
    first, second = (load_run(RunDirectory.find(options.output, name)) for name in (before, after))
    comparison = compare_runs(first, second, options.ignore)
    _write(comparison, options)
    if options.fail_on is not None and comparison.regressions:
        sys.exit(1)


def _write(comparison: Comparison, options: Options) -> None:
    if options.form == "terminal":
        Console(highlight=False).print(compared.terminal(comparison))
        return
    data = compared.html(comparison) if options.form == "html" else compared.markdown(comparison)
    if options.to is None:
        sys.stdout.buffer.write(data)
    else:
        write_file(options.to, data)
