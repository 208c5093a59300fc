"""The shared nouns: what a test, an evaluation and a verdict are.

Everything here is a frozen value that survives a round trip through JSON; text and times that JSON
cannot hold are mended when a value is made. A new reason for being broken is one member of `BrokenKind`
and one row of `FAULTS`. A change that old files do not survive is a new `SCHEMA_VERSION` and a step in
`CorrectnessResults.load`.
"""

import enum
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Self

import msgspec

SCHEMA_VERSION = 1

Status = Literal["passed", "failed", "skipped", "error"]


class GroupType(enum.StrEnum):
    """The kind of a test, which decides what its failure means."""

    CORE = "Core"
    FUNCTIONALITY = "Functionality"
    REGRESSION = "Regression"
    ERROR = "Error"


class Verdict(enum.StrEnum):
    """What is said of an evaluation in the end."""

    PASSED = "passed"
    FAILED = "failed"
    BROKEN = "broken"


class Fault(enum.StrEnum):
    """Whose fault it is that an evaluation could not be judged."""

    SUBMISSION = "submission"
    PROBLEM = "problem"
    INFRASTRUCTURE = "infrastructure"


class BrokenKind(enum.StrEnum):
    """Why an evaluation could not be judged."""

    SUBMISSION_REFUSED = "submission_refused"
    SETUP_FAILED = "setup_failed"
    SETUP_TIMEOUT = "setup_timeout"
    SESSION_TIMEOUT = "session_timeout"
    EVALUATION_TIMEOUT = "evaluation_timeout"
    OUT_OF_MEMORY = "out_of_memory"
    OUT_OF_DISK = "out_of_disk"
    OUT_OF_PIDS = "out_of_pids"
    GRADER_KILLED = "grader_killed"
    TAMPERED = "tampered"

    COLLECTION_ERROR = "collection_error"
    NO_TESTS = "no_tests"
    USAGE_ERROR = "usage_error"
    INTERNAL_ERROR = "internal_error"
    PROBLEM_INVALID = "problem_invalid"

    IMAGE_MISSING = "image_missing"
    NO_PYTHON = "no_python"
    TOOLCHAIN_UNRESOLVABLE = "toolchain_unresolvable"
    INDEX_UNREACHABLE = "index_unreachable"
    SEAL_FAILED = "seal_failed"
    DAEMON_ERROR = "daemon_error"
    REPORT_MISSING = "report_missing"
    REPORT_INVALID = "report_invalid"
    INTERRUPTED = "interrupted"
    BATCH_TIMEOUT = "batch_timeout"


FAULTS: Mapping[BrokenKind, Fault] = {
    BrokenKind.SUBMISSION_REFUSED: Fault.SUBMISSION,
    BrokenKind.SETUP_FAILED: Fault.SUBMISSION,
    BrokenKind.SETUP_TIMEOUT: Fault.SUBMISSION,
    BrokenKind.SESSION_TIMEOUT: Fault.SUBMISSION,
    BrokenKind.EVALUATION_TIMEOUT: Fault.SUBMISSION,
    BrokenKind.OUT_OF_MEMORY: Fault.SUBMISSION,
    BrokenKind.OUT_OF_DISK: Fault.SUBMISSION,
    BrokenKind.OUT_OF_PIDS: Fault.SUBMISSION,
    BrokenKind.GRADER_KILLED: Fault.SUBMISSION,
    BrokenKind.TAMPERED: Fault.SUBMISSION,
    BrokenKind.COLLECTION_ERROR: Fault.PROBLEM,
    BrokenKind.NO_TESTS: Fault.PROBLEM,
    BrokenKind.USAGE_ERROR: Fault.PROBLEM,
    BrokenKind.INTERNAL_ERROR: Fault.PROBLEM,
    BrokenKind.PROBLEM_INVALID: Fault.PROBLEM,
    BrokenKind.IMAGE_MISSING: Fault.INFRASTRUCTURE,
    BrokenKind.NO_PYTHON: Fault.INFRASTRUCTURE,
    BrokenKind.TOOLCHAIN_UNRESOLVABLE: Fault.INFRASTRUCTURE,
    BrokenKind.INDEX_UNREACHABLE: Fault.INFRASTRUCTURE,
    BrokenKind.SEAL_FAILED: Fault.INFRASTRUCTURE,
    BrokenKind.DAEMON_ERROR: Fault.INFRASTRUCTURE,
    BrokenKind.REPORT_MISSING: Fault.INFRASTRUCTURE,
    BrokenKind.REPORT_INVALID: Fault.INFRASTRUCTURE,
    BrokenKind.INTERRUPTED: Fault.INFRASTRUCTURE,
    BrokenKind.BATCH_TIMEOUT: Fault.INFRASTRUCTURE,
}


def printable(text: str) -> str:
    """Return the text with lone surrogates written out, which neither UTF-8 nor JSON can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no verdict, and whose fault that is."""

    kind: BrokenKind
    fault: Fault
    detail: str

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "detail", printable(self.detail))

    @classmethod
    def of(cls, kind: BrokenKind, detail: str) -> Self:
        """Blame the one whom the table of faults names."""
        return cls(kind=kind, fault=FAULTS[kind], detail=detail)


class IntegrityWarning(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a reader of the verdict should know, short of tampering."""

    name: str
    detail: str

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "detail", printable(self.detail))


class EnvironmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation really ran on, exact enough to do it again."""

    sandbox: str = ""
    image: str = ""
    image_digest: str = ""
    python: str = ""
    toolchain: Mapping[str, str] = {}
    packages: Mapping[str, str] = {}
    sealed: bool = False


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning and the end of a stream, and how much was left out between them."""

    head: bytes = b""
    tail: bytes = b""
    omitted: int = 0

    def text(self) -> str:
        """The stream as people read it, with a line that says what is missing."""
        head = self.head.decode("utf-8", "replace")
        if not self.omitted:
            return head + self.tail.decode("utf-8", "replace")
        return f"{head}\n[... {self.omitted} bytes left out ...]\n{self.tail.decode('utf-8', 'replace')}"


class ObservedTest(msgspec.Struct, frozen=True, kw_only=True):
    """What is believed of one test, before it is graded."""

    nodeid: str
    status: Status
    duration_ms: float = 0.0
    markers: tuple[str, ...] = ()
    message: str | None = None


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one test. Only `file_path` and `id` together are unique."""

    __test__ = False

    id: str
    checkpoint: str
    group_type: GroupType
    status: Status
    duration_ms: float
    file_path: str
    markers: tuple[str, ...] = ()
    failure_message: str | None = None

    def __post_init__(self) -> None:
        change = msgspec.structs.force_setattr
        change(self, "id", printable(self.id))
        change(self, "file_path", printable(self.file_path))
        change(self, "markers", tuple(map(printable, self.markers)))
        change(self, "duration_ms", _finite(self.duration_ms))
        if self.failure_message is not None:
            change(self, "failure_message", printable(self.failure_message))


class CorrectnessResults(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about one submission at one checkpoint after it was evaluated."""

    problem_name: str
    checkpoint_name: str
    duration: float
    tests: tuple[TestResult, ...] = ()
    pass_counts: Mapping[GroupType, int] = {}
    total_counts: Mapping[GroupType, int] = {}
    pytest_exit_code: int | None = None
    pytest_collected: int | None = None
    infrastructure_failure: bool = False
    broken: Broken | None = None
    timings: Mapping[str, float] = {}
    environment: EnvironmentRecord = EnvironmentRecord()
    integrity: tuple[IntegrityWarning, ...] = ()
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        change = msgspec.structs.force_setattr
        change(self, "duration", _finite(self.duration))
        change(self, "timings", {name: _finite(seconds) for name, seconds in self.timings.items()})

    def save(self, path: Path) -> None:
        """Write these results as one JSON document, complete or not at all."""
        temporary = path.with_name(f"{path.name}.partial")
        temporary.write_bytes(msgspec.json.format(_ENCODER.encode(self), indent=2) + b"\n")
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> "CorrectnessResults":
        """Read results that this or an earlier version saved."""
        data = path.read_bytes()
        version = _VERSION_DECODER.decode(data).schema_version
        if version > SCHEMA_VERSION:
            raise msgspec.ValidationError(
                f"{path} has schema version {version}, and this engine reads up to {SCHEMA_VERSION}: "
                "use the engine that wrote it, or a newer one"
            )
        results = _DECODER.decode(data)
        return results if version else _upgraded(results)


class _Version(msgspec.Struct, frozen=True, kw_only=True):
    # Files of SCBench itself carry no version.
    schema_version: int = 0


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(CorrectnessResults)
_VERSION_DECODER = msgspec.json.Decoder(_Version)

_KINDS_BY_EXIT_CODE: Mapping[int | None, BrokenKind] = {
    2: BrokenKind.COLLECTION_ERROR,
    3: BrokenKind.INTERNAL_ERROR,
    4: BrokenKind.USAGE_ERROR,
    5: BrokenKind.NO_TESTS,
}


def _upgraded(results: CorrectnessResults) -> CorrectnessResults:
    # SCBench said only that its infrastructure failed, and with which exit code of pytest.
    if not results.infrastructure_failure or results.broken is not None:
        return results
    code = results.pytest_exit_code
    kind = _KINDS_BY_EXIT_CODE.get(code, BrokenKind.REPORT_MISSING)
    broken = Broken.of(kind, f"recorded as an infrastructure failure, with exit code {code} of pytest")
    return msgspec.structs.replace(results, broken=broken)


def tally(tests: Iterable[TestResult]) -> tuple[dict[GroupType, int], dict[GroupType, int]]:
    """Count, by group, the tests that passed and all tests."""
    passed = dict.fromkeys(GroupType, 0)
    total = dict.fromkeys(GroupType, 0)
    for test in tests:
        total[test.group_type] += 1
        passed[test.group_type] += test.status == "passed"
    return passed, total
