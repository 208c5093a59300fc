"""Options and fixtures shared by the tests of all checkpoints."""

import os
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

MARKERS = {
    "error": "error handling",
    "functionality": "nice to have",
    "regression": "tests of earlier parts",
    "rounding": "exact arithmetic and rounding half to even",
}


def pytest_addoption(parser):
    parser.addoption("--entrypoint", default="python main.py", help="command that runs the submission")
    parser.addoption("--checkpoint", default="checkpoint_1", help="name of the current checkpoint")


def pytest_configure(config):
    for name, description in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {description}")


class Ledger:
    """Starts the tool, in the current folder, with a journal below a private folder."""

    def __init__(self, entrypoint, folder):
        self.command = shlex.split(entrypoint)
        self.folder = folder
        self.journal = folder / "main.journal"

    def write(self, text, name="main.journal"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8", newline="\n")
        return path

    def start(self, *args, timeout=10):
        """Start the tool with exactly these arguments."""
        return subprocess.run(
            [*self.command, *map(str, args)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONUTF8": "1"},
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )

    def __call__(self, command, *args, file=None, timeout=10):
        """The output of a command that must succeed."""
        result = self.start(command, "--file", file or self.journal, *args, timeout=timeout)
        assert result.stderr == ""
        assert result.returncode == 0
        return result.stdout

    def error(self, *args, file=None):
        """The message of a command that must fail because of what it read."""
        command, *rest = args or ["check"]
        result = self.start(command, "--file", file or self.journal, *rest)
        assert result.returncode == 1, result.stderr
        assert result.stdout == ""
        assert result.stderr.endswith("\n")
        return result.stderr.removesuffix("\n")

    def usage_error(self, *args):
        """The command must fail because of its arguments."""
        result = self.start(*args)
        assert result.returncode == 2, result.stderr
        assert result.stdout == ""
        assert result.stderr.strip()
        assert "Traceback" not in result.stderr


@pytest.fixture
def ledger(request, tmp_path):
    return Ledger(request.config.getoption("--entrypoint"), tmp_path)


@pytest.fixture(scope="session")
def assets():
    """The folder with the static assets: the engine's, else the problem's own."""
    given = os.environ.get("SCBENCH_ASSETS_DIR")
    return Path(given) if given else Path(__file__).resolve().parent.parent / "assets"


@pytest.fixture(scope="session")
def expected(assets):
    return lambda name: (assets / "expected" / name).read_text(encoding="utf-8")
