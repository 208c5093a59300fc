"""The real `scbench` command, as a user starts it."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROGRAM = Path(sys.executable).parent / "scbench"
PATIENCE = 900


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a command: this one's, without colours."""
    return os.environ | {"NO_COLOR": "1", "COLUMNS": "200"} | changes


def scbench(*arguments: str | Path, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=cwd,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def start(*arguments: str | Path, cwd: Path, **changes: str) -> subprocess.Popen[str]:
    """Start a command in a session of its own."""
    return subprocess.Popen(
        [PROGRAM, *arguments],
        cwd=cwd,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@contextlib.contextmanager
def started(*arguments: str | Path, cwd: Path, **changes: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and see that it is over in the end, whatever the test does."""
    with start(*arguments, cwd=cwd, **changes) as process:
        try:
            yield process
        finally:
            process.kill()
