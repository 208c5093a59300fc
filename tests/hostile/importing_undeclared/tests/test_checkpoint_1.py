"""Tests that import the submission; SECRET is there to be looked for."""

import importlib.util
from pathlib import Path

SECRET = "nobody-may-read-module-0a6fd27b41"
specification = importlib.util.spec_from_file_location("main", Path.cwd() / "main.py")
assert specification is not None
assert specification.loader is not None
main = importlib.util.module_from_spec(specification)
specification.loader.exec_module(main)


def test_doubles() -> None:
    assert main.double(21) == 42
