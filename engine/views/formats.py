"""The forms of a report by name. A new one is a module with `render` and a row of `FORMATS`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.errors import OutputUnwritable
from engine.rundirectory import RunDirectory
from engine.views import csv, html, jsonview, junit, markdown
from engine.views.run import FinishedRun, load_run

FORMATS: Mapping[str, Callable[[FinishedRun], bytes]] = {
    "html": html.render,
    "markdown": markdown.render,
    "csv": csv.render,
    "junit": junit.render,
    "json": jsonview.render,
}


def write_report(directory: RunDirectory) -> Path:
    """Write report.html into the folder of a run and return where it is. Blocks."""
    target = directory.path / "report.html"
    write_file(target, html.render(load_run(directory)))
    return target


def write_file(target: Path, data: bytes) -> None:
    """Write a file, complete or not at all."""
    temporary = target.with_name(f"{target.name}.partial")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    except OSError as error:
        raise OutputUnwritable(str(target), error) from error
