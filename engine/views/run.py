"""A run as its directory tells it: one frozen value that every view renders.

Result lines are held in memory; tests, messages and output are read from the folder of an evaluation when
a view asks for them, so that a run of any size can be rendered.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from engine.errors import UserError
from engine.events import (
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    FlakyTest,
    ResultLine,
    RunFinished,
    RunStarted,
    WarningGiven,
    decode,
    decode_result,
)
from engine.journal import JournalState, replay, results
from engine.results import TestResult, Verdict
from engine.rundirectory import RunDirectory

MOST_OUTPUT = 64_000


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at an evaluation, in seconds since the run began."""

    evaluation_id: str
    attempt: int
    start: float
    end: float
    # A verdict, or "retried".
    outcome: str


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the folder of one evaluation."""

    tests: tuple[TestResult, ...] = ()
    stdout: str = ""
    stderr: str = ""
    # Why there are no tests, where the folder cannot be read.
    missing: str = ""


class FinishedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that views show of a run."""

    directory: RunDirectory
    name: str = ""
    policy: str = ""
    engine_version: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    # Empty while the run goes on, or where it was killed.
    ending: str = ""
    sessions: int = 0
    remaining: int = 0
    lines: tuple[ResultLine, ...] = ()
    # The names of checkpoints by problem, in the order of the plan.
    checkpoints: Mapping[str, tuple[str, ...]] = {}
    spans: tuple[Span, ...] = ()
    flaky: Mapping[str, tuple[FlakyTest, ...]] = {}
    warnings: tuple[WarningGiven, ...] = ()

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.directory.run_id

    @property
    def duration(self) -> float:
        """Seconds from the first event to the last."""
        return (self.ended - self.started).total_seconds() if self.started and self.ended else 0.0

    def details(self, line: ResultLine) -> Details:
        """Read the tests and the output of one evaluation. Blocks."""
        folder = self.directory.evaluation(line.id)
        try:
            kept = decode_result((folder / "evaluation.json").read_bytes())
        except FileNotFoundError:
            return Details(missing="its folder is gone")
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            return Details(missing=f"its evaluation.json cannot be read: {error}")
        return Details(
            tests=kept.tests or (),
            stdout=_output(folder / "stdout.txt"),
            stderr=_output(folder / "stderr.txt"),
        )


def load_run(directory: RunDirectory) -> FinishedRun:
    """Read a run; also one that still goes on. Blocks."""
    state = replay(directory.journal)
    if not state.sessions:
        raise UserError(f"{directory.path}: nothing has happened in this run yet")
    lines = tuple(
        msgspec.structs.replace(line, tests=msgspec.UNSET) for line in results(directory.journal, state)
    )
    history = _History()
    with directory.journal.open("rb") as file:
        for text in file:
            history.read(text)
    return FinishedRun(
        directory=directory,
        name=history.name,
        policy=state.policy,
        engine_version=history.engine_version,
        started=history.started,
        ended=history.last,
        ending=history.ending,
        sessions=state.sessions,
        remaining=sum(not state.is_done(name) for name in state.planned),
        lines=lines,
        checkpoints=_checkpoints(lines, state),
        spans=tuple(history.spans),
        flaky={**_differing_repeats(lines), **history.flaky},
        warnings=tuple(history.warnings),
    )


class _History:
    """A journal being read for when things happened."""

    def __init__(self) -> None:
        self.name = self.engine_version = self.ending = ""
        self.started: datetime | None = None
        self.last: datetime | None = None
        self.spans: list[Span] = []
        self.flaky: dict[str, tuple[FlakyTest, ...]] = {}
        self.warnings: list[WarningGiven] = []
        self._open: dict[str, datetime] = {}

    def read(self, text: bytes) -> None:
        try:
            event = decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        # The events of a plan are dated when they are made, which may be before the run begins.
        if isinstance(event, RunStarted) and self.started is None:
            self.started = event.timestamp
        self.last = max(event.timestamp, self.last or event.timestamp)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.name, self.engine_version, self.ending = event.name, event.engine_version, ""
                self._open.clear()
            case RunFinished():
                self.ending = event.ending
            case EvaluationStarted(evaluation_id=str(name)):
                self._open[name] = event.timestamp
            case EvaluationRetried(evaluation_id=str(name)):
                self._close(name, event.attempt, event.timestamp, "retried")
            case EvaluationFinished(result=result):
                self._close(result.id, result.attempt, event.timestamp, result.verdict.value)
            case EvaluationFlaky(evaluation_id=str(name)):
                self.flaky[name] = event.tests
            case WarningGiven():
                self.warnings.append(event)
            case _:
                pass

    def _close(self, name: str, attempt: int, end: datetime, outcome: str) -> None:
        start = self._open.pop(name, None)
        if start is None or self.started is None:
            return
        self.spans.append(
            Span(
                evaluation_id=name,
                attempt=attempt,
                start=(start - self.started).total_seconds(),
                end=(end - self.started).total_seconds(),
                outcome=outcome,
            )
        )


def _output(path: Path) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if size <= MOST_OUTPUT:
                return file.read().decode("utf-8", "replace")
            file.seek(size - MOST_OUTPUT)
            end = file.read().decode("utf-8", "replace")
            return f"[... {size - MOST_OUTPUT} bytes left out ...]\n{end}"
    except OSError:
        return ""


def _checkpoints(lines: Iterable[ResultLine], state: JournalState) -> Mapping[str, tuple[str, ...]]:
    """Order checkpoints as the plan has them: their names are free and say nothing about it."""
    position = {name: index for index, name in enumerate(state.planned)}
    first: dict[str, dict[str, int]] = defaultdict(dict)
    for line in lines:
        place = position.get(line.id, len(position))
        known = first[line.problem_name]
        known[line.checkpoint_name] = min(place, known.get(line.checkpoint_name, place))
    return {
        problem: tuple(sorted(known, key=lambda name: (known[name], name)))
        for problem, known in sorted(first.items())
    }


def _differing_repeats(lines: Iterable[ResultLine]) -> Mapping[str, tuple[FlakyTest, ...]]:
    """Find evaluations whose repeats, with nothing changed, came out differently."""
    same: dict[str, list[ResultLine]] = defaultdict(list)
    for line in lines:
        if line.fingerprint and line.verdict is not Verdict.BROKEN:
            same[line.fingerprint].append(line)
    return {
        line.id: ()
        for repeats in same.values()
        if len({(one.verdict, tuple(sorted(one.pass_counts.items()))) for one in repeats}) > 1
        for line in repeats
    }
