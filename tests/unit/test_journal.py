import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import OutputUnwritable, UserError
from engine.events import (
    EvaluationFinished,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    PlanCompleted,
    PlanExtended,
    ResultLine,
    RunStarted,
    decode_result,
    encode,
)
from engine.journal import Journal, Rerun, replay, results, write_results
from engine.results import Broken, BrokenKind, Verdict


def line(name: str, kind: BrokenKind | None = None, **changes: object) -> ResultLine:
    broken = Broken.of(kind, "why") if kind else None
    verdict = Verdict.BROKEN if kind else Verdict.PASSED
    fields = {"verdict": verdict, "broken": broken, **changes}
    return ResultLine(
        run_id="r",
        id=name,
        problem_name="p",
        checkpoint_name="c",
        policy="core-cases",
        duration=1.0,
        **fields,  # type: ignore[arg-type]
    )


def finished(name: str, kind: BrokenKind | None = None, **changes: object) -> EvaluationFinished:
    return EvaluationFinished(run_id="r", evaluation_id=name, result=line(name, kind, **changes))


def written(path: Path, *events: Event) -> Path:
    path.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    return path


def torn(path: Path, tail: bytes, *events: Event) -> bytes:
    whole = written(path, *events).read_bytes()
    path.write_bytes(whole + tail)
    return whole


def content(path: Path) -> bytes:
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "events.jsonl"


async def test_what_is_appended_is_replayed(path: Path) -> None:
    """A journal tells the run, its plan and the last outcome of each evaluation."""
    journal = Journal.open(path)
    await journal.append(
        [RunStarted(run_id="r", plan_hash="h", policy="p"), PlanExtended(run_id="r", ids=("a", "b"))]
    )
    await journal.append([PlanCompleted(run_id="r", total=2), finished("a")])
    await journal.append([])
    await journal.aclose()
    state = replay(path)
    assert (state.run_id, state.plan_hash, state.policy, state.sessions) == ("r", "h", "p", 1)
    assert (state.planned, state.plan_complete) == (("a", "b"), True)
    assert (state.is_done("a"), state.is_done("b")) == (True, False)
    assert (state.torn, state.damaged, state.size) == (False, 0, len(content(path)))


@given(cut=st.integers(min_value=0))
def test_a_journal_cut_anywhere_gives_the_complete_lines(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Wherever a crash cuts the file, exactly the complete lines before count."""
    path = tmp_path_factory.mktemp("cut") / "events.jsonl"
    events: list[Event] = [RunStarted(run_id="r"), *(finished(f"e{n}") for n in range(4))]
    whole = written(path, *events).read_bytes()
    kept = whole[: cut % (len(whole) + 1)]
    path.write_bytes(kept)
    state = replay(path)
    assert len(state.records) == max(0, kept.count(b"\n") - 1)
    assert state.torn == bool(kept and not kept.endswith(b"\n"))
    assert state.damaged == 0


async def test_going_on_after_a_torn_line(path: Path) -> None:
    """Opening a journal again cuts off a torn last line, so that the next event is whole."""
    path.parent.mkdir()
    torn(path, encode(finished("b"))[:-7], RunStarted(run_id="r"), finished("a"))
    journal = Journal.open(path)
    await journal.append([finished("c")])
    await journal.aclose()
    state = replay(path)
    assert set(state.records) == {"a", "c"}
    assert (state.torn, state.damaged) == (False, 0)


async def test_a_long_torn_line_is_cut_off(path: Path) -> None:
    """A torn line of any length goes, and nothing before it."""
    path.parent.mkdir()
    whole = torn(path, b'{"event":"' + b"x" * 300_000, RunStarted(run_id="r"))
    await Journal.open(path).aclose()
    assert content(path) == whole


def test_a_damaged_line_costs_only_itself(path: Path) -> None:
    """A line that cannot be read is counted and left out; its evaluation is not done."""
    path.parent.mkdir()
    lines = written(path, RunStarted(run_id="r"), finished("a"), finished("b")).read_bytes().splitlines()
    lines[1] = b"\0" * len(lines[1])
    path.write_bytes(b"\n".join(lines) + b"\n")
    state = replay(path)
    assert state.damaged == 1
    assert (state.is_done("a"), state.is_done("b")) == (False, True)


def test_the_last_outcome_counts(path: Path) -> None:
    """Of several outcomes of one evaluation, the last one stands in the results."""
    path.parent.mkdir()
    second = finished("a", attempt=2, attempts=2, supersedes=1)
    written(path, finished("a", BrokenKind.INTERRUPTED), finished("b"), second)
    state = replay(path)
    assert [(result.id, result.attempt) for result in results(path, state)] == [("b", 1), ("a", 2)]
    assert state.records["a"].attempt == 2


@pytest.mark.parametrize("kind", [BrokenKind.INTERRUPTED, BrokenKind.BATCH_TIMEOUT])
def test_what_was_cut_short_is_not_done(path: Path, kind: BrokenKind) -> None:
    """An evaluation that was interrupted or hit the batch limit is run again by a resume."""
    path.parent.mkdir()
    assert not replay(written(path, finished("a", kind))).is_done("a")


@pytest.mark.parametrize(
    ("rerun", "done"),
    [
        (None, {"passed", "failed", "broken"}),
        ("broken", {"passed", "failed"}),
        ("failed", {"passed", "broken"}),
        ("all", set()),
    ],
)
def test_rerun_chooses_by_verdict(path: Path, rerun: Rerun | None, done: set[str]) -> None:
    """`--rerun` runs those again whose verdict it names."""
    path.parent.mkdir()
    state = replay(
        written(
            path,
            finished("passed"),
            finished("failed", verdict=Verdict.FAILED),
            finished("broken", BrokenKind.DAEMON_ERROR),
        )
    )
    assert {name for name in state.records if state.is_done(name, rerun)} == done


def test_attempts_are_counted_over_sessions(path: Path) -> None:
    """Attempts that were begun and lost count, so that numbers are never used twice."""
    path.parent.mkdir()
    state = replay(
        written(
            path,
            RunStarted(run_id="r"),
            EvaluationStarted(run_id="r", evaluation_id="a", attempt=1),
            EvaluationRetried(run_id="r", evaluation_id="a", attempt=1),
            EvaluationStarted(run_id="r", evaluation_id="a", attempt=2),
            RunStarted(run_id="r", resumed=True),
            EvaluationStarted(run_id="r", evaluation_id="a", attempt=3),
        )
    )
    assert state.attempts == {"a": 3}
    assert state.sessions == 2


def test_a_session_tells_its_plan_from_the_beginning(path: Path) -> None:
    """A later session that records a plan replaces the earlier one."""
    path.parent.mkdir()
    state = replay(
        written(
            path,
            RunStarted(run_id="r"),
            PlanExtended(run_id="r", ids=("a", "b")),
            PlanCompleted(run_id="r", total=2),
            RunStarted(run_id="r", resumed=True),
            PlanExtended(run_id="r", ids=("a",)),
            PlanExtended(run_id="r", ids=("c",)),
        )
    )
    assert state.planned == ("a", "c")
    assert not state.plan_complete


def test_results_are_written_whole(path: Path, tmp_path: Path) -> None:
    """The projection has one line an evaluation and leaves no partial file behind."""
    path.parent.mkdir()
    written(path, RunStarted(run_id="r"), *(finished(f"e{n}") for n in range(5)), finished("e0", attempt=2))
    target = tmp_path / "results.jsonl"
    assert write_results(path, replay(path), target) == 5
    lines = [decode_result(text) for text in target.read_bytes().splitlines()]
    assert [result.id for result in lines] == ["e1", "e2", "e3", "e4", "e0"]
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["results.jsonl"]


def test_one_process_at_a_time(path: Path) -> None:
    """A second engine is refused while the first one has the journal, and may have it afterwards."""
    Journal.open(path)
    program = (
        f"from pathlib import Path; from engine.journal import Journal; Journal.open(Path({str(path)!r}))"
    )
    second = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "another process is at work on this run" in second.stderr


def test_a_missing_journal_is_the_users_mistake(tmp_path: Path) -> None:
    """Resuming a run that does not exist says so."""
    with pytest.raises(UserError, match="no such journal"):
        replay(tmp_path / "events.jsonl")


def test_a_journal_of_a_newer_version_is_refused(path: Path) -> None:
    """What a newer version wrote is not misread."""
    path.parent.mkdir()
    path.write_bytes(b'{"event":"teleported","schema_version":99}\n')
    with pytest.raises(UserError, match="newer version"):
        replay(path)


async def test_a_full_disk_stops_with_the_file_whole() -> None:
    """When the disk is full, the error says how to go on."""
    journal = Journal(Path("/dev/full"), os.open("/dev/full", os.O_WRONLY), 0)
    with pytest.raises(OutputUnwritable, match="--resume") as caught:
        await journal.append([RunStarted(run_id="r")])
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert caught.value.exit_code == 3


def test_half_a_line_does_not_stay(path: Path) -> None:
    """A write that fails half way is taken back, so that the journal ends with a whole line."""
    program = (
        "import resource, signal, sys, anyio\n"
        "from pathlib import Path\n"
        "from engine.events import RunStarted\n"
        "from engine.journal import Journal\n"
        "async def main():\n"
        "    journal = Journal.open(Path(sys.argv[1]))\n"
        "    await journal.append([RunStarted(run_id='r')])\n"
        "    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    size = Path(sys.argv[1]).stat().st_size\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))\n"
        "    await journal.append([RunStarted(run_id='r2')])\n"
        "anyio.run(main)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert "OutputUnwritable" in ran.stderr
    state = replay(path)
    assert (state.run_id, state.torn) == ("r", False)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A journal that cannot be made says where and why."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputUnwritable, match="file"):
        Journal.open(tmp_path / "file" / "events.jsonl")
