"""What happened: the public schema of events and of result lines.

Every event is one frozen value and one JSON line; `event` names its kind. A new kind is one class here
and one member of `Event`. Fields are only ever added, each with a default, so that older journals replay;
anything else raises `SCHEMA_VERSION` in `results.py`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from engine.results import (
    SCHEMA_VERSION,
    Broken,
    EnvironmentRecord,
    GroupType,
    IntegrityWarning,
    Status,
    TestResult,
    Verdict,
)

Level = Literal["debug", "info", "warning", "error"]
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
EndingName = Literal["completed", "drained", "cancelled", "deadline"]


def utc_now() -> datetime:
    """Tell the time as events carry it."""
    return datetime.now(UTC)


class ResultLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of results.jsonl: the verdict on one evaluation and what it rests on."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    id: str
    problem_name: str
    checkpoint_name: str
    labels: Mapping[str, str] = {}
    verdict: Verdict
    broken: Broken | None = None
    policy: str
    pass_counts: Mapping[GroupType, int] = {}
    total_counts: Mapping[GroupType, int] = {}
    duration: float
    timings: Mapping[str, float] = {}
    pytest_exit_code: int | None = None
    pytest_collected: int | None = None
    infrastructure_failure: bool = False
    # How many attempts there were, over all sessions of the run.
    attempts: int = 1
    cached: bool = False
    fingerprint: str | None = None
    # A hash of each ingredient of the fingerprint by name; in evaluation.json only.
    ingredients: Mapping[str, str] | msgspec.UnsetType = msgspec.UNSET
    environment: EnvironmentRecord = EnvironmentRecord()
    integrity: tuple[IntegrityWarning, ...] = ()
    # Left out of the line altogether unless asked for.
    tests: tuple[TestResult, ...] | msgspec.UnsetType = msgspec.UNSET
    # The number of the attempt that this line tells of, and of the one whose streamed line it replaces.
    attempt: int = 1
    supersedes: int | None = None


class FlakyTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test that changed its mind between runs of the same code."""

    id: str
    file_path: str
    statuses: tuple[Status | None, ...]


class EventFields(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What every event has."""

    schema_version: int = SCHEMA_VERSION
    timestamp: Timestamp = msgspec.field(default_factory=utc_now)
    level: Level = "info"
    run_id: str
    evaluation_id: str | None = None
    labels: Mapping[str, str] = {}


class RunStarted(EventFields, frozen=True, kw_only=True, tag_field="event", tag="run_started"):
    """A session of a run begins; a resumed run has one for each session."""

    name: str = ""
    engine_version: str = ""
    policy: str = ""
    resumed: bool = False
    # What the evaluations depend on beyond their ids; a resumed run compares it.
    plan_hash: str | None = None
    # How many evaluations there are, where that is known before they are expanded.
    total: int | None = None


class PlanExtended(EventFields, frozen=True, kw_only=True, tag_field="event", tag="plan_extended"):
    """More evaluations became known, in the order of the plan."""

    level: Level = "debug"
    ids: tuple[str, ...]


class PlanCompleted(EventFields, frozen=True, kw_only=True, tag_field="event", tag="plan_completed"):
    """Every evaluation of the plan is known."""

    level: Level = "debug"
    total: int


class EvaluationStarted(EventFields, frozen=True, kw_only=True, tag_field="event", tag="evaluation_started"):
    """An attempt at an evaluation begins."""

    attempt: int = 1
    alone: bool = False


class EvaluationRetried(EventFields, frozen=True, kw_only=True, tag_field="event", tag="evaluation_retried"):
    """An attempt ended without a final outcome and another one will follow."""

    level: Level = "warning"
    attempt: int
    broken: Broken | None = None
    duration: float = 0.0
    delay: float = 0.0
    # The next attempt waits for the end of the batch and has the machine to itself.
    alone: bool = False
    # False while the daemon did not answer: the attempt is not held against the evaluation.
    counted: bool = True


class EvaluationFinished(
    EventFields, frozen=True, kw_only=True, tag_field="event", tag="evaluation_finished"
):
    """An evaluation has its final outcome."""

    result: ResultLine


class EvaluationFlaky(EventFields, frozen=True, kw_only=True, tag_field="event", tag="evaluation_flaky"):
    """Some tests of an evaluation gave different outcomes when run again; the verdict stays."""

    level: Level = "warning"
    tests: tuple[FlakyTest, ...]


class AdmissionChanged(EventFields, frozen=True, kw_only=True, tag_field="event", tag="admission_changed"):
    """More or fewer evaluations may run at once than before."""

    concurrency: int
    limit: int
    reason: str


class WarningGiven(EventFields, frozen=True, kw_only=True, tag_field="event", tag="warning"):
    """Something that the user should know, and what to do about it."""

    level: Level = "warning"
    name: str
    message: str
    hint: str = ""


class RunDraining(EventFields, frozen=True, kw_only=True, tag_field="event", tag="run_draining"):
    """Nothing more is started; what runs may finish."""

    level: Level = "warning"
    reason: str
    running: int
    hint: str = ""


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How the evaluations of a run came out."""

    passed: int = 0
    failed: int = 0
    broken: int = 0
    cached: int = 0
    flaky: int = 0
    # Known evaluations without an outcome: what --resume would do.
    remaining: int = 0


class RunFinished(EventFields, frozen=True, kw_only=True, tag_field="event", tag="run_finished"):
    """A session of a run is over."""

    ending: EndingName
    counts: RunCounts
    duration: float
    exit_code: int = 0


Event = (
    RunStarted
    | PlanExtended
    | PlanCompleted
    | EvaluationStarted
    | EvaluationRetried
    | EvaluationFinished
    | EvaluationFlaky
    | AdmissionChanged
    | WarningGiven
    | RunDraining
    | RunFinished
)

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_LINE_DECODER = msgspec.json.Decoder(ResultLine)


def encode(value: Event | ResultLine) -> bytes:
    """Turn an event or a result into one JSON line, without its newline."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        # File names that are not UTF-8 reach details as lone surrogates, which JSON cannot carry.
        return _ENCODER.encode(without_surrogates(msgspec.to_builtins(value)))


def decode(line: bytes) -> Event:
    """Read an event that `encode` wrote."""
    return _DECODER.decode(line)


def decode_result(line: bytes) -> ResultLine:
    """Read a result that `encode` wrote."""
    return _LINE_DECODER.decode(line)


def event_schema() -> Mapping[str, object]:
    """Describe events as JSON Schema."""
    return msgspec.json.schema(Event)


def result_schema() -> Mapping[str, object]:
    """Describe result lines as JSON Schema."""
    return msgspec.json.schema(ResultLine)


def without_surrogates(value: object) -> object:
    """Spell out, in plain data, what JSON cannot carry."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {without_surrogates(key): without_surrogates(entry) for key, entry in value.items()}
        case list() | tuple():
            return [without_surrogates(entry) for entry in value]
        case _:
            return value
