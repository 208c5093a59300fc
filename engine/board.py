"""What is known of a run while it goes on: the state behind the live display.

Fed by events and by glimpses of running evaluations; knows nothing of terminals. `boardview.py` draws it.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from time import monotonic

import msgspec

from engine.evaluation import Evaluation
from engine.events import (
    AdmissionChanged,
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    Event,
    ResultLine,
    RunCounts,
    RunDraining,
    RunStarted,
)
from engine.results import GroupType, Verdict
from engine.sandbox import Progress
from engine.views.text import one_line

# Over how many endings the rate is taken, and how many failures are remembered.
RATE_WINDOW = 64
LAST_FAILURES = 5
PREPARING = "prepare"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation under way, as far as it was glimpsed."""

    name: str
    progress: Progress
    # When it began or, once everything is prepared, when its time limit began to count.
    since: float
    limit: float


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation that did not pass, and why."""

    verdict: Verdict
    name: str
    reason: str


class Board:
    """Everything that the live display shows."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.title = ""
        self.total: int | None = None
        self.counts = RunCounts()
        self.running: dict[str, Running] = {}
        self.failures: deque[Failure] = deque(maxlen=LAST_FAILURES)
        self.admission: AdmissionChanged | None = None
        self.draining: RunDraining | None = None
        self._began = clock()
        self._endings: deque[float] = deque(maxlen=RATE_WINDOW)
        self._places: list[str | None] = []

    @property
    def done(self) -> int:
        """How many evaluations have their outcome."""
        return self.counts.passed + self.counts.failed + self.counts.broken

    def glimpse(self, evaluation: Evaluation, progress: Progress) -> None:
        """Take in what a running evaluation is at."""
        before = self.running.get(evaluation.id)
        since = before.since if before else self.clock()
        if before and before.progress.phase == PREPARING != progress.phase:
            since = self.clock()
        self.running[evaluation.id] = Running(
            name=name_of(evaluation), progress=progress, since=since, limit=evaluation.limits.evaluation
        )

    def take(self, event: Event) -> None:
        """Take in something that happened."""
        match event:
            case RunStarted(name=name):
                self.title = name
            case EvaluationRetried(evaluation_id=str(identity)):
                self.running.pop(identity, None)
            case EvaluationFinished(result=result):
                self._finish(result)
            case EvaluationFlaky():
                self.counts = msgspec.structs.replace(self.counts, flaky=self.counts.flaky + 1)
            case AdmissionChanged():
                self.admission = event
            case RunDraining():
                self.draining = event
            case _:
                pass

    def _finish(self, result: ResultLine) -> None:
        self.running.pop(result.id, None)
        self._endings.append(self.clock())
        counts = self.counts
        self.counts = msgspec.structs.replace(
            counts,
            passed=counts.passed + (result.verdict is Verdict.PASSED),
            failed=counts.failed + (result.verdict is Verdict.FAILED),
            broken=counts.broken + (result.verdict is Verdict.BROKEN),
            cached=counts.cached + result.cached,
        )
        if result.verdict is not Verdict.PASSED:
            failure = Failure(verdict=result.verdict, name=name_of_result(result), reason=reason_of(result))
            self.failures.append(failure)

    def rate(self) -> float | None:
        """Tell how many evaluations end in a second, of late; None while too few have."""
        if len(self._endings) < 2:
            return None
        whole = len(self._endings) < RATE_WINDOW
        first = self._began if whole else self._endings[0]
        elapsed = self.clock() - first
        return (len(self._endings) - (not whole)) / elapsed if elapsed > 0 else None

    def remaining_seconds(self) -> float | None:
        """Estimate how long the rest takes; None while nobody can tell."""
        rate = self.rate()
        if not rate or self.total is None or self.draining is not None:
            return None
        return max(0, self.total - self.done) / rate

    def places(self, count: int) -> list[Running | None]:
        """Choose what has a line of its own.

        Each keeps its line until it ends; then the one that has run longest without a line gets it, so that
        nothing jumps about and what hangs comes into view.
        """
        kept = [name if name in self.running else None for name in self._places[:count]]
        waiting = (name for name in self.running if name not in kept)
        filled = [name if name is not None else next(waiting, None) for name in kept]
        filled += [name for name, _ in zip(waiting, range(count - len(filled)), strict=False)]
        while filled and filled[-1] is None:
            filled.pop()
        self._places = filled
        return [None if name is None else self.running[name] for name in filled]

    def hidden_phases(self) -> Mapping[str, int]:
        """Count, by phase, what runs without a line of its own."""
        shown = set(self._places)
        return Counter(one.progress.phase for name, one in self.running.items() if name not in shown)


def first_line(text: str, limit: int = 200) -> str:
    """Return the first line of a text, visible and not longer than a limit."""
    return one_line(text.strip().partition("\n")[0], limit)


def name_of(evaluation: Evaluation) -> str:
    """Name an evaluation as people do."""
    again = (f"#{evaluation.repeat_index + 1}",) if evaluation.repeat_index else ()
    words = (evaluation.problem_name, evaluation.checkpoint, *dict(evaluation.labels).values(), *again)
    return one_line(" ".join(words))


def name_of_result(result: ResultLine) -> str:
    """Name the evaluation of a result as people do."""
    return one_line(" ".join((result.problem_name, result.checkpoint_name, *result.labels.values())))


def reason_of(result: ResultLine) -> str:
    """Say in a few words why an evaluation did not pass."""
    if result.broken is not None:
        return f"{result.broken.kind} ({result.broken.fault}): {first_line(result.broken.detail)}"
    short = [
        f"{group} {result.pass_counts.get(group, 0)}/{result.total_counts[group]}"
        for group in GroupType
        if result.pass_counts.get(group, 0) < result.total_counts.get(group, 0)
    ]
    return f"passed only {', '.join(short)}" if short else "no test that the policy asks for"
