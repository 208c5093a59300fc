"""Options and fixtures for the tests of pagemill."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# The helper module is found in every import mode of pytest, also in `importlib`, which adds no path.
if (HERE := str(Path(__file__).parent)) not in sys.path:
    sys.path.insert(0, HERE)

from sitekit import Pagemill, write_site

MARKERS = {
    "error": "error-handling / edge-case tests",
    "functionality": "non-core / nice-to-have tests",
    "regression": "regression tests from prior checkpoints",
    "encoding": "files are UTF-8, whatever the locale says",
}


def pytest_addoption(parser):
    parser.addoption("--entrypoint", default="python main.py", help="command that runs the submission")
    parser.addoption("--checkpoint", default=None, help="name of the checkpoint that is judged")


def pytest_configure(config):
    for name, description in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {description}")


@pytest.fixture(scope="session", autouse=True)
def clean_environment(session_mocker):
    """No setting of the machine reaches the program; what tests change is undone at the end."""
    session_mocker.patch.dict(os.environ)
    os.environ.pop("PAGEMILL_BASE_URL", None)


@pytest.fixture(scope="session")
def pagemill(request):
    return Pagemill(request.config.getoption("--entrypoint"))


@pytest.fixture
def output(tmp_path):
    return tmp_path / "output"


@pytest.fixture
def build(pagemill, tmp_path, output):
    """Write a site from a mapping of names to contents, and build it."""

    def write_and_build(files, *options):
        return pagemill.build(write_site(tmp_path / "site", files), output, *options)

    return write_and_build


@pytest.fixture
def environ(mocker):
    """Set environment variables for one test."""

    def change(**values):
        mocker.patch.dict(os.environ, values)

    return change
