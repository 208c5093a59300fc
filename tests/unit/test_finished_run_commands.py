from pathlib import Path

import msgspec
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from engine.cli import cli
from engine.cli.runs import find_id
from engine.cli.show import show
from engine.errors import UserError
from engine.events import ResultLine
from engine.results import Broken, BrokenKind, IntegrityWarning, Verdict
from engine.rundirectory import RunDirectory
from tests.madeup import Shape, made_up_lines, write_run
from tests.unit.test_comparison import HOSTILE, line_of, outcome


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run with a few evaluations."""
    lines = [line for line in made_up_lines(Shape()) if line.broken is None]
    return write_run(RunDirectory(path=tmp_path / "night", run_id="night"), lines)


def shown(directory: RunDirectory, *arguments: str) -> str:
    result = CliRunner().invoke(show, [*arguments, "--output", str(directory.path.parent)])
    assert result.exit_code == 0, result.output
    return result.output


def with_line(tmp_path: Path, line: ResultLine) -> RunDirectory:
    return write_run(RunDirectory(path=tmp_path / "one", run_id="one"), [line])


def test_an_evaluation_is_found_by_a_part_of_its_id(directory: RunDirectory) -> None:
    """A whole id, its beginning, anything in it or a pattern will do, where it fits only one."""
    name = "problem-01-checkpoint_1-model-2"
    for wanted in (name, "01-checkpoint_1-model-2", "problem-01*_1*-2"):
        assert find_id(directory, wanted) == name


def test_a_part_that_fits_several_is_refused(directory: RunDirectory) -> None:
    """The candidates are named."""
    with pytest.raises(UserError, match=r"fits several evaluations, say which one:\n  problem-01"):
        find_id(directory, "problem-01")


def test_what_is_not_there_has_neighbours(directory: RunDirectory) -> None:
    """A misspelt id is answered with ids that are near it."""
    with pytest.raises(UserError, match=r"has no evaluation problem-09[^\n]*\nThere are:\n  problem-0"):
        find_id(directory, "problem-09-checkpoint_1-model-1")


def test_show_tells_everything(tmp_path: Path) -> None:
    """Verdict, tests, messages, timings, attempts, integrity and how to repeat it are there."""
    line = msgspec.structs.replace(
        line_of("e", {}, "f00d"),
        verdict=Verdict.FAILED,
        tests=(outcome("test_a", "passed"), outcome("test_b[x y]", "failed", "E  assert 1 == 2")),
        timings={"prepare": 0.5, "run": 2.0},
        attempts=2,
        integrity=(IntegrityWarning(name="expected_unknown", detail="no list"),),
    )
    directory = with_line(tmp_path, line)
    told = shown(directory, "e")
    for part in (
        "failed p c model=aurora",
        "tests/test_c.py::test_a\n",
        "tests/test_c.py::test_b[x y]\nE  assert 1 == 2",
        "prepare 0.5 s, run 2.0 s",
        "attempts     2",
        "expected_unknown: no list",
        "f00d",
        f"scbench debug e --run {directory.path} --all-tests",
    ):
        assert part in told


def test_show_can_be_shorter(tmp_path: Path) -> None:
    """Only failing tests, or none, and no messages."""
    tests = (outcome("test_a", "passed"), outcome("test_b", "failed", "E  why"))
    directory = with_line(tmp_path, line_of("e", {}, tests=tests))
    failing = shown(directory, "e", "--tests", "failing")
    assert "::test_a" not in failing
    assert "::test_b" in failing
    nothing = shown(directory, "e", "--tests", "none", "--no-messages")
    assert "::test_b" not in nothing


def test_show_says_why_it_is_broken(tmp_path: Path) -> None:
    """A broken evaluation tells its kind, its fault and the whole detail."""
    broken = Broken.of(BrokenKind.SETUP_FAILED, "uv pip install\nno such package")
    told = shown(with_line(tmp_path, line_of("e", {}, broken=broken, verdict=Verdict.BROKEN)), "e")
    assert "setup_failed, fault of the submission\nuv pip install\nno such package" in told


def test_show_is_not_steered_by_a_submission(tmp_path: Path) -> None:
    """Names, messages, details and labels with control characters or markup are shown as they are."""
    line = line_of(
        "e",
        {},
        labels={"model": HOSTILE},
        tests=(outcome(HOSTILE, "failed", HOSTILE),),
        integrity=(IntegrityWarning(name="n", detail=HOSTILE),),
        broken=Broken.of(BrokenKind.SETUP_FAILED, HOSTILE),
    )
    told = shown(with_line(tmp_path, line), "e")
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert told.count("<script>alert(1)</script>|`\\x1b[2J\\u202e") == 6
    assert told.count("[bold]") == 6


def test_shells_complete_runs_and_evaluations(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `--run` come the runs, and after `show` the evaluations of the run that was named."""
    (directory.path.parent / "runs").mkdir()
    directory.path.rename(directory.path.parent / "runs" / "night")
    monkeypatch.chdir(directory.path.parent)
    shell = ShellComplete(cli, {}, "scbench", "_SCBENCH_COMPLETE")

    def offered(arguments: list[str], typed: str) -> list[str]:
        return [item.value for item in shell.get_completions(arguments, typed)]

    assert offered([], "com") == ["compare", "completion"]
    assert offered(["show", "--run"], "") == ["last", "night"]
    assert "problem-01-checkpoint_1-model-2" in offered(["show", "--run", "night"], "problem-01")
    assert offered(["compare"], "n") == ["night"]
    assert "--as" in offered(["debug"], "--")
