"""`scbench check`: tell what is wrong with manifests and with what they name."""

from pathlib import Path

import click
import msgspec

from engine.cli.sources import Sources, source_options
from engine.errors import DocumentError, Place
from engine.evaluation import Evaluation
from engine.plan import walk_plan
from engine.problem import load_problem


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `--format json` prints."""

    valid: bool
    mistakes: tuple[Place, ...] = ()
    warnings: tuple[str, ...] = ()
    evaluations: int = 0
    problems: int = 0


@click.command()
@source_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="For people or tools."
)
@click.pass_context
def check(context: click.Context, sources: Sources, form: str) -> None:
    """Check manifests and all that they name, and tell every mistake at once.

    \b
    Example:
      scbench check manifests/quickstart.yaml
      scbench check --problems problems outputs/my-run
    """
    report = examine(sources)
    click.echo(msgspec.json.format(msgspec.json.encode(report)) if form == "json" else _told(sources, report))
    context.exit(0 if report.valid else DocumentError.exit_code)


def examine(sources: Sources) -> Report:
    """Find everything that is wrong with manifests and with what they name."""
    try:
        manifest, places = sources.load_what_fits()
    except DocumentError as error:
        manifest, places = None, error.places
    mistakes, count, paths = list(places), 0, set[str]()
    for item in walk_plan(manifest) if manifest else ():
        if isinstance(item, Evaluation):
            count += 1
            paths.add(item.problem_path)
        else:
            mistakes.append(item)
    warnings = [warning for path in sorted(paths) for warning in load_problem(Path(path)).warnings]
    return Report(
        valid=not mistakes,
        mistakes=tuple(dict.fromkeys(mistakes)),
        warnings=(*(manifest.warnings if manifest else ()), *warnings),
        evaluations=count,
        problems=len(paths),
    )


def _told(sources: Sources, report: Report) -> str:
    lines = [*map(str, report.mistakes), *(f"warning: {warning}" for warning in report.warnings)]
    if report.valid:
        names = ", ".join(map(str, sources.manifests))
        lines.append(f"{names}: fine; {report.evaluations} evaluations of {report.problems} problems")
    else:
        count = len(report.mistakes)
        lines.append(f"{count} mistake{'s' if count > 1 else ''}")
    return "\n".join(lines)
