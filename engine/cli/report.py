"""`scbench report`: a run as a page, a table, or a file for another program."""

import sys
from pathlib import Path

import click
from rich.console import Console

from engine.rundirectory import RunDirectory
from engine.views.formats import FORMATS, write_file
from engine.views.run import FinishedRun, load_run
from engine.views.terminal import render
from engine.views.text import seconds


@click.command()
@click.argument("run")
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), help="Instead of a table on the terminal."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Where to; - is stdout.",
)
@click.option("--by", metavar="LABEL", help="What the table sums up by; default: the first label.")
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    metavar="DIR",
    help="Where runs are kept.",
)
def report(run: str, form: str | None, output: Path | None, by: str | None, runs: Path) -> None:
    """Show a run, or write it as HTML, Markdown, CSV, JUnit XML or JSON.

    HTML goes to report.html in the folder of the run unless --output says otherwise, the other forms to
    standard output.

    \b
    Example:
      scbench report last
      scbench report last --format html --output leaderboard.html
      scbench report last --format junit --output results.xml
      scbench report last --format markdown >> "$GITHUB_STEP_SUMMARY"

    \b
    DuckDB reads the files of a run as they are:
      duckdb -c "select labels.model, avg((verdict = 'passed')::int)
                 from 'runs/*/results.jsonl' group by all"
    """
    directory = RunDirectory.find(runs, run)
    loaded = load_run(directory)
    if form is None and output is not None:
        form = _form_of(output)
    if form is None:
        _show(loaded, by)
        return
    data = FORMATS[form](loaded)
    if output is None and form == "html":
        output = directory.path / "report.html"
    if output is None or str(output) == "-":
        sys.stdout.buffer.write(data)
        return
    write_file(output, data)
    click.echo(f"{output}: {len(data):,} bytes", err=True)


_SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".csv": "csv",
    ".xml": "junit",
    ".json": "json",
}


def _form_of(output: Path) -> str:
    form = _SUFFIXES.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(f"say which form {output} shall have: --format {'|'.join(FORMATS)}")
    return form


def _show(run: FinishedRun, by: str | None) -> None:
    console = Console()
    console.print(render(run.lines, by))
    told = f"{len(run.lines)} evaluations in {seconds(run.duration)}: {run.directory.path}"
    console.print(told, highlight=False, markup=False, soft_wrap=True)
    if run.remaining:
        console.print(f"{run.remaining} have no outcome yet", highlight=False)
