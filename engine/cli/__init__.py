"""The command line: one file a command, loaded only when that command is run.

A new command is a file `NAME.py` with a click command called NAME, and a row of `COMMANDS`.
"""

import importlib
import sys
import traceback
from collections.abc import Mapping
from typing import NoReturn

import click

from engine.errors import EngineError

COMMANDS: Mapping[str, str] = {
    "run": "Run manifests and stream verdicts.",
    "check": "Tell every mistake in manifests and in what they name.",
    "plan": "Show what would run.",
    "report": "Show a run, or write it as HTML, Markdown, CSV, JUnit XML or JSON.",
    "judge": "Judge a finished run again under another policy.",
    "compare": "Tell what changed between two runs, test by test.",
    "show": "Show one evaluation: verdict, tests, timings, how to repeat it.",
    "debug": "Open a shell where an evaluation ran, or run one test of it.",
    "doctor": "Tell what is missing here, and the command that mends it.",
    "clean": "Remove what runs left behind, and only what is ours.",
    "schema": "Print a JSON Schema.",
    "init": "Write a manifest for what is here.",
    "completion": "Print what makes a shell complete commands and options.",
}


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"engine.cli.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="scbench-engine", prog_name="scbench")
def cli() -> None:
    """Evaluate untrusted code in batches and stream verdicts that can be trusted.

    \b
    Example:
      scbench run manifests/quickstart.yaml
    """


def main() -> None:
    """Run a command; a user's mistake is told in its own words, never as a traceback."""
    try:
        cli.main(prog_name="scbench")
    except EngineError as error:
        _fail(error)
    except BaseExceptionGroup as group:
        # Raised inside a task group, where it travels in company.
        _, others = group.split(EngineError)
        if others is not None:
            _confess()
        _fail(_first(group))
    except Exception:  # noqa: BLE001
        # The outermost edge of all.
        _confess()


def _confess() -> NoReturn:
    traceback.print_exc()
    click.echo("scbench: this is a bug in scbench; please report it with the lines above", err=True)
    sys.exit(EngineError.exit_code)


def _fail(error: BaseException) -> NoReturn:
    click.echo(f"scbench: {error}", err=True)
    sys.exit(error.exit_code if isinstance(error, EngineError) else EngineError.exit_code)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
