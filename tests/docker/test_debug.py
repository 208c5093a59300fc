import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.environment import SandboxName
from engine.evaluation import Evaluation
from engine.events import ResultLine
from engine.results import GroupType, TestResult, Verdict
from engine.rundirectory import RunDirectory
from tests.docker.tiny import GREETS, HELLO, QUICK, SMALL, Bench
from tests.madeup import write_run

SCBENCH = str(Path(sys.executable).with_name("scbench"))
SECRET = "# nobody but the grader reads this\n"
TESTS = f"{SECRET}{GREETS}\n\ndef test_other():\n    assert 1 == 2\n"

Debug = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.docker


@pytest.fixture(params=["docker", "local"])
def sandbox_name(request: pytest.FixtureRequest) -> SandboxName:
    """Each sandbox in turn."""
    name: SandboxName = request.param
    return name


@pytest.fixture
def debug(bench: Bench, image: str, sandbox_name: SandboxName, tmp_path: Path) -> Debug:
    """Run `scbench debug` on an evaluation that a run has recorded."""
    problem = bench.problem(TESTS)
    environment = bench.runner(problem, bench.submission(HELLO)).environment
    evaluation = Evaluation(
        id="greets-1",
        problem_name=problem.name,
        problem_path=str(problem.path),
        checkpoint="checkpoint_1",
        submission=str(bench.submission(HELLO)),
        environment=msgspec.structs.replace(environment, resources=SMALL),
        limits=QUICK,
    )
    tests = tuple(
        TestResult(
            id=name,
            checkpoint="checkpoint_1",
            group_type=GroupType.CORE,
            status="passed",
            duration_ms=1.0,
            file_path="tests/test_checkpoint_1.py",
        )
        for name in ("test_greets", "test_other")
    )
    line = ResultLine(
        run_id="night",
        id=evaluation.id,
        problem_name=problem.name,
        checkpoint_name="checkpoint_1",
        verdict=Verdict.PASSED,
        policy="any",
        duration=1.0,
        tests=tests,
    )
    directory = write_run(RunDirectory(path=tmp_path / "runs" / "night", run_id="night"), [line])
    directory.write_evaluation(line, evaluation, None)

    def debugging(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [SCBENCH, "debug", "greets", "--output", str(tmp_path / "runs"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    return debugging


def test_the_submission_is_where_it_was(debug: Debug) -> None:
    """A command runs in the workspace, with the environment that tests start it in."""
    script = "cat main.py; python main.py; echo $SCBENCH_CHECKPOINT; command -v python"
    ended = debug("--", "sh", "-c", script)
    assert ended.returncode == 0, ended.stderr
    source, said, checkpoint, python = ended.stdout.splitlines()
    assert (source, said, checkpoint) == (HELLO.strip(), "hello", "checkpoint_1")
    assert python.endswith("/.venv/bin/python")


def test_exit_codes_come_through(debug: Debug) -> None:
    """What the command says is what `scbench debug` says."""
    assert debug("--", "sh", "-c", "exit 7").returncode == 7


def test_the_grader_runs_tests(debug: Debug) -> None:
    """As grader the tests can be read, and run with arguments of one's own."""
    script = "head -n 1 $SCBENCH_TESTS/tests/test_checkpoint_1.py; run-tests -q -k greets"
    ended = debug("--as", "grader", "--", "sh", "-c", script)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith(SECRET)
    assert "1 passed, 1 deselected" in ended.stdout


@pytest.mark.parametrize("sandbox_name", ["docker"])
def test_the_submission_does_not_read_tests(debug: Debug) -> None:
    """As submission the shell has the rights that the submission had."""
    script = "find / -name 'test_checkpoint*' 2>/dev/null; run-tests; /scbench/debug/run-tests; ls /scbench"
    ended = debug("--", "sh", "-c", script)
    assert ended.returncode != 0
    assert ended.stdout == ""
    assert "Permission denied" in ended.stderr


def test_one_test_runs_as_it_did(debug: Debug) -> None:
    """`--test` runs one test under the grader and shows what pytest said; any part of its node id will do."""
    good = debug("--test", "greets")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "1 passed" in good.stdout
    bad = debug("--test", "tests/test_checkpoint_1.py::test_other")
    assert bad.returncode == 1
    assert "assert 1 == 2" in bad.stdout
    assert "test_greets" not in bad.stdout


def test_all_tests_run(debug: Debug) -> None:
    """`--all-tests` repeats the whole evaluation."""
    ended = debug("--all-tests")
    assert ended.returncode == 1
    assert "1 failed, 1 passed" in ended.stdout
    assert "failed by policy all-cases" in ended.stdout


@pytest.mark.parametrize("sandbox_name", ["local"])
def test_a_test_that_is_not_there_is_a_mistake(debug: Debug) -> None:
    """The message names the test that was asked for."""
    ended = debug("--test", "nothing_like_it")
    assert ended.returncode == 2
    assert "nothing_like_it: no test of greets-1 has this in its node id" in ended.stderr
