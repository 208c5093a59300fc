"""What the commands about finished runs have in common: finding a run, and one evaluation in it."""

import difflib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import click
import msgspec
from click.shell_completion import CompletionItem

from engine.errors import UserError
from engine.evaluation import Evaluation
from engine.events import ResultLine, decode_result
from engine.rundirectory import RunDirectory
from engine.views.text import one_line

# As many candidates as are told when a name fits several.
MOST_TOLD = 10


def output_option(command: Callable[..., object]) -> Callable[..., object]:
    """Add --output, the folder that runs are kept in."""
    return click.option(
        "--output",
        type=click.Path(path_type=Path),
        default=Path("runs"),
        metavar="DIR",
        help="Where runs are kept.",
    )(command)


def run_option(command: Callable[..., object]) -> Callable[..., object]:
    """Add --run, a run by id or folder."""
    option = click.option(
        "--run",
        default="last",
        metavar="RUN",
        help="The run, by id or folder; default: the last one.",
        shell_complete=complete_runs,
    )
    return option(command)


def find_id(directory: RunDirectory, wanted: str) -> str:
    """Return the one evaluation whose id is, begins with, contains or fits what was asked for."""
    ids = sorted(path.name for path in (directory.path / "evaluations").glob("*"))
    rules: tuple[Callable[[str], bool], ...] = (
        lambda one: one == wanted,
        lambda one: one.startswith(wanted),
        lambda one: wanted in one,
        lambda one: fnmatchcase(one, wanted),
    )
    for rule in rules:
        found = [one for one in ids if rule(one)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"{one_line(wanted)} fits several evaluations, say which one:\n{_told(found)}")
    near = difflib.get_close_matches(wanted, ids, n=MOST_TOLD, cutoff=0.4) or ids
    there = f"There are:\n{_told(near)}" if near else "It has none."
    raise UserError(f"run {directory.run_id} has no evaluation {one_line(wanted)}\n{there}")


def read_result(directory: RunDirectory, evaluation_id: str) -> ResultLine:
    """Read everything that is known of one evaluation."""
    path = directory.evaluation(evaluation_id) / "evaluation.json"
    try:
        return decode_result(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an `evaluation.json` that says how to repeat it."""

    request: Evaluation


def read_request(directory: RunDirectory, evaluation_id: str) -> Evaluation:
    """Read an evaluation as it was asked for."""
    path = directory.evaluation(evaluation_id) / "evaluation.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept).request
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: cannot be read: {error}\nRun it again, and debug the evaluation of the new run."
        ) from error


def complete_runs(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Offer the runs that there are, newest first."""
    found = sorted(_output(context).glob("*/events.jsonl"), key=lambda path: -path.stat().st_mtime)
    names = ["last", *(path.parent.name for path in found)]
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def complete_ids(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Offer the evaluations of the run that was named, or of the last one."""
    try:
        directory = RunDirectory.find(_output(context), context.params.get("run") or "last")
    except UserError:
        return []
    names = (path.name for path in (directory.path / "evaluations").glob(f"{typed}*"))
    return [CompletionItem(name) for name in sorted(names)]


def _output(context: click.Context) -> Path:
    return Path(context.params.get("output") or "runs")


def _told(names: Iterable[str]) -> str:
    names = list(names)
    more = [f"  and {len(names) - MOST_TOLD} more"] if len(names) > MOST_TOLD else []
    return "\n".join([*(f"  {one_line(name)}" for name in names[:MOST_TOLD]), *more])
