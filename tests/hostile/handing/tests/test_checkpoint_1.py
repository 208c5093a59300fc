"""A test that hands over a file of its own folder; SECRET is there to be looked for."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
SECRET = "nobody-may-read-module-0a6fd27b41"
DATA = Path(__file__).parent / "data"


def test_sorts_what_it_is_handed(tool: Tool, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    assert tool(DATA / "given.txt", out).returncode == 0
    assert out.read_text() == (DATA / "expected.txt").read_text()


@pytest.mark.functionality
def test_leaves_no_spoils(workspace: Path) -> None:
    spoils = workspace / "spoils.txt"
    found = spoils.read_text(errors="replace")[:20_000] if spoils.is_file() else ""
    assert found == ""
