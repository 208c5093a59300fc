"""Runs that never happened, written as real run directories, for tests of what people see."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from engine.events import (
    EvaluationFinished,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    FlakyTest,
    PlanCompleted,
    PlanExtended,
    ResultLine,
    RunCounts,
    RunFinished,
    RunStarted,
    WarningGiven,
    encode,
)
from engine.grading import verdict_of
from engine.results import (
    Broken,
    BrokenKind,
    EnvironmentRecord,
    GroupType,
    IntegrityWarning,
    Output,
    Status,
    TestResult,
    tally,
)
from engine.rundirectory import Outputs, RunDirectory

BEGIN = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
MESSAGE = """server = <conftest.Server object at 0x7f2dfb1cb210>

    def test_list_with_prefix(server):
        body = server.get("/kv", {{"prefix": "user."}}).expect(200)
>       assert body["keys"] == ["user.1", "user.2"]
E       AssertionError: assert ['my.user.{number}', 'user.1'] == ['user.1', 'user.2']

tests/test_checkpoint_1.py:{number}: AssertionError"""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How big a made-up run is."""

    models: int = 3
    problems: int = 2
    checkpoints: int = 3
    tests: int = 12
    repeat: int = 1


def write_run(directory: RunDirectory, lines: Sequence[ResultLine], *, slots: int = 4) -> RunDirectory:
    """Write a run directory with these results, as if they had been run in so many slots."""
    directory.path.mkdir(parents=True, exist_ok=True)
    with directory.journal.open("wb") as journal:
        for event in _events(directory.run_id, lines, slots):
            journal.write(encode(event) + b"\n")
    for line in lines:
        directory.evaluation(line.id).mkdir(parents=True, exist_ok=True)
        output = Output(head=b"collected 12 items\n", tail=b"")
        directory.write_evaluation(line, None, Outputs(stdout=output, stderr=Output(), reports={}))
    return directory


def _events(run_id: str, lines: Sequence[ResultLine], slots: int) -> Iterator[Event]:
    yield RunStarted(
        run_id=run_id, timestamp=BEGIN, name="madeup", engine_version="0.1.0", policy="core-cases"
    )
    yield PlanExtended(run_id=run_id, timestamp=BEGIN, ids=tuple(line.id for line in lines))
    yield PlanCompleted(run_id=run_id, timestamp=BEGIN, total=len(lines))
    free = [0.0] * slots
    for line in lines:
        slot = free.index(min(free))
        start = free[slot]
        if line.attempts > 1:
            yield from _retried(run_id, line, start)
            start += 2
        yield EvaluationStarted(
            run_id=run_id,
            timestamp=_at(start),
            evaluation_id=line.id,
            labels=line.labels,
            attempt=line.attempt,
        )
        free[slot] = start + (0.01 if line.cached else line.duration + 0.4)
        kept = msgspec.structs.replace(line, tests=msgspec.UNSET)
        yield EvaluationFinished(
            run_id=run_id, timestamp=_at(free[slot]), evaluation_id=line.id, labels=line.labels, result=kept
        )
    yield WarningGiven(
        run_id=run_id, timestamp=_at(max(free)), name="manifest", message="an unknown key `colour`"
    )
    yield RunFinished(
        run_id=run_id, timestamp=_at(max(free)), ending="completed", counts=RunCounts(), duration=max(free)
    )


def _retried(run_id: str, line: ResultLine, start: float) -> Iterator[Event]:
    broken = Broken.of(BrokenKind.DAEMON_ERROR, "the daemon went away")
    yield EvaluationStarted(run_id=run_id, timestamp=_at(start), evaluation_id=line.id)
    yield EvaluationRetried(
        run_id=run_id, timestamp=_at(start + 1.5), evaluation_id=line.id, attempt=1, broken=broken
    )


def _at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def made_up_lines(shape: Shape, seed: int = 7) -> list[ResultLine]:
    """Invent results: models that are good or bad, slow tests, failures, breakages, repeats that differ."""
    chance = random.Random(seed)
    return [
        _invented(chance, shape, f"problem-{problem:02}", checkpoint, model, repeat)
        for model in range(shape.models)
        for problem in range(shape.problems)
        for checkpoint in range(1, shape.checkpoints + 1)
        for repeat in range(shape.repeat)
    ]


def _invented(
    chance: random.Random, shape: Shape, problem: str, checkpoint: int, model: int, repeat: int
) -> ResultLine:
    skill = 0.995 - 0.12 * model / shape.models - 0.02 * checkpoint
    # Repeats are alike, but for a few.
    same = random.Random(f"{problem} {checkpoint} {model}" + (f" {repeat}" if chance.random() < 0.1 else ""))
    tests = tuple(_test(same, number, checkpoint, skill) for number in range(shape.tests))
    broken = _breakage(chance)
    tests = () if broken else tests
    again = f"-r{repeat + 1}" if repeat else ""
    name = f"{problem}-checkpoint_{checkpoint}-model-{model}{again}"
    passed, total = tally(tests)
    attempts = 2 if chance.random() < 0.02 else 1
    spent = 1 + chance.expovariate(0.1)
    timings = {"prepare": chance.expovariate(1), "run": spent, "layout": 0.05 * spent, "tests": 0.85 * spent}
    return ResultLine(
        run_id="madeup",
        id=name,
        problem_name=problem,
        checkpoint_name=f"checkpoint_{checkpoint}",
        labels={"model": f"model-{model}", "track": "open" if model % 2 else "closed"},
        verdict=verdict_of(broken, passed, total, "core-cases"),
        broken=broken,
        policy="core-cases",
        pass_counts=passed,
        total_counts=total,
        duration=timings["prepare"] + timings["run"],
        timings=timings,
        pytest_exit_code=None if broken else int(passed != total),
        pytest_collected=len(tests),
        attempts=attempts,
        attempt=attempts,
        cached=chance.random() < 0.05,
        fingerprint=f"{problem}-{checkpoint}-{model}",
        environment=EnvironmentRecord(
            sandbox="docker", image="python:3.12-slim", python="3.12.1", sealed=True
        ),
        integrity=(IntegrityWarning(name="expected_unknown", detail="unstable"),)
        if chance.random() < 0.02
        else (),
        tests=tests,
    )


def _test(chance: random.Random, number: int, checkpoint: int, skill: float) -> TestResult:
    own = number % checkpoint == 0
    status: Status = "passed" if chance.random() < skill else "failed"
    group = GroupType.REGRESSION
    if own:
        group = (GroupType.CORE, GroupType.CORE, GroupType.FUNCTIONALITY, GroupType.ERROR)[number % 4]
    at = checkpoint if own else 1 + number % (checkpoint - 1)
    return TestResult(
        id=f"test_case_{number}[value-{number % 7}]",
        checkpoint=f"checkpoint_{at}",
        group_type=group,
        status=status,
        duration_ms=chance.expovariate(0.02),
        file_path=f"tests/test_checkpoint_{at}.py",
        failure_message=None if status == "passed" else MESSAGE.format(number=chance.randrange(1000)),
    )


def _breakage(chance: random.Random) -> Broken | None:
    if chance.random() > 0.04:
        return None
    kind = chance.choice([BrokenKind.SETUP_FAILED, BrokenKind.SESSION_TIMEOUT, BrokenKind.DAEMON_ERROR])
    return Broken.of(
        kind, "uv pip install -r requirements.txt: error: no such package `requets`\n  did you mean it?"
    )


def make_run(folder: Path, shape: Shape) -> RunDirectory:
    """Write a made-up run below a folder."""
    return write_run(RunDirectory(path=folder / "madeup", run_id="madeup"), made_up_lines(shape))


HOSTILE = (
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 1'>",
    '"><svg onload="window.owned = 1">',
    "<a href='javascript:window.owned = 1'>press</a>",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1)",
    "a | b `code` **bold** [link](https://example.org) <!-- @someone",
    "\x1b[31mred\x1b]0;title\x07 \x00 \x9b31m",
    "]]> &amp; &#0; \ufffe \ud800",
    "\u202egpj.exe",
    "[red]markup[/] [link=https://example.org]x[/link]",
    "{{constructor.constructor('window.owned = 1')()}} ${window.owned = 1} %{x}",
    "line one\r\nline two\nline three",
)


def hostile_lines() -> list[ResultLine]:
    """Make results whose every name and message wants to be more than text."""
    lines = []
    for number, text in enumerate(HOSTILE):
        tests = tuple(
            TestResult(
                id=f"test_x[{text}]",
                checkpoint=text,
                group_type=GroupType.CORE,
                status=status,
                duration_ms=1.0,
                file_path=f"tests/{text}.py",
                markers=(text,),
                failure_message=None if status == "passed" else text,
            )
            for status in _STATUSES
        )
        passed, total = tally(tests)
        lines.append(
            ResultLine(
                run_id="madeup",
                id=f"hostile-{number:02}",
                problem_name=text,
                checkpoint_name=text,
                labels={"model": text, text: "value"},
                verdict=verdict_of(Broken.of(BrokenKind.TAMPERED, text), passed, total, "core-cases"),
                broken=Broken.of(BrokenKind.TAMPERED, text),
                policy="core-cases",
                pass_counts=passed,
                total_counts=total,
                duration=1.0,
                integrity=(IntegrityWarning(name="odd", detail=text),),
                environment=EnvironmentRecord(sandbox="docker", packages={"left-pad": "1"}),
                tests=tests,
            )
        )
    return lines


_STATUSES: tuple[Status, ...] = ("passed", "failed", "skipped", "error")


def flaky_test(number: int) -> FlakyTest:
    """A test that could not make up its mind."""
    return FlakyTest(
        id=f"test_case_{number}", file_path="tests/test_checkpoint_1.py", statuses=("passed", "failed")
    )
