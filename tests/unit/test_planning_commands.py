"""`plan`, `check` and `init`, through their commands."""

import json
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from engine.cli.check import check
from engine.cli.init import init
from engine.cli.plan import plan
from engine.cli.schema import schema
from engine.errors import UserError

DATA = Path(__file__).parents[1] / "data" / "manifests"
SUBMISSIONS = f"{DATA}/submissions/{{model}}/{{problem}}/{{checkpoint}}"
MANIFEST = f"version: 1\nproblems: {DATA}/problems\nsubmissions:\n  - path: {SUBMISSIONS}\n"


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A manifest in a folder of its own, which is where we are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MANIFEST + "timeouts: {session: 2m}\n")
    return "m.yaml"


def test_plan_shows_what_would_run(manifest: str) -> None:
    """Rows by problem and checkpoint, counts by label, and what must be prepared."""
    result = CliRunner().invoke(plan, [manifest], catch_exceptions=False)
    words = [line.split() for line in result.stdout.splitlines()]
    assert ["greet", "checkpoint_1", "default", "2"] in words
    assert "model: ada (3), bob (1)" in result.stdout
    assert "4 evaluations, 0 answered from the store" in result.stdout
    assert "1 test toolchains, 0 environments" in result.stdout


def test_plan_explains_where_values_came_from(manifest: str) -> None:
    """A place in a file for what is written, `default` for the rest."""
    result = CliRunner().invoke(plan, ["--explain", manifest], catch_exceptions=False)
    words = [line.split() for line in result.stdout.splitlines()]
    assert ["timeouts.session", "2m", "m.yaml:5"] in words
    assert ["timeouts.setup", "5m", "default"] in words


def test_plan_is_read_by_programs(manifest: str) -> None:
    """One JSON document with the settings, where they came from, and every evaluation."""
    arguments = ["--format", "json", "--select", "greet/*/ada", manifest]
    told = json.loads(CliRunner().invoke(plan, arguments, catch_exceptions=False).stdout)
    assert [one["checkpoint_name"] for one in told["evaluations"]] == ["checkpoint_1", "checkpoint_2"]
    assert told["evaluations"][0]["limits"]["session"] == 120
    assert told["policy"] == "core-cases"


def test_plan_counts_equal_environments_once(manifest: str, tmp_path: Path) -> None:
    """Submissions with equal requirements share what is prepared; unclear ones have their own."""
    shutil.copytree(DATA / "submissions", tmp_path / "subs")
    for number, folder in enumerate(sorted((tmp_path / "subs").glob("*/*/*"))):
        (folder / "requirements.txt").write_text("click\n" if number else "rich\n")
    text = MANIFEST.replace(f"{DATA}/submissions", "subs")
    Path(manifest).write_text(text + "environment: {setup: [uv pip install -r requirements.txt]}\n")
    assert "2 environments" in CliRunner().invoke(plan, [manifest], catch_exceptions=False).stdout
    Path(manifest).write_text(text + "environment: {setup: [make]}\n")
    result = CliRunner().invoke(plan, [manifest], catch_exceptions=False)
    assert "4 submissions are prepared one by one" in result.stdout


def test_check_says_that_all_is_fine(manifest: str) -> None:
    """And how much that is."""
    result = CliRunner().invoke(check, [manifest], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, "m.yaml: fine; 4 evaluations of 2 problems\n")


def test_check_reads_standard_input(manifest: str) -> None:
    """A manifest may come from another program."""
    result = CliRunner().invoke(check, ["-"], input=Path(manifest).read_text(), catch_exceptions=False)
    assert result.stdout == "-: fine; 4 evaluations of 2 problems\n"


def run_directory(top: Path) -> Path:
    """Lay out an SCBench run directory with its environment."""
    for source in (DATA / "submissions" / "ada").glob("*/*"):
        shutil.copytree(source, top / "run" / source.parent.name / source.name / "snapshot")
    (top / "run" / "environment.yaml").write_text("type: docker\ndocker: {image: x, user: me}\n")
    return top / "run"


def test_a_run_directory_is_checked_without_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own environment is used, and what of it is not followed is a warning."""
    monkeypatch.chdir(tmp_path)
    run_directory(tmp_path)
    arguments = ["--problems", str(DATA / "problems"), "run"]
    result = CliRunner().invoke(check, arguments, catch_exceptions=False)
    assert result.stdout.splitlines() == [
        "warning: `docker.user: me` is not followed: each slot has a user of its own",
        "run: fine; 3 evaluations of 2 problems",
    ]


@pytest.mark.parametrize("with_run", [True, False])
def test_init_writes_a_manifest_that_passes_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_run: bool
) -> None:
    """It finds problems and submissions, with a run directory's environment where there is one."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA / "problems", tmp_path / "bench" / "problems")
    if with_run:
        run_directory(tmp_path)
    else:
        run_directory(tmp_path / "outputs")
        (tmp_path / "outputs" / "run" / "environment.yaml").unlink()
    assert CliRunner().invoke(init, ["made/mine.yaml"], catch_exceptions=False).exit_code == 0
    result = CliRunner().invoke(check, ["made/mine.yaml"], catch_exceptions=False)
    assert result.stdout.splitlines()[-1] == "made/mine.yaml: fine; 3 evaluations of 2 problems"
    assert Path("made/mine.schema.json").is_file()
    assert ("environment.yaml" in Path("made/mine.yaml").read_text()) is with_run


def test_init_does_not_overwrite(manifest: str) -> None:
    """What is there stays unless one insists."""
    with pytest.raises(UserError, match="exists already"):
        CliRunner().invoke(init, [manifest], catch_exceptions=False)
    assert CliRunner().invoke(init, ["--force", manifest], catch_exceptions=False).exit_code == 0


@pytest.mark.parametrize("command", [check, plan, init, schema])
def test_help_has_examples_on_lines_of_their_own(command: click.Command) -> None:
    """Whoever asks for help sees calls that can be copied."""
    lines = CliRunner().invoke(command, ["--help"]).stdout.splitlines()
    examples = lines[lines.index("  Example:") + 1 :]
    assert examples[0].startswith(f"    scbench {command.name}")
