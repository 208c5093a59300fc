"""One evaluation as the scheduler sees it: answered from the store where nothing has changed, else run."""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from engine.durations import Durations
from engine.evaluation import Evaluation, Versions, take_fingerprint
from engine.events import FlakyTest
from engine.foresight import recorded_versions
from engine.locks import Locks
from engine.problem import ProblemConfig, load_problem
from engine.results import Broken, BrokenKind, CorrectnessResults, Status, tally
from engine.runner import Evaluated, PytestRunner, Workshop
from engine.sandbox import Progress
from engine.sandbox.wire import grader_version
from engine.store import InFlight, Store, StoreKey
from engine.treehash import TreeHasher
from engine.work import Attempt, Loss, LossReason

OnProgress = Callable[[Evaluation, Progress], None]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one attempt."""

    evaluated: Evaluated
    fingerprint: str | None = None
    # A hash of each ingredient of the fingerprint by name.
    ingredients: Mapping[str, str] = {}
    cached: bool = False
    # The daemon did not answer: the attempt had no chance.
    silent: bool = False
    flaky: tuple[FlakyTest, ...] = ()

    @property
    def broken(self) -> Broken | None:
        """Why there is no verdict, where there is none."""
        return self.evaluated.results.broken


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What is known from earlier runs."""

    store: Store
    hasher: TreeHasher
    durations: Durations
    # Whether a stored result may be the answer; what is run is remembered in any case.
    accept: Callable[[CorrectnessResults], bool] = lambda _results: True


class Executor:
    """Carries out evaluations of one batch."""

    def __init__(
        self,
        workshops: Mapping[str, Workshop],
        memory: Memory,
        on_progress: OnProgress,
        rerun_failing: int = 0,
    ) -> None:
        self._workshops = workshops
        self._memory = memory
        self._on_progress = on_progress
        self._rerun_failing = rerun_failing
        self._in_flight = InFlight()
        self._problems: dict[str, ProblemConfig] = {}
        # Found while the plan was read ahead; no more than the scheduler's window.
        self._answers: dict[str, Outcome] = {}
        self._silent_at = -math.inf

    def note_silence(self) -> None:
        """Take note that the daemon does not answer just now."""
        self._silent_at = time.monotonic()

    def foresee(
        self, evaluations: Iterable[Evaluation], digests: Mapping[tuple[str, str], str]
    ) -> Iterator[Evaluation]:
        """Hand evaluations on, looking up each that can be without waiting. Blocks, in the plan's thread."""
        for evaluation in evaluations:
            environment = evaluation.environment
            digest = digests.get((environment.sandbox, environment.image))
            if digest is not None:
                locks = self._workshops[environment.sandbox].preparer.locks
                # What cannot be read now is told when its turn comes.
                with contextlib.suppress(OSError):
                    problem = self._load_problem(evaluation.problem_path)
                    found = self._find(evaluation, problem, digest, locks)
                    if isinstance(found, Outcome):
                        self._answers[evaluation.id] = found
            yield evaluation

    async def execute(self, evaluation: Evaluation, _attempt: Attempt) -> Outcome:
        """Answer from the store or run; equal evaluations at the same time run once."""
        answer = self._answers.pop(evaluation.id, None)
        if answer is not None and not self._rerun_failing:
            return answer
        problem = await anyio.to_thread.run_sync(self._load_problem, evaluation.problem_path)
        runner = PytestRunner(
            problem,
            problem.checkpoint(evaluation.checkpoint),
            evaluation.environment,
            Path(evaluation.submission),
            evaluation.limits,
        )
        workshop = self._workshops[evaluation.environment.sandbox]
        known = await self._look_up(evaluation, problem, workshop)
        if isinstance(known, StoreKey):
            async with self._in_flight.sole(known):
                again = await self._look_up(evaluation, problem, workshop)
                found = again if isinstance(again, Outcome) else None
                outcome = found or await self._run(evaluation, runner, workshop)
        else:
            outcome = known or await self._run(evaluation, runner, workshop)
        flaky = await self._run_failing_again(evaluation, runner, workshop, outcome.evaluated.results)
        return msgspec.structs.replace(outcome, flaky=flaky)

    async def _look_up(
        self, evaluation: Evaluation, problem: ProblemConfig, workshop: Workshop
    ) -> Outcome | StoreKey | None:
        """Return the stored outcome, else the key that it would have, else nothing."""
        image = evaluation.environment.image
        digest = await workshop.sandbox.image_digest(
            image, lambda progress: self._on_progress(evaluation, progress)
        )
        if isinstance(digest, Broken):
            return None
        return await anyio.to_thread.run_sync(
            self._find, evaluation, problem, digest, workshop.preparer.locks
        )

    def _find(
        self, evaluation: Evaluation, problem: ProblemConfig, digest: str, locks: Locks
    ) -> Outcome | StoreKey | None:
        versions = recorded_versions(evaluation, problem, digest, locks, self._memory.hasher)
        if versions is None:
            return None
        key, ingredients = self._key(evaluation, versions, problem)
        stored = self._memory.store.get(key)
        if stored is None or not self._memory.accept(stored):
            return key
        return Outcome(
            evaluated=Evaluated(results=stored),
            fingerprint=key.fingerprint,
            ingredients=ingredients,
            cached=True,
        )

    def _load_problem(self, path: str) -> ProblemConfig:
        if path not in self._problems:
            self._problems[path] = load_problem(Path(path))
        return self._problems[path]

    def _key(
        self, evaluation: Evaluation, versions: Versions, problem: ProblemConfig
    ) -> tuple[StoreKey, Mapping[str, str]]:
        taken = take_fingerprint(evaluation, versions, self._memory.hasher, problem)
        key = StoreKey(fingerprint=taken.value, repeat_index=evaluation.repeat_index)
        return key, taken.ingredients

    async def _run(self, evaluation: Evaluation, runner: PytestRunner, workshop: Workshop) -> Outcome:
        started = time.monotonic()
        evaluated = await runner.evaluate(
            workshop, lambda progress: self._on_progress(evaluation, progress), evaluation.id
        )
        results = evaluated.results
        if results.broken is not None:
            return await self._without_verdict(evaluated, workshop, was_silent=self._silent_at >= started)
        versions = _versions(results)
        key, ingredients = await anyio.to_thread.run_sync(self._key, evaluation, versions, runner.problem)
        await anyio.to_thread.run_sync(self._memory.store.put, key, results)
        self._memory.durations.put(evaluation.id, results.timings.get("run", results.duration))
        return Outcome(evaluated=evaluated, fingerprint=key.fingerprint, ingredients=ingredients)

    async def _without_verdict(
        self, evaluated: Evaluated, workshop: Workshop, *, was_silent: bool
    ) -> Outcome:
        broken = evaluated.results.broken
        if broken is not None and broken.kind is BrokenKind.DAEMON_ERROR:
            return Outcome(evaluated=evaluated, silent=was_silent or await _is_silent(workshop))
        # A time limit goes on while nothing can be heard: that is no more its fault than a crowd is.
        starved = evaluated.starved or was_silent
        return Outcome(evaluated=msgspec.structs.replace(evaluated, starved=starved))

    async def _run_failing_again(
        self, evaluation: Evaluation, runner: PytestRunner, workshop: Workshop, results: CorrectnessResults
    ) -> tuple[FlakyTest, ...]:
        """Run what did not pass again, in fresh containers; the verdict stays that of the first run."""
        if results.broken is not None or not self._rerun_failing:
            return ()
        first = {f"{test.file_path}::{test.id}": test for test in results.tests}
        failing = tuple(name for name, test in first.items() if test.status in ("failed", "error"))
        seen: dict[str, list[Status | None]] = {name: [first[name].status] for name in failing}
        for _ in range(self._rerun_failing if failing else 0):
            again = await runner.evaluate(workshop, evaluation_id=evaluation.id, only=failing)
            statuses = {f"{test.file_path}::{test.id}": test.status for test in again.results.tests}
            for name in failing:
                seen[name].append(statuses.get(name))
        return tuple(
            FlakyTest(id=first[name].id, file_path=first[name].file_path, statuses=tuple(statuses))
            for name, statuses in seen.items()
            if "passed" in statuses
        )


async def _is_silent(workshop: Workshop) -> bool:
    with anyio.move_on_after(5):
        return await workshop.sandbox.latency() is None
    return True


def _versions(results: CorrectnessResults) -> Versions:
    record = results.environment
    return Versions(
        image_digest=record.image_digest,
        toolchain=record.toolchain,
        packages=record.packages,
        grader=grader_version(),
    )


_LOSSES = {
    LossReason.INTERRUPTED: (BrokenKind.INTERRUPTED, "interrupted; --resume runs it"),
    LossReason.CANCELLED: (BrokenKind.INTERRUPTED, "cancelled"),
    LossReason.BATCH_DEADLINE: (BrokenKind.BATCH_TIMEOUT, "the time limit of the batch; --resume runs it"),
    LossReason.BACKSTOP: (BrokenKind.DAEMON_ERROR, "nothing ended it within its limits"),
    LossReason.CRASHED: (BrokenKind.DAEMON_ERROR, "a bug in the engine"),
}


def lost(evaluation: Evaluation, loss: Loss) -> Outcome:
    """Say of an evaluation that did not end by itself why it has no verdict."""
    kind, detail = _LOSSES[loss.reason]
    if loss.error is not None:
        detail = f"{detail}: {type(loss.error).__name__}: {loss.error}"
    passed, total = tally(())
    results = CorrectnessResults(
        problem_name=evaluation.problem_name,
        checkpoint_name=evaluation.checkpoint,
        duration=0.0,
        pass_counts=passed,
        total_counts=total,
        infrastructure_failure=True,
        broken=Broken.of(kind, detail),
    )
    return Outcome(evaluated=Evaluated(results=results))
