"""From what the scheduler says to what the world is told: events, result lines, counts, files."""

import importlib.metadata
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from engine.evaluation import Evaluation
from engine.events import (
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    ResultLine,
    RunCounts,
    RunDraining,
    RunFinished,
    RunStarted,
)
from engine.execution import Outcome
from engine.grading import judge
from engine.journal import ResultRecord
from engine.results import Verdict
from engine.retries import Retry
from engine.rundirectory import Outputs, RunDirectory
from engine.work import Draining, Ending, Finished, Retried, SchedulerEvent, Started

Untold = tuple[ResultLine, Finished[Evaluation, Outcome]]


class Narrator:
    """Tells one run: every scheduler event as a public one, with the files that belong to it written."""

    def __init__(
        self,
        directory: RunDirectory,
        policy: str,
        *,
        with_tests: bool,
        earlier: Mapping[str, ResultRecord] = MappingProxyType({}),
    ) -> None:
        self._directory = directory
        self._policy = policy
        self._with_tests = with_tests
        # What earlier sessions have told already.
        self._earlier = earlier
        self.counts = RunCounts()
        self._unwritten: list[Untold] = []

    def started(self, name: str, *, resumed: bool) -> RunStarted:
        """Tell that a session begins."""
        return RunStarted(
            run_id=self._directory.run_id,
            name=name,
            engine_version=importlib.metadata.version("scbench-engine"),
            policy=self._policy,
            resumed=resumed,
        )

    def finished(self, ending: Ending, duration: float, exit_code: int) -> RunFinished:
        """Tell that the session is over."""
        return RunFinished(
            run_id=self._directory.run_id,
            ending=ending.name,
            counts=self.counts,
            duration=duration,
            exit_code=exit_code,
        )

    def take_unwritten(self) -> list[Untold]:
        """Take the evaluations that were told of since the last time; their folders are yet to be written."""
        unwritten, self._unwritten = self._unwritten, []
        return unwritten

    def write_files(self, unwritten: list[Untold]) -> None:
        """Write the folders of evaluations. Blocks."""
        for line, event in unwritten:
            evaluated = event.outcome.evaluated
            outputs = Outputs(stdout=evaluated.stdout, stderr=evaluated.stderr, reports=evaluated.reports)
            self._directory.write_evaluation(line, event.item, None if line.cached else outputs)

    def tell(self, event: SchedulerEvent[Evaluation, Outcome]) -> tuple[Event, ...]:
        """Turn one event of the scheduler into public ones."""
        if isinstance(event, Finished):
            return (self._tell_finished(event), *self._tell_flaky(event))
        return (self._tell_simple(event),)

    def _tell_flaky(self, event: Finished[Evaluation, Outcome]) -> tuple[Event, ...]:
        if not event.outcome.flaky:
            return ()
        self.counts = msgspec.structs.replace(self.counts, flaky=self.counts.flaky + 1)
        item = event.item
        return (
            EvaluationFlaky(
                run_id=self._directory.run_id,
                evaluation_id=item.id,
                labels=dict(item.labels),
                tests=event.outcome.flaky,
            ),
        )

    def _tell_simple(self, event: Started[Evaluation] | Retried[Evaluation, Outcome] | Draining) -> Event:
        run_id = self._directory.run_id
        match event:
            case Started(item=item, attempt=attempt):
                return EvaluationStarted(
                    run_id=run_id,
                    evaluation_id=item.id,
                    labels=dict(item.labels),
                    attempt=attempt.number,
                    alone=attempt.alone,
                )
            case Retried(item=item, attempt=attempt, outcome=outcome, decision=decision):
                again = decision if isinstance(decision, Retry) else None
                return EvaluationRetried(
                    run_id=run_id,
                    evaluation_id=item.id,
                    labels=dict(item.labels),
                    attempt=attempt.number,
                    broken=outcome.broken,
                    duration=outcome.evaluated.results.duration,
                    delay=again.delay if again else 0.0,
                    alone=again is None,
                    counted=again.counted if again else True,
                )
            case Draining(reason=reason, running=running):
                hint = "" if reason == "cancelled" else "a second signal ends them now"
                return RunDraining(run_id=run_id, reason=reason, running=running, hint=hint)

    def _tell_finished(self, event: Finished[Evaluation, Outcome]) -> EvaluationFinished:
        line = self._line(event)
        self._unwritten.append((line, event))
        self._count(line)
        line = msgspec.structs.replace(line, ingredients=msgspec.UNSET)
        if not self._with_tests:
            line = msgspec.structs.replace(line, tests=msgspec.UNSET)
        return EvaluationFinished(run_id=line.run_id, evaluation_id=line.id, labels=line.labels, result=line)

    def _line(self, event: Finished[Evaluation, Outcome]) -> ResultLine:
        item, results = event.item, event.outcome.evaluated.results
        earlier = self._earlier.get(item.id)
        return ResultLine(
            run_id=self._directory.run_id,
            id=item.id,
            problem_name=item.problem_name,
            checkpoint_name=item.checkpoint,
            labels=dict(item.labels),
            verdict=judge(results, self._policy),
            broken=results.broken,
            policy=self._policy,
            pass_counts=results.pass_counts,
            total_counts=results.total_counts,
            duration=results.duration,
            timings=results.timings,
            pytest_exit_code=results.pytest_exit_code,
            pytest_collected=results.pytest_collected,
            infrastructure_failure=results.infrastructure_failure,
            attempts=event.attempts,
            cached=event.outcome.cached,
            fingerprint=event.outcome.fingerprint,
            ingredients=event.outcome.ingredients,
            environment=results.environment,
            integrity=results.integrity,
            tests=results.tests,
            attempt=event.attempt.number,
            supersedes=earlier.attempt if earlier is not None else None,
        )

    def _count(self, line: ResultLine) -> None:
        counts = self.counts
        self.counts = msgspec.structs.replace(
            counts,
            passed=counts.passed + (line.verdict is Verdict.PASSED),
            failed=counts.failed + (line.verdict is Verdict.FAILED),
            broken=counts.broken + (line.verdict is Verdict.BROKEN),
            cached=counts.cached + line.cached,
        )
