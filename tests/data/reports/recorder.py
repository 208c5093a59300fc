"""A pytest plugin that writes down what the grader's own plugin would send over the channel."""

import importlib
import json
import os
from pathlib import Path

import pytest

# By name, because what stands in for the grader's line here is not of its type.
frames = importlib.import_module("engine.inside.frames")
grader = importlib.import_module("engine.inside.grader")

NAMES = {frames.COLLECTED: "collected", frames.TEST: "phase", grader.LIMIT: "limit"}


class Line:
    """Stands where the grader has its pipes."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.owner = os.getpid()

    def say(self, kind: bytes, value: object = None) -> None:
        """Write one line and leave nothing in a buffer, so that the end of the process loses nothing."""
        if kind in NAMES and os.getpid() == self.owner:
            with self.path.open("a") as out:
                out.write(json.dumps([NAMES[kind], value]) + "\n")

    def wait(self) -> None:
        """Nothing else is running that would have to end first."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the grader's plugins."""
    line = Line(os.environ["CHANNEL"])
    config.pluginmanager.register(grader.Reporter(line))
    config.pluginmanager.register(grader.guard_session(line))
