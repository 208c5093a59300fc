"""The pipeline: manifest to plan to scheduler to results, and every event to every sink.

The only module that knows all parts. A new sink is a line in `Batch._open_sinks`; another way to execute
is another callable for `Work`.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from engine import admission, host, throttle
from engine.durations import Durations
from engine.environment import SandboxName
from engine.evaluation import Evaluation
from engine.events import AdmissionChanged, Event, RunCounts, RunStarted, WarningGiven
from engine.execution import Executor, Memory, Outcome, lost
from engine.grading import judge
from engine.journal import Journal, JournalState, Rerun, replay, write_results
from engine.lines import BadLine
from engine.manifest import Manifest, load_manifests
from engine.narration import Narrator
from engine.paths import cache_folder, state_folder
from engine.plan import expand
from engine.results import CorrectnessResults, Verdict
from engine.resume import PlanRecorder, refuse_changed_plan
from engine.retries import Alone, Retry, RetrySettings, decide
from engine.rundirectory import RunDirectory
from engine.runner import Workshop
from engine.sandbox import Progress
from engine.sandbox.choice import open_sandbox
from engine.scheduler import Scheduler
from engine.sinks import JsonLines, JsonLinesSettings, Sink, open_output
from engine.store import Store
from engine.treehash import TreeHasher
from engine.window import Limit, Order
from engine.work import Ending, SchedulerEvent, SchedulerSettings, Work

STREAM_SIZE = 64
# The exit code of a run that was stopped before its end, as shells have it for SIGINT.
INTERRUPTED = 130
# Seconds that a reader who is in the way of a quick end still gets.
LAST_WORDS = 1.0
Lines = AsyncIterable[Evaluation | BadLine]
OnProgress = Callable[[Evaluation, Progress], None]


class BatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a manifest, as far as it does not say so itself."""

    output: Path | None = None
    run_id: str | None = None
    resume: str | None = None
    force: bool = False
    select: tuple[str, ...] = ()
    concurrency: int | None = None
    sandbox: SandboxName | None = None
    rerun: Rerun | None = None
    use_cache: bool = True
    # Distrust what is remembered about unchanged files.
    rehash: bool = False
    jsonl: tuple[str, ...] = ()
    with_tests: bool = False
    fail_on: Literal["broken", "failed"] = "broken"
    # How often failing tests are run again, to find the flaky ones.
    rerun_failing: int = 0


AS_THE_MANIFEST_SAYS = BatchOptions()


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How a run came out."""

    run_id: str
    path: str
    ending: str
    counts: RunCounts
    duration: float
    exit_code: int


def _ignore(_evaluation: Evaluation, _progress: Progress) -> None:
    pass


class Batch:
    """One run of one manifest: start it with `run`; `drain` and `cancel` may be called meanwhile."""

    def __init__(
        self,
        manifest: Manifest,
        options: BatchOptions = AS_THE_MANIFEST_SAYS,
        lines: Lines | None = None,
        on_progress: OnProgress = _ignore,
    ) -> None:
        self.manifest = manifest
        self.options = options
        self._lines = lines
        self._on_progress = on_progress
        self._earlier = JournalState()
        self.directory = self._open_directory()
        self._recorder = PlanRecorder(self.directory.run_id)
        self._narrator = Narrator(
            self.directory,
            manifest.policy,
            with_tests=options.with_tests,
            earlier=self._earlier.records,
        )
        self._narrator.counts = self._kept_counts()
        self._scheduler: Scheduler[Evaluation, Outcome] | None = None
        self._bad_lines = 0
        # What it exits with because it was stopped; whether to wait for nobody any more.
        self._stopped_with: int | None = None
        self._hurried = False
        # The wait for readers: to come, and to take what they are told.
        self._opening: anyio.CancelScope | None = None
        self._telling: anyio.CancelScope | None = None

    def _open_directory(self) -> RunDirectory:
        output = self.options.output or Path(self.manifest.output)
        if self.options.resume is None:
            return RunDirectory.create(output, self.options.run_id)
        directory = RunDirectory.find(output, self.options.resume)
        if directory.journal.exists():
            self._earlier = replay(directory.journal)
        if self._lines is None and not self.options.force:
            ids = (evaluation.id for evaluation in expand(self.manifest, self.options.select))
            refuse_changed_plan(self._earlier, ids, None)
        return directory

    def _kept_counts(self) -> RunCounts:
        records = self._earlier.records
        kept = Counter(
            records[name].verdict for name in records if self._earlier.is_done(name, self.options.rerun)
        )
        return RunCounts(
            passed=kept[Verdict.PASSED], failed=kept[Verdict.FAILED], broken=kept[Verdict.BROKEN]
        )

    @property
    def counts(self) -> RunCounts:
        """How the evaluations came out so far, earlier sessions included."""
        return self._narrator.counts

    @property
    def running(self) -> int:
        """How many evaluations are under way."""
        return self._scheduler.running if self._scheduler else 0

    def drain(self, exit_code: int = INTERRUPTED) -> None:
        """Start nothing more; what runs may finish. The exit code of the run is that of the first call."""
        self._stopped_with = self._stopped_with or exit_code
        if self._opening is not None:
            self._opening.cancel()
        if self._scheduler is not None:
            self._scheduler.drain()

    def cancel(self, exit_code: int = INTERRUPTED) -> None:
        """End everything now."""
        self.drain(exit_code)
        self._hurried = True
        if self._telling is not None:
            self._telling.deadline = anyio.current_time() + LAST_WORDS
        if self._scheduler is not None:
            self._scheduler.cancel()

    def cancel_evaluation(self, evaluation_id: str) -> bool:
        """End one evaluation that runs or waits, and let the others go on; False if there is none such."""
        return self._scheduler is not None and self._scheduler.cancel_item(evaluation_id)

    async def run(self, sinks: Sequence[Sink] = ()) -> Summary:
        """Run everything; what is left is a complete run directory, whatever happened."""
        started = time.monotonic()
        trees: list[object] = [part.layers.tree for part in self.manifest.parts]
        await anyio.to_thread.run_sync(self.directory.write_manifest, trees)
        async with contextlib.AsyncExitStack() as stack:
            workshops: dict[str, Workshop] = {}
            for name in self._sandboxes():
                sandbox = await stack.enter_async_context(open_sandbox(name, self.directory.run_id))
                workshops[name] = Workshop.of(sandbox, self.manifest.concurrency.prepare)
            journal = await anyio.to_thread.run_sync(Journal.open, self.directory.journal)
            stack.push_async_callback(journal.aclose)
            if self._earlier.sessions:
                # A session that was killed may have left half a line, or none, of what its journal has.
                await anyio.to_thread.run_sync(self._project_results)
            outputs = [*sinks, *await self._open_sinks(stack)]
            ending = await self._schedule(workshops, journal, outputs, started)
        await anyio.to_thread.run_sync(self._project_results)
        summary = self._summary(ending, time.monotonic() - started)
        await anyio.to_thread.run_sync(self.directory.write_summary, summary)
        return summary

    def _sandboxes(self) -> list[SandboxName]:
        if self.options.sandbox is not None:
            return [self.options.sandbox]
        parts = self.manifest.parts
        used = [one for part in parts for one in (*part.matrix, *part.environments.values())]
        return sorted({environment.sandbox for environment in used})

    async def _open_sinks(self, stack: contextlib.AsyncExitStack) -> list[Sink]:
        sinks: list[Sink] = []
        # A pipe waits for its reader, who may never come.
        with anyio.CancelScope() as self._opening:
            if self._stopped_with is not None:
                self._opening.cancel()
            for target in (str(self.directory.results), *self.options.jsonl):
                sink = JsonLines(await open_output(target), JsonLinesSettings(content="results"))
                stack.push_async_callback(sink.aclose)
                sinks.append(sink)
        return sinks

    async def _schedule(
        self, workshops: dict[str, Workshop], journal: Journal, sinks: Sequence[Sink], started: float
    ) -> Ending:
        send, receive = anyio.create_memory_object_stream[Event](STREAM_SIZE)
        level = self._admission()
        async with contextlib.AsyncExitStack() as stack:
            memory = self._memory(stack)
            executor = Executor(workshops, memory, self._on_progress, self.options.rerun_failing)
            self._scheduler = self._make_scheduler(executor, level, send, memory.durations)
            if self._stopped_with is not None:
                self._scheduler.drain()
            # Closed after the group: who still wants to tell something when writing has failed is cancelled.
            stack.enter_context(receive)
            stack.enter_context(send)
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(self._write_events, receive, journal, list(sinks))
            await send.send(self._narrator.started(self.manifest.name, resumed=self._earlier.sessions > 0))
            for warning in self.manifest.warnings:
                await send.send(self._warning("manifest", warning))
            async with anyio.create_task_group() as monitors:
                monitors.start_soon(self._watch, self._watched(workshops, executor), level, send)
                digests = await self._known_digests(workshops)
                ending = await self._scheduler.run(self._evaluations(send, executor, digests))
                monitors.cancel_scope.cancel()
            duration = time.monotonic() - started
            await send.send(self._narrator.finished(ending, duration, self._exit_code(ending)))
            await send.aclose()
        return ending

    def _memory(self, stack: contextlib.AsyncExitStack) -> Memory:
        hasher = stack.enter_context(TreeHasher(cache_folder() / "hashes.sqlite", rehash=self.options.rehash))
        durations = stack.enter_context(Durations(state_folder() / "durations.sqlite"))
        store = Store(state_folder() / "results")
        return Memory(store=store, hasher=hasher, durations=durations, accept=self._accept)

    def _accept(self, stored: CorrectnessResults) -> bool:
        if not self.options.use_cache or self.options.rerun == "all":
            return False
        return judge(stored, self.manifest.policy).value != self.options.rerun

    def _make_scheduler(
        self,
        executor: Executor,
        level: admission.Admission,
        send: MemoryObjectSendStream[Event],
        durations: Durations,
    ) -> Scheduler[Evaluation, Outcome]:
        async def emit(event: SchedulerEvent[Evaluation, Outcome]) -> None:
            for told in self._narrator.tell(event):
                await send.send(told)

        settings = SchedulerSettings(
            batch=level.limit, deadline=self.manifest.timeouts.batch, backstop=self._backstop()
        )
        work = Work(
            execute=executor.execute,
            lost=lost,
            retry=self._retry,
            earlier_attempts=lambda item: self._earlier.attempts.get(item.id, 0),
        )
        scheduler = Scheduler(settings, work, self._order(durations), emit)
        scheduler.admit(level.level)
        return scheduler

    def _backstop(self) -> float:
        """Return what no evaluation takes, even one that waits for the preparations of others."""
        limits = [part.timeouts.limits(None) for part in self.manifest.parts]
        return 3600.0 + 2 * max(one.setup + one.evaluation for one in limits)

    def _admission(self) -> admission.Admission:
        chosen = self.options.concurrency or self.manifest.concurrency.batch
        if isinstance(chosen, int):
            return admission.fixed(chosen)
        memory = host.memory()
        total = memory.total if memory else 4 << 30
        return admission.automatic(cores=host.cores(), memory=total, memory_each=1 << 30)

    def _order(self, durations: Durations) -> Order[Evaluation]:
        concurrency = self.manifest.concurrency
        limits: list[Limit[Evaluation]] = []
        if concurrency.per_problem is not None:
            at_most = concurrency.per_problem
            limits.append(Limit(name="problem", key=lambda item: item.problem_name, at_most=at_most))
        for name, at_most in concurrency.per_label.items():
            limits.append(Limit(name=f"label:{name}", key=_label_key(name), at_most=at_most))
        return Order(
            limits=tuple(limits),
            shares=(lambda item: item.problem_name, lambda item: str(item.labels)),
            expected=lambda item: durations.get(item.id),
        )

    def _retry(self, _evaluation: Evaluation, outcome: Outcome, counted: int) -> Retry | Alone | None:
        if outcome.silent:
            return Retry(delay=throttle.EVERY, counted=False)
        retries = self.manifest.retries
        settings = RetrySettings(infrastructure=retries.infrastructure, timeouts=retries.timeouts)
        spread = random.random()  # noqa: S311 - keeps retries apart, hides nothing
        starved = outcome.evaluated.starved
        return decide(settings, outcome.broken, attempt=counted, starved=starved, spread=spread)

    async def _known_digests(self, workshops: dict[str, Workshop]) -> dict[tuple[str, str], str]:
        """Tell the digests of images that are here, so that stored results are found without waiting."""
        parts = self.manifest.parts
        images = {one.image for part in parts for one in (*part.matrix, *part.environments.values())}
        known: dict[tuple[str, str], str] = {}
        for name, workshop in workshops.items():
            for image in images:
                with anyio.move_on_after(throttle.PATIENCE):
                    digest = await workshop.sandbox.known_digest(image)
                    if digest is not None:
                        known[name, image] = digest
        return known

    def _evaluations(
        self, send: MemoryObjectSendStream[Event], executor: Executor, digests: dict[tuple[str, str], str]
    ) -> Iterable[Evaluation] | AsyncIterable[Evaluation]:
        if self._lines is not None:
            return self._good_lines(self._lines, send)
        items = self._recorder.through(expand(self.manifest, self.options.select))
        wanted = (self._placed(item) for item in items if not self._is_done(item))
        return executor.foresee(wanted, digests)

    async def _good_lines(
        self, lines: Lines, send: MemoryObjectSendStream[Event]
    ) -> AsyncIterator[Evaluation]:
        async for item in lines:
            if isinstance(item, BadLine):
                self._bad_lines += 1
                await send.send(self._warning("bad_line", item.message))
            elif not self._is_done(item):
                yield self._placed(item)

    def _is_done(self, evaluation: Evaluation) -> bool:
        return self._earlier.is_done(evaluation.id, self.options.rerun)

    def _placed(self, evaluation: Evaluation) -> Evaluation:
        sandbox = self.options.sandbox
        if sandbox is None or sandbox == evaluation.environment.sandbox:
            return evaluation
        environment = msgspec.structs.replace(evaluation.environment, sandbox=sandbox)
        return msgspec.structs.replace(evaluation, environment=environment)

    def _watched(self, workshops: dict[str, Workshop], executor: Executor) -> throttle.Watched:
        return throttle.Watched(
            sandboxes=tuple(workshop.sandbox for workshop in workshops.values()),
            output=self.directory.path,
            running=lambda: self.running,
            on_silence=executor.note_silence,
        )

    async def _watch(
        self, watched: throttle.Watched, level: admission.Admission, send: MemoryObjectSendStream[Event]
    ) -> None:
        async def changed(now: admission.Admission) -> None:
            if self._scheduler is not None:
                self._scheduler.admit(now.level)
            await send.send(
                AdmissionChanged(
                    run_id=self.directory.run_id, concurrency=now.level, limit=now.limit, reason=now.reason
                )
            )

        await throttle.watch(watched, level, changed)

    async def _write_events(
        self, receive: MemoryObjectReceiveStream[Event], journal: Journal, sinks: list[Sink]
    ) -> None:
        """Write what has piled up in one go: the journal first, so that nobody hears of what may be lost."""
        async for first in receive:
            events = [first]
            with contextlib.suppress(anyio.WouldBlock, anyio.EndOfStream):
                while len(events) < STREAM_SIZE:
                    events.append(receive.receive_nowait())
            await anyio.to_thread.run_sync(self._narrator.write_files, self._narrator.take_unwritten())
            # A session tells that it begins before it tells its plan, or the plan would be the earlier one's.
            begin = 1 if isinstance(first, RunStarted) else 0
            await journal.append((*events[:begin], *self._recorder.take(), *events[begin:]))
            for sink in tuple(sinks):
                if not await self._tell(sink, events):
                    sinks.remove(sink)

    async def _tell(self, sink: Sink, events: list[Event]) -> bool:
        """Write to one sink; False where a reader is too slow for an end that must be quick."""
        with anyio.CancelScope() as scope:
            self._telling = scope
            if self._hurried:
                scope.deadline = anyio.current_time() + LAST_WORDS
            if not await sink.write(events):
                self.drain()
        return not scope.cancelled_caught

    def _warning(self, name: str, message: str) -> WarningGiven:
        return WarningGiven(run_id=self.directory.run_id, name=name, message=message)

    def _project_results(self) -> None:
        write_results(self.directory.journal, replay(self.directory.journal), self.directory.results)

    def _exit_code(self, ending: Ending) -> int:
        """Return the first of the documented exit codes that holds."""
        if self._stopped_with is not None:
            return self._stopped_with
        if ending.name == "deadline":
            return 124
        if self._bad_lines:
            return 2
        counts = self._narrator.counts
        if counts.broken:
            return 3
        return 1 if counts.failed and self.options.fail_on == "failed" else 0

    def _summary(self, ending: Ending, duration: float) -> Summary:
        return Summary(
            run_id=self.directory.run_id,
            path=str(self.directory.path),
            ending=ending.name,
            counts=self._narrator.counts,
            duration=duration,
            exit_code=self._exit_code(ending),
        )


def _label_key(name: str) -> Callable[[Evaluation], str | None]:
    return lambda evaluation: dict(evaluation.labels).get(name)


class _Relay:
    """A sink that hands events to whoever iterates."""

    def __init__(self, send: MemoryObjectSendStream[Event]) -> None:
        self._send = send

    async def write(self, events: Sequence[Event]) -> bool:
        """Hand on events; False once nobody iterates any more."""
        try:
            for event in events:
                await self._send.send(event)
        except anyio.BrokenResourceError:
            return False
        return True

    async def aclose(self) -> None:
        """Nothing to let go of."""


async def run_batch(
    manifest: str | Path | Batch, options: BatchOptions = AS_THE_MANIFEST_SAYS
) -> AsyncIterator[Event]:
    """Run a manifest and yield what happens; leaving the loop ends the run and cleans up.

    Whoever wants to stop the run or one of its evaluations meanwhile makes the `Batch` and hands it over.
    """
    batch = manifest if isinstance(manifest, Batch) else Batch(load_manifests([Path(manifest)]), options)
    send, receive = anyio.create_memory_object_stream[Event](STREAM_SIZE)

    async def drive() -> None:
        async with send:
            await batch.run([_Relay(send)])

    # A task of its own, because a generator may be closed from another task than the one that began it.
    task = asyncio.ensure_future(drive())
    try:
        async with receive:
            async for event in receive:
                yield event
        await task
    finally:
        task.cancel()
        # Also when whoever iterates is being cancelled.
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
