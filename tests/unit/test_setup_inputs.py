"""Which files a set-up command depends on."""

from pathlib import Path

import pytest

from engine.environment import SetupCommand
from engine.setupinputs import input_files


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """A submission with requirement files that refer to each other."""
    (tmp_path / "requirements.txt").write_text(
        "click>=8 # a\n-r more/base.txt\nrich[x]==1; python_version > '3'\n"
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "base.txt").write_text("-c pins.txt\n--requirement=../requirements.txt\n")
    (tmp_path / "more" / "pins.txt").write_text("anyio==4.1 \\\n  --hash=sha256:00\n")
    (tmp_path / "local.txt").write_text("./package\n")
    (tmp_path / "editable.txt").write_text("-e .\n")
    (tmp_path / "main.py").touch()
    return tmp_path


ALL = ("more/base.txt", "more/pins.txt", "requirements.txt")


@pytest.mark.parametrize(
    "command",
    [
        "uv add -r requirements.txt",
        "uv pip install -r requirements.txt",
        "uv pip install --quiet --requirement=requirements.txt requests",
        "pip install -r requirements.txt",
        "python -m pip install -rrequirements.txt",
    ],
)
def test_plain_commands_say_their_inputs(submission: Path, command: str) -> None:
    """The requirement file and all that it refers to, round in circles or not, are the inputs."""
    assert input_files(SetupCommand(run=command), submission) == ALL


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "uv pip install -r requirements.txt && python build.py",
        "pip install -r $FILE",
        "pip install .",
        "pip install -e .",
        "pip install requests",
        "uv pip install -r local.txt",
        "uv pip install -r editable.txt",
        "uv pip install -r ../requirements.txt",
        "uv pip install -r linked.txt",
        "X=1 uv sync",
        "uv sync --python /opt/python",
        'uv add "unclosed',
    ],
)
def test_everything_else_depends_on_the_whole_submission(submission: Path, command: str) -> None:
    """What is not plainly one of the known commands might read any file."""
    (submission / "linked.txt").symlink_to("requirements.txt")
    assert input_files(SetupCommand(run=command), submission) is None


def test_uv_sync_depends_on_the_project_files(submission: Path) -> None:
    """They are its inputs, unless the project would be built from the other files."""
    project = submission / "pyproject.toml"
    project.write_text('[project]\nname = "x"\n')
    (submission / "uv.lock").touch()
    assert input_files(SetupCommand(run="uv sync"), submission) == ("pyproject.toml", "uv.lock")
    project.write_text('[build-system]\nrequires = ["hatchling"]\n')
    assert input_files(SetupCommand(run="uv sync"), submission) is None


def test_declared_inputs_are_taken_as_they_are(submission: Path) -> None:
    """Globs and folders stand for the files in them; a file that is missing stays in the list."""
    command = SetupCommand(run="make", inputs=("*.txt", "more", "Makefile"))
    assert input_files(command, submission) == (
        "Makefile",
        "editable.txt",
        "local.txt",
        "more/base.txt",
        "more/pins.txt",
        "requirements.txt",
    )
