from datetime import UTC, datetime

import jsonschema
import msgspec
import pytest

from engine.events import (
    AdmissionChanged,
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    FlakyTest,
    PlanCompleted,
    PlanExtended,
    ResultLine,
    RunCounts,
    RunDraining,
    RunFinished,
    RunStarted,
    WarningGiven,
    decode,
    decode_result,
    encode,
    event_schema,
    result_schema,
)
from engine.results import Broken, BrokenKind, GroupType, TestResult, Verdict

TEST = TestResult(
    id="test_a",
    checkpoint="c",
    group_type=GroupType.CORE,
    status="passed",
    duration_ms=1.5,
    file_path="tests/test_c.py",
)
LINE = ResultLine(
    run_id="r",
    id="p-c-1",
    problem_name="p",
    checkpoint_name="c",
    verdict=Verdict.BROKEN,
    broken=Broken.of(BrokenKind.DAEMON_ERROR, "gone"),
    policy="core-cases",
    duration=1.25,
)
EVENTS: tuple[Event, ...] = (
    RunStarted(run_id="r", name="n", plan_hash="abc"),
    PlanExtended(run_id="r", ids=("a", "b")),
    PlanCompleted(run_id="r", total=2),
    EvaluationStarted(run_id="r", evaluation_id="a", labels={"model": "m"}),
    EvaluationRetried(run_id="r", evaluation_id="a", attempt=1, broken=LINE.broken, delay=1.0),
    EvaluationFinished(run_id="r", evaluation_id="a", result=LINE),
    EvaluationFlaky(
        run_id="r",
        evaluation_id="a",
        tests=(FlakyTest(id="t", file_path="f", statuses=("passed", "failed", None)),),
    ),
    AdmissionChanged(run_id="r", concurrency=1, limit=8, reason="slow"),
    WarningGiven(run_id="r", name="unsealed", message="not sealed", hint="do this"),
    RunDraining(run_id="r", reason="SIGINT", running=3),
    RunFinished(run_id="r", ending="completed", counts=RunCounts(passed=1), duration=2.0),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event.__struct_config__.tag))
def test_events_survive_a_round_trip_and_fit_their_schema(event: Event) -> None:
    """Every kind of event reads back as itself and validates against the published schema."""
    line = encode(event)
    assert decode(line) == event
    jsonschema.validate(msgspec.json.decode(line), dict(event_schema()))


def test_every_kind_of_event_is_tried_above() -> None:
    """No kind of event is missing from these tests."""
    assert {type(event) for event in EVENTS} == set(Event.__args__)


def test_an_event_says_when_where_and_what() -> None:
    """A line names its kind, schema, level, run, evaluation and labels, and the time in UTC."""
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    event = EvaluationStarted(run_id="r", evaluation_id="a", labels={"model": "m"}, timestamp=moment)
    assert msgspec.json.decode(encode(event)) == {
        "event": "evaluation_started",
        "schema_version": 1,
        "timestamp": "2026-01-02T03:04:05.678000Z",
        "level": "info",
        "run_id": "r",
        "evaluation_id": "a",
        "labels": {"model": "m"},
        "attempt": 1,
        "alone": False,
    }


def test_a_result_line_has_the_promised_fields() -> None:
    """The fields of a result line are those that the documentation lists, and no tests unless asked."""
    fields = msgspec.json.decode(encode(LINE))
    promised = (
        "schema_version run_id id problem_name checkpoint_name labels verdict broken policy pass_counts"
        " total_counts duration timings pytest_exit_code pytest_collected infrastructure_failure attempts"
        " cached fingerprint environment integrity attempt supersedes"
    )
    assert list(fields) == promised.split()
    with_tests = msgspec.structs.replace(LINE, tests=(TEST,))
    assert msgspec.json.decode(encode(with_tests))["tests"][0]["id"] == "test_a"


@pytest.mark.parametrize("line", [LINE, msgspec.structs.replace(LINE, tests=(TEST,))])
def test_result_lines_survive_a_round_trip_and_fit_their_schema(line: ResultLine) -> None:
    """A result line reads back as itself and validates against the published schema."""
    assert decode_result(encode(line)) == line
    jsonschema.validate(msgspec.json.decode(encode(line)), dict(result_schema()))


def test_names_that_are_not_unicode_do_not_stop_an_event() -> None:
    """A lone surrogate, as in a file name that is not UTF-8, is spelled out."""
    event = WarningGiven(run_id="r", name="n", message="bad name: a\udcff", labels={"k\udc80": "v"})
    read = decode(encode(event))
    assert isinstance(read, WarningGiven)
    assert read.message == "bad name: a\\udcff"
    assert read.labels == {"k\\udc80": "v"}
