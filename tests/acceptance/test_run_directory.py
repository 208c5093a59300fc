"""An SCBench run directory with its own environment file, through the real command, in Docker."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROBLEMS = Path(__file__).parents[2] / "problems"
SCBENCH = Path(sys.executable).parent / "scbench"

ENVIRONMENT = """\
type: docker
docker: {{image: "{image}", workdir: /workspace}}
setup: {{eval_commands: ["uv venv", "uv pip install -r requirements.txt"]}}
commands: {{entry_file: "{{entry_file}}.py", command: uv run}}
"""
PROJECT = """\
[project]
name = "submission"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["jinja2>=3.1,<4", "markdown>=3.5,<4"]
"""

pytestmark = pytest.mark.docker


def evaluate(folder: Path, image: str) -> dict[str, str]:
    """Run a run directory and return the verdict of each problem."""
    (folder / "environment.yaml").write_text(ENVIRONMENT.format(image=image))
    command = f"{SCBENCH} run {folder} --problems {PROBLEMS} --output {folder.parent} --jsonl - --quiet"
    done = subprocess.run(command.split(), stdout=subprocess.PIPE, check=True, timeout=240)
    lines = map(json.loads, done.stdout.splitlines())
    return {line["problem_name"]: line["verdict"] for line in lines}


def test_uv_run_outside_a_project(tmp_path: Path, image: str) -> None:
    """`uv run` starts a plain script without a word of its own, so that tests see only the submission."""
    shutil.copytree(PROBLEMS / "ledger/solutions/checkpoint_1", tmp_path / "run/ledger/checkpoint_1/snapshot")
    assert evaluate(tmp_path / "run", image) == {"ledger": "passed"}


def test_uv_run_in_a_project(tmp_path: Path, image: str) -> None:
    """What `uv run` would install at its first start is there, though the tests have no network."""
    snapshot = tmp_path / "run/pagemill/checkpoint_1/snapshot"
    shutil.copytree(PROBLEMS / "pagemill/solutions/checkpoint_1", snapshot)
    (snapshot / "pyproject.toml").write_text(PROJECT)
    (snapshot / "requirements.txt").write_text("# in pyproject.toml\n")
    assert evaluate(tmp_path / "run", image) == {"pagemill": "passed"}
