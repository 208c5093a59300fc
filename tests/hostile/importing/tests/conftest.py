"""Options, and the fixture that starts the tool."""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

# Only here to be found by those who should not: tests look for it in everything that comes out.
SECRET = "nobody-may-read-conftest-93c4d1a8e6"

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--entrypoint", default="python main.py", help="command that runs the submission")
    parser.addoption("--checkpoint", default="checkpoint_1", help="name of the current checkpoint")


@pytest.fixture(scope="session")
def workspace() -> Path:
    """The folder with the submission."""
    return Path.cwd()


@pytest.fixture
def tool(request: pytest.FixtureRequest, workspace: Path) -> Tool:
    """Start the tool with these arguments."""
    command = shlex.split(request.config.getoption("--entrypoint"))

    def run(*arguments: object, standard_input: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *map(str, arguments)],
            input=standard_input,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            cwd=workspace,
            check=False,
        )

    return run


@pytest.fixture
def words() -> Path:
    """The static asset."""
    return Path(os.environ.get("SCBENCH_ASSET_WORDS") or Path(__file__).parent / "assets" / "words")
