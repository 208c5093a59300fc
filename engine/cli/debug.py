"""`scbench debug`: the place where an evaluation ran, once more, with a person in it."""

import signal
import sys
from pathlib import Path
from typing import Literal

import anyio
import click
import msgspec
from rich.console import Console
from rich.text import Text

from engine.boardview import COLOURS
from engine.cli.runs import complete_ids, find_id, output_option, read_request, read_result, run_option
from engine.errors import SandboxUnavailable, UserError
from engine.evaluation import Evaluation
from engine.events import ResultLine
from engine.grading import judge
from engine.problem import load_problem
from engine.results import Broken
from engine.rundirectory import RunDirectory
from engine.runner import PytestRunner, Workshop
from engine.sandbox import Shell
from engine.sandbox.choice import open_sandbox
from engine.views.text import visible


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What to do inside."""

    run: str
    output: Path
    role: Literal["grader", "submission"]
    tests: tuple[str, ...]
    all_tests: bool
    command: tuple[str, ...]


@click.command()
@click.argument("evaluation_id", metavar="ID", shell_complete=complete_ids)
@click.argument("command", nargs=-1, metavar="[COMMAND]...")
@run_option
@output_option
@click.option(
    "--as", "role", type=click.Choice(["submission", "grader"]), default="submission", help="Whose rights."
)
@click.option("--test", "tests", multiple=True, metavar="NODEID", help="Run this test instead of a shell.")
@click.option("--all-tests", is_flag=True, help="Run all tests instead of a shell.")
def debug(evaluation_id: str, **given: object) -> None:
    """Open a shell where an evaluation ran: the same container, prepared and laid out the same way.

    As `submission` the shell can do what the submission could; as `grader` it can also read the tests, and
    `run-tests` runs them. Nothing of it is recorded, and the container is gone afterwards.

    \b
    Example:
      scbench debug ledger-checkpoint_1-aurora
      scbench debug ledger-checkpoint_1-aurora --as grader
      scbench debug ledger-checkpoint_1-aurora --test 'tests/test_checkpoint_1.py::test_balance'
      scbench debug ledger-checkpoint_1-aurora -- python main.py --help
    """
    options = msgspec.convert(given, Options)
    directory = RunDirectory.find(options.output, options.run)
    name = find_id(directory, evaluation_id)
    evaluation = read_request(directory, name)
    tests = _node_ids(options.tests, read_result(directory, name))
    # Ctrl-C is for whatever has the terminal.
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.exit(anyio.run(_debug, evaluation, options, tests))


def _node_ids(wanted: tuple[str, ...], line: ResultLine) -> tuple[str, ...]:
    """Find tests by node id or by any part of one."""
    there = [f"{test.file_path}::{test.id}" for test in line.tests or ()]
    found: list[str] = []
    for name in wanted:
        fitting = [one for one in there if one == name] or [one for one in there if name in one]
        if not fitting and there:
            raise UserError(f"{name}: no test of {line.id} has this in its node id")
        found += fitting or [name]
    return tuple(dict.fromkeys(found))


async def _debug(evaluation: Evaluation, options: Options, tests: tuple[str, ...]) -> int:
    problem = load_problem(Path(evaluation.problem_path))
    checkpoint = problem.checkpoint(evaluation.checkpoint)
    submission = Path(evaluation.submission)
    runner = PytestRunner(problem, checkpoint, evaluation.environment, submission, evaluation.limits)
    async with open_sandbox(evaluation.environment.sandbox) as sandbox:
        workshop = Workshop.of(sandbox)
        if tests or options.all_tests:
            return await _run_tests(runner, workshop, tests)
        ended = await runner.shell(workshop, Shell(role=options.role, command=options.command))
    if isinstance(ended, Broken):
        raise SandboxUnavailable(f"{ended.kind}: {visible(ended.detail)}")
    return ended


async def _run_tests(runner: PytestRunner, workshop: Workshop, only: tuple[str, ...]) -> int:
    """Run tests in the very way in which an evaluation does, and show what pytest said."""
    evaluated = await runner.evaluate(workshop, evaluation_id="debug", only=only)
    results = evaluated.results
    console = Console(highlight=False, soft_wrap=True)
    for output in (evaluated.stdout, evaluated.stderr):
        console.print(Text(visible(output.text())))
    if results.broken is not None:
        console.print(Text(f"{results.broken.kind}: {visible(results.broken.detail)}", style="yellow"))
        return 3
    if not only:
        verdict = judge(results, "all-cases")
        console.print(Text(f"{verdict} by policy all-cases", style=COLOURS[verdict]))
    return 0 if all(test.status in ("passed", "skipped") for test in results.tests) else 1
