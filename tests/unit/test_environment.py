"""Environments in both forms."""

from pathlib import Path

import pytest

from engine.environment import EnvironmentSpec, entry_command
from engine.environmentfile import load_environment
from engine.errors import DocumentError


def environment(folder: Path, text: str) -> EnvironmentSpec:
    """Write an environment and load it."""
    (folder / "env.yaml").write_text(text, "utf-8")
    return load_environment(folder / "env.yaml")


SCBENCH = """
type: docker
name: python3.12
docker:
  image: ghcr.io/astral-sh/uv:python3.12
  workdir: /workspace
  network: host
  user: "1000"
environment:
  env: {PYTHONUNBUFFERED: 1}
setup:
  commands: [uv init --bare]
  eval_commands: [uv add -r requirements.txt]
commands:
  entry_file: "{entry_file}.py"
  command: uv run
  agent_file: "{entry_file}.py"
"""


def test_the_native_form(tmp_path: Path) -> None:
    """Everything that is said is in the value, and everything else has its default."""
    loaded = environment(
        tmp_path,
        "image: x:1\nsetup:\n  - uv sync\n  - {run: make, inputs: [Makefile]}\n"
        "env: {PORT: 8080, V: 1.10}\nresources: {memory: 1GiB, cpus: 2}\nruntime: runsc\n",
    )
    assert loaded.name == "env"
    assert [(one.run, one.inputs) for one in loaded.setup] == [("uv sync", None), ("make", ("Makefile",))]
    assert loaded.env == (("PORT", "8080"), ("V", "1.10"))
    assert (loaded.resources.memory, loaded.resources.cpus, loaded.resources.pids) == (1 << 30, 2.0, 256)
    assert (loaded.network, loaded.hide_tests, loaded.runtime) == ("none", "modules", "runsc")


def test_the_scbench_form(tmp_path: Path) -> None:
    """Set-up commands run in order, and the entry command is put together from the template."""
    loaded = environment(tmp_path, SCBENCH)
    assert loaded.name == "python3.12"
    assert [one.run for one in loaded.setup] == ["uv init --bare", "uv add -r requirements.txt"]
    assert loaded.env == (("PYTHONUNBUFFERED", "1"),)
    assert entry_command(loaded, "main") == "uv run main.py"


def test_what_the_scbench_form_says_and_the_engine_does_not_follow_is_a_warning(tmp_path: Path) -> None:
    """User, network and unknown keys are told; tests still run without a network."""
    loaded = environment(tmp_path, SCBENCH)
    assert loaded.network == "none"
    assert [
        word for word in ("docker.user", "docker.network", "agent_file") if word in str(loaded.warnings)
    ] == [
        "docker.user",
        "docker.network",
        "agent_file",
    ]
    assert len(loaded.warnings) == 3


@pytest.mark.parametrize(
    ("entry_file", "command"),
    [("main.py", "python main.py"), ("main", "python main.py"), ("bin/tool.sh", "python bin/tool.sh")],
)
def test_natively_an_entry_file_without_a_suffix_gets_one(entry_file: str, command: str) -> None:
    """A suffix that is written stays."""
    assert entry_command(EnvironmentSpec(), entry_file) == command


@pytest.mark.parametrize("entry_file", ["main", "main.py"])
def test_a_suffix_is_never_doubled(tmp_path: Path, entry_file: str) -> None:
    """Problems that write the suffix themselves work with SCBench's templates."""
    assert entry_command(environment(tmp_path, SCBENCH), entry_file) == "uv run main.py"


def test_a_writable_mount_is_refused(tmp_path: Path) -> None:
    """No environment can give a submission a folder of the host to write into."""
    with pytest.raises(DocumentError, match="would be writable by the submission"):
        environment(
            tmp_path, "type: docker\ndocker: {image: x, extra_mounts: {/data: {bind: /d, mode: rw}}}\n"
        )
