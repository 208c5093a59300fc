"""The data inside the HTML report: a head that is read at once, and chunks that are read on demand.

Tests are told by suites: evaluations of one checkpoint mostly have the same tests in the same order, so each
has the number of its suite and one letter a test. Durations, messages and output are in the chunks.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from engine.events import FlakyTest, ResultLine, without_surrogates
from engine.results import EnvironmentRecord, GroupType, Status, TestResult
from engine.views.leaderboard import Counted, count_tests
from engine.views.run import Details, FinishedRun
from engine.views.text import shortened, visible

MOST_MESSAGE = 4_000
MOST_OUTPUT = 8_000
MOST_SLOW = 500
CHUNK_SIZE = 400_000

_LETTERS: Mapping[Status, str] = {"passed": "p", "failed": "f", "error": "e", "skipped": "s"}
_GROUPS = tuple(GroupType)

Plain = Mapping[str, object]
# Problem, file, id, checkpoint.
_Name = tuple[str, str, str, str]
# Numbers of tests, and a digit for the group of each.
_Suite = tuple[tuple[int, ...], str]


class _Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One evaluation, with the fields that lists and plots need."""

    id: str
    problem: str
    checkpoint: str
    labels: tuple[str, ...]
    verdict: str
    # Kind, fault, detail.
    broken: tuple[str, str, str] | None = None
    counts: bool = True
    # As rates take them, by group.
    passed: tuple[int, ...]
    total: tuple[int, ...]
    seconds: float
    timings: Mapping[str, float] = {}
    attempts: int = 1
    cached: bool = False
    environment: int
    integrity: tuple[tuple[str, str], ...] = ()
    exit_code: int | None = None
    fingerprint: str = ""
    suite: int
    statuses: str = ""
    chunk: int = 0
    # Which tests gave different outcomes; present and empty where only the verdict is known to.
    flaky: tuple[FlakyTest, ...] | None = None


class _Detail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is shown of one evaluation alone."""

    milliseconds: tuple[float, ...] = ()
    # By the position of the test.
    messages: Mapping[int, int] = {}
    stdout: str = ""
    stderr: str = ""
    missing: str = ""


class Packer:
    """Reads a run evaluation by evaluation; holds no more than one chunk of what is only looked at alone."""

    def __init__(self, run: FinishedRun) -> None:
        self._run = run
        self._labels = tuple(dict.fromkeys(name for line in run.lines for name in line.labels))
        self._counted = count_tests(run.lines)
        self._rows: list[_Row] = []
        self._environments: dict[str, int] = {}
        self._records: list[EnvironmentRecord] = []
        self._names: dict[_Name, int] = {}
        self._suites: dict[_Suite, int] = {}
        self._slow: list[tuple[float, int, int]] = []
        self._chunk = _Chunk(0)

    def chunks(self) -> Iterator[bytes]:
        """Yield the chunks; the head is complete after the last of them."""
        for index, line in enumerate(self._run.lines):
            details = self._run.details(line)
            self._rows.append(self._row(line, self._counted[index], details))
            self._note_slow(index, line.problem_name, details.tests)
            self._chunk.add(index, details)
            if self._chunk.size > CHUNK_SIZE:
                yield self._chunk.encoded()
                self._chunk = _Chunk(self._chunk.number + 1)
        yield self._chunk.encoded()

    def head(self) -> bytes:
        """Return what is read at once."""
        run = self._run
        places = {row.id: index for index, row in enumerate(self._rows)}
        head: Plain = {
            "run": _about(run),
            "labels": tuple(map(visible, self._labels)),
            "groups": _GROUPS,
            "checkpoints": {
                visible(problem): tuple(map(visible, names)) for problem, names in run.checkpoints.items()
            },
            "environments": self._records,
            "tests": list(self._names),
            "suites": [{"tests": tests, "groups": groups} for tests, groups in self._suites],
            "rows": _with_flaky_tests(self._rows, tuple(self._names), tuple(self._suites)),
            "slow": [(row, test, round(ms, 1)) for ms, row, test in sorted(self._slow, reverse=True)],
            "spans": [
                (
                    places[span.evaluation_id],
                    span.attempt,
                    round(span.start, 3),
                    round(span.end, 3),
                    span.outcome,
                )
                for span in run.spans
                if span.evaluation_id in places
            ],
            "warnings": [visible(warning.message) for warning in run.warnings[:1000]],
        }
        return encoded(head)

    def _row(self, line: ResultLine, counted: Counted, details: Details) -> _Row:
        broken = line.broken
        return _Row(
            id=line.id,
            problem=visible(line.problem_name),
            checkpoint=visible(line.checkpoint_name),
            labels=tuple(visible(line.labels.get(name, "")) for name in self._labels),
            verdict=line.verdict.value,
            broken=(broken.kind, broken.fault, visible(shortened(broken.detail, MOST_MESSAGE)))
            if broken
            else None,
            counts=counted.counts,
            passed=tuple(counted.passed.get(group, 0) for group in _GROUPS),
            total=tuple(counted.total.get(group, 0) for group in _GROUPS),
            seconds=round(line.duration, 3),
            timings={name: round(seconds, 3) for name, seconds in line.timings.items()},
            attempts=line.attempts,
            cached=line.cached,
            environment=self._environment(line.environment),
            integrity=tuple((one.name, visible(one.detail)) for one in line.integrity),
            exit_code=line.pytest_exit_code,
            fingerprint=line.fingerprint or "",
            suite=self._suite(line.problem_name, details.tests),
            statuses="".join(_LETTERS[test.status] for test in details.tests),
            chunk=self._chunk.number,
            flaky=self._run.flaky.get(line.id),
        )

    def _environment(self, record: EnvironmentRecord) -> int:
        key = repr(record)
        if key not in self._environments:
            self._environments[key] = len(self._records)
            self._records.append(record)
        return self._environments[key]

    def _test(self, problem: str, test: TestResult) -> int:
        key = (visible(problem), visible(test.file_path), visible(test.id), visible(test.checkpoint))
        return self._names.setdefault(key, len(self._names))

    def _suite(self, problem: str, tests: Sequence[TestResult]) -> int:
        groups = "".join(str(_GROUPS.index(test.group_type)) for test in tests)
        suite = tuple(self._test(problem, test) for test in tests)
        return self._suites.setdefault((suite, groups), len(self._suites))

    def _note_slow(self, row: int, problem: str, tests: Sequence[TestResult]) -> None:
        for test in tests:
            entry = (test.duration_ms, row, self._test(problem, test))
            if len(self._slow) < MOST_SLOW:
                heapq.heappush(self._slow, entry)
            elif entry > self._slow[0]:
                heapq.heapreplace(self._slow, entry)


class _Chunk:
    """Details of a few evaluations, messages that are the same told once."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.size = 0
        self._messages: dict[str, int] = {}
        self._details: dict[int, _Detail] = {}

    def add(self, index: int, details: Details) -> None:
        """Take in one evaluation."""
        stdout, stderr = (visible(shortened(text, MOST_OUTPUT)) for text in (details.stdout, details.stderr))
        self.size += len(stdout) + len(stderr) + 8 * len(details.tests)
        self._details[index] = _Detail(
            milliseconds=tuple(round(test.duration_ms, 1) for test in details.tests),
            messages={
                place: self._message(test.failure_message)
                for place, test in enumerate(details.tests)
                if test.failure_message
            },
            stdout=stdout,
            stderr=stderr,
            missing=visible(details.missing),
        )

    def encoded(self) -> bytes:
        """Return the chunk as JSON."""
        return encoded({"messages": list(self._messages), "details": self._details})

    def _message(self, message: str) -> int:
        text = visible(shortened(message, MOST_MESSAGE))
        if text not in self._messages:
            self._messages[text] = len(self._messages)
            self.size += len(text)
        return self._messages[text]


def encoded(value: Plain) -> bytes:
    """Write plain data as JSON, whatever text is in it."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(without_surrogates(msgspec.to_builtins(value, str_keys=True)))


def _about(run: FinishedRun) -> Plain:
    return {
        "id": run.run_id,
        "name": visible(run.name),
        "policy": run.policy,
        "engine": run.engine_version,
        "started": run.started,
        "seconds": round(run.duration, 3),
        "ending": run.ending,
        "sessions": run.sessions,
        "remaining": run.remaining,
    }


def _with_flaky_tests(
    rows: Sequence[_Row],
    names: Sequence[_Name],
    suites: Sequence[_Suite],
) -> list[_Row]:
    """Name the tests that differ between repeats, where the run itself has not."""
    same: dict[tuple[str, int], list[_Row]] = defaultdict(list)
    for row in rows:
        if row.fingerprint and row.broken is None:
            same[row.fingerprint, row.suite].append(row)
    mended = []
    for row in rows:
        repeats = same[row.fingerprint, row.suite] if row.fingerprint else []
        differing = [] if row.flaky else _differing(repeats)
        found = tuple(
            FlakyTest(
                id=names[suites[row.suite][0][place]][2],
                file_path=names[suites[row.suite][0][place]][1],
                statuses=tuple(_STATUSES[one.statuses[place]] for one in repeats),
            )
            for place in differing
        )
        mended.append(msgspec.structs.replace(row, flaky=found) if found else row)
    return mended


_STATUSES: Mapping[str, Status] = {letter: status for status, letter in _LETTERS.items()}


def _differing(repeats: Sequence[_Row]) -> list[int]:
    if len({row.statuses for row in repeats}) < 2:
        return []
    columns = zip(*(row.statuses for row in repeats), strict=True)
    return [place for place, letters in enumerate(columns) if len(set(letters)) > 1]
