"""Every time limit, each in a run in which it is the one that fires."""

import functools
from pathlib import Path

import msgspec
import pytest

from engine import batch
from engine.batch import Batch, BatchOptions
from engine.environment import Limits, SetupCommand
from engine.manifest import load_manifests
from engine.results import BrokenKind, Fault
from engine.work import SchedulerSettings
from tests.docker.tiny import (
    FIRST,
    GREETS,
    HANGS,
    HELLO,
    Bench,
    broken_as,
    read_lines,
    statuses,
    write_batch,
    write_files,
)

pytestmark = pytest.mark.docker

FAR = Limits(test=300.0, session=300.0, setup=300.0, evaluation=300.0)
STARTS = FIRST + "def test_starts(start):\n    assert start().returncode == 0\n\ndef test_last():\n    pass\n"


def limits(**chosen: float) -> Limits:
    """Return limits that are far away but for the chosen ones."""
    return msgspec.structs.replace(FAR, **chosen)


async def test_limit_of_a_command(bench: Bench) -> None:
    """A submission that hangs is ended by the grader, the test goes on, and the result says so."""
    results = (await bench.evaluate(STARTS, HANGS, limits(command=1.0))).results
    assert results.broken is None
    assert statuses(results) == {"test_first": "passed", "test_starts": "failed", "test_last": "passed"}
    assert [warning.name for warning in results.integrity if "command" in warning.name]


async def test_limit_of_a_test(bench: Bench) -> None:
    """A test that takes too long fails, with the limit as the reason, and the others run."""
    results = (await bench.evaluate(STARTS, HANGS, limits(test=1.0))).results
    assert results.broken is None
    assert statuses(results) == {"test_first": "passed", "test_starts": "failed", "test_last": "passed"}
    message = next(test.failure_message for test in results.tests if test.id == "test_starts")
    assert message is not None
    assert "Timeout (>1.0s)" in message


async def test_limit_of_the_session_by_pytest(bench: Bench) -> None:
    """When the session takes too long, the running test is finished and no further one begins."""
    tests = FIRST + "import time\n\ndef test_slow():\n    time.sleep(2)\n\ndef test_never():\n    pass\n"
    results = (await bench.evaluate(tests, HELLO, limits(session=1.0))).results
    broken = broken_as(results, BrokenKind.SESSION_TIMEOUT, Fault.SUBMISSION)
    assert "2 of 3 tests done" in broken.detail
    assert statuses(results) == {"test_first": "passed", "test_slow": "passed"}
    assert (results.pytest_exit_code, results.pytest_collected) == (1, 3)


async def test_limit_of_the_session_by_the_launcher(bench: Bench) -> None:
    """A grader that nothing inside can interrupt is killed one test limit after the session's."""
    deaf = """
    import signal
    import time

    def test_deaf():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        time.sleep(1000)

    def test_never():
        pass
    """
    problem = bench.problem(
        FIRST, {"tests/test_deaf.py": deaf}, checkpoints={"checkpoint_1": None, "deaf": None}
    )
    results = (await bench.evaluate(problem, HELLO, limits(test=1.0, session=2.0))).results
    broken = broken_as(results, BrokenKind.SESSION_TIMEOUT, Fault.SUBMISSION)
    assert "1 of 3 tests done" in broken.detail
    assert "test_deaf" in broken.detail
    assert statuses(results) == {"test_first": "passed"}
    assert results.pytest_exit_code is None
    assert 3.0 <= results.timings["tests"] < 10.0


async def test_limit_of_set_up(bench: Bench) -> None:
    """Set-up commands that take too long are ended, and what they said last is told."""
    setup = (SetupCommand(run="echo before the wait; sleep 1000", inputs=()),)
    environment = msgspec.structs.replace(bench.environment, setup=setup)
    results = (await bench.evaluate(GREETS, HELLO, limits(setup=2.0), environment)).results
    broken = broken_as(results, BrokenKind.SETUP_TIMEOUT, Fault.SUBMISSION)
    assert "sleep 1000" in broken.detail
    assert "before the wait" in broken.detail
    assert results.tests == ()


async def test_limit_of_the_evaluation(bench: Bench) -> None:
    """When everything together takes too long, the container is killed and finished tests are kept."""
    results = (await bench.evaluate(STARTS, HANGS, limits(evaluation=6.0))).results
    broken = broken_as(results, BrokenKind.EVALUATION_TIMEOUT, Fault.SUBMISSION)
    assert "6 s" in broken.detail
    assert statuses(results) == {"test_first": "passed"}
    assert results.pytest_exit_code is None
    assert results.pytest_collected == 3


async def test_limit_of_the_batch(
    anyio_backend: str, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that takes too long is drained, then ended; what is missing says so and can be resumed."""
    # The half minute of patience with what runs is not what is tested here.
    monkeypatch.setattr(batch, "SchedulerSettings", functools.partial(SchedulerSettings, grace=1.0))
    submissions = {"quick": HELLO, "slow": HANGS, "waiting": HELLO}
    manifest = write_batch(tmp_path, image, submissions, timeouts={"batch": "12s", "test": "5m"})
    run = Batch(load_manifests([manifest]))
    summary = await run.run()
    assert (summary.ending, summary.exit_code) == ("deadline", 124)
    lines = read_lines(run.directory.results)
    assert lines["quick"].verdict == "passed"
    assert lines["quick"].pass_counts["Core"] == 2
    for name in ("slow", "waiting"):
        broken = lines[name].broken
        assert broken is not None
        assert (broken.kind, broken.fault) == (BrokenKind.BATCH_TIMEOUT, Fault.INFRASTRUCTURE)

    write_files(tmp_path / "samples" / "slow", {"main.py": HELLO})
    again = Batch(load_manifests([manifest]), BatchOptions(resume=summary.run_id))
    assert (await again.run()).exit_code == 0
    assert {
        name: line.verdict for name, line in read_lines(again.directory.results).items()
    } == dict.fromkeys(submissions, "passed")
