"""A test that hands over a file of its own folder; SECRET is there to be looked for."""

import subprocess
from collections.abc import Callable
from pathlib import Path

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
SECRET = "nobody-may-read-module-0a6fd27b41"
DATA = Path(__file__).parent / "data"


def test_sorts_what_it_is_handed(tool: Tool, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    assert tool(DATA / "given.txt", out).returncode == 0
    assert out.read_text() == (DATA / "expected.txt").read_text()
