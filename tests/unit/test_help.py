import re
import shlex
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from engine.cli import COMMANDS, cli


def command_named(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    """`--help` says what a command does, and shows it."""
    result = CliRunner().invoke(cli, [name, "--help"], prog_name="scbench")
    assert result.exit_code == 0
    assert "Example:" in result.output
    assert f"scbench {name}" in result.output.partition("Example:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_use_options_that_exist(name: str) -> None:
    """An example that is pasted is understood."""
    command = command_named(name)
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    example = (command.help or "").partition("Example:")[2]
    for line in re.findall(rf"scbench {name} ([^|>\n)]*)", example):
        words = shlex.split(line.partition(" -- ")[0])
        assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    """No option is without a word of help."""
    options = [one for one in command_named(name).params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


def test_the_list_of_commands_says_what_each_command_says() -> None:
    """`scbench --help` names every command without importing any of them."""
    program = """
import sys
from engine.cli import cli
cli.main(["--help"], standalone_mode=False)
assert not [name for name in sys.modules if name.startswith("engine.cli.")]
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    for name in COMMANDS:
        assert f"\n  {name} " in told


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    """The script of each shell calls scbench back for candidates."""
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_SCBENCH_COMPLETE={shell}_complete" in result.output
