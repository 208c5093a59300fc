"""What scheduling, journal and results cost an evaluation: `python -m benchmarks.bench_scheduler [COUNT]`.

Everything is real but the execution: a plan is read, scheduled under limits, told, written to a journal
and to a result stream, replayed and projected. The time of the disk does not count as CPU, so the numbers
hold on a slow one.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from engine.events import EvaluationFinished, EvaluationStarted, Event, ResultLine, RunStarted
from engine.journal import Journal, replay, write_results
from engine.results import Broken, BrokenKind, EnvironmentRecord, GroupType, Verdict
from engine.resume import PlanRecorder
from engine.retries import Alone, Retry, RetrySettings, decide
from engine.scheduler import Scheduler
from engine.sinks import JsonLines, JsonLinesSettings, open_output
from engine.window import Limit, Order
from engine.work import Attempt, Finished, Loss, SchedulerEvent, SchedulerSettings, Started, Work

RUN_ID = "bench"
ENVIRONMENT = EnvironmentRecord(
    sandbox="docker",
    image="python:3.12-slim",
    image_digest="sha256:" + "0" * 64,
    toolchain={f"package-{number}": "1.2.3" for number in range(12)},
    packages={f"dependency-{number}": "4.5.6" for number in range(8)},
)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation as far as this benchmark needs one."""

    id: str
    problem: str
    model: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A result as far as this benchmark needs one."""

    verdict: Verdict
    broken: Broken | None = None


def plan(count: int) -> Iterator[Item]:
    """Make a plan of 40 problems and 25 models."""
    for number in range(count):
        problem, model = f"problem-{number % 40}", f"model-{number % 25}"
        yield Item(id=f"{problem}-checkpoint_1-{model}-{number:06}", problem=problem, model=model)


async def execute(item: Item, attempt: Attempt) -> Outcome:
    """Do nothing, and break one in a hundred at first."""
    await anyio.lowlevel.checkpoint()
    if attempt.number == 1 and item.id.endswith("00"):
        return Outcome(verdict=Verdict.BROKEN, broken=Broken.of(BrokenKind.DAEMON_ERROR, "fake"))
    return Outcome(verdict=Verdict.PASSED)


def lost(_item: Item, loss: Loss) -> Outcome:
    """Say what became of an evaluation that did not end by itself."""
    return Outcome(verdict=Verdict.BROKEN, broken=Broken.of(BrokenKind.INTERRUPTED, loss.reason.value))


def retry(_item: Item, outcome: Outcome, counted: int) -> Retry | Alone | None:
    """Try again as the engine does, without the wait."""
    settings = RetrySettings(base=0.001)
    return decide(settings, outcome.broken, attempt=counted, starved=False, spread=0.5)


def told(event: SchedulerEvent[Item, Outcome]) -> Event | None:
    """Turn what the scheduler tells into what the world is told."""
    match event:
        case Started(item=item, attempt=attempt):
            return EvaluationStarted(
                run_id=RUN_ID, evaluation_id=item.id, labels={"model": item.model}, attempt=attempt.number
            )
        case Finished():
            return EvaluationFinished(
                run_id=RUN_ID,
                evaluation_id=event.item.id,
                labels={"model": event.item.model},
                result=line_of(event),
            )
        case _:
            return None


def line_of(event: Finished[Item, Outcome]) -> ResultLine:
    """Make the line that a finished evaluation becomes."""
    counts = dict.fromkeys(GroupType, 5)
    return ResultLine(
        run_id=RUN_ID,
        id=event.item.id,
        problem_name=event.item.problem,
        checkpoint_name="checkpoint_1",
        labels={"model": event.item.model},
        verdict=event.outcome.verdict,
        broken=event.outcome.broken,
        policy="core-cases",
        pass_counts=counts,
        total_counts=counts,
        duration=1.25,
        timings={"prepare": 0.1, "start": 0.2, "pytest": 0.9, "collect": 0.05},
        pytest_exit_code=0,
        pytest_collected=20,
        fingerprint="f" * 64,
        environment=ENVIRONMENT,
        attempt=event.attempt.number,
        attempts=event.attempts,
    )


class Pump:
    """Carries events from the scheduler to journal and stream, as many at a time as there are."""

    def __init__(self, journal: Journal, sink: JsonLines, recorder: PlanRecorder) -> None:
        self._journal = journal
        self._sink = sink
        self._recorder = recorder
        self.finished = 0
        self.memory: list[tuple[int, int]] = []

    async def run(self, events: MemoryObjectReceiveStream[SchedulerEvent[Item, Outcome]]) -> None:
        """Write until the scheduler is done."""
        async for first in events:
            waiting = [first]
            while len(waiting) < 512 and events.statistics().current_buffer_used:
                waiting.append(events.receive_nowait())
            await self._write([event for raw in waiting if (event := told(raw)) is not None])
        await self._journal.append(self._recorder.take())

    async def _write(self, events: Sequence[Event]) -> None:
        await self._journal.append((*self._recorder.take(), *events))
        await self._sink.write(events)
        before = self.finished
        self.finished += sum(isinstance(event, EvaluationFinished) for event in events)
        if self.finished // 10_000 > before // 10_000:
            self.memory.append((self.finished, resident()))


def resident() -> int:
    """Tell how much memory this process has now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024**2


async def run(count: int, folder: Path) -> Pump:
    """Run a whole batch."""
    journal = Journal.open(folder / "events.jsonl")
    sink = JsonLines(await open_output(str(folder / "stream.jsonl")), JsonLinesSettings(content="results"))
    recorder = PlanRecorder(RUN_ID)
    pump = Pump(journal, sink, recorder)
    send, receive = anyio.create_memory_object_stream[SchedulerEvent[Item, Outcome]](256)
    await journal.append([RunStarted(run_id=RUN_ID)])
    async with receive, anyio.create_task_group() as group:
        group.start_soon(pump.run, receive)
        await schedule(recorder.through(plan(count)), send)
    await journal.aclose()
    await sink.aclose()
    return pump


async def schedule(
    items: Iterator[Item], send: MemoryObjectSendStream[SchedulerEvent[Item, Outcome]]
) -> None:
    """Run the items under every kind of limit."""
    limits: tuple[Limit[Item], ...] = (
        Limit(name="problem", key=lambda item: item.problem, at_most=4),
        Limit(name="model", key=lambda item: item.model, at_most=6),
    )
    order: Order[Item] = Order(
        limits=limits, shares=(lambda item: item.problem, lambda item: item.model), expected=lambda _: 1.0
    )
    work = Work(execute=execute, lost=lost, retry=retry)
    async with send:
        await Scheduler(SchedulerSettings(batch=32), work, order, send.send).run(items)


def main(count: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="bench-scheduler-") as name:
        folder = Path(name)
        cpu, wall = time.process_time(), time.perf_counter()
        pump = anyio.run(run, count, folder)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        began = time.perf_counter()
        state = replay(folder / "events.jsonl")
        replayed = time.perf_counter() - began
        lines = write_results(folder / "events.jsonl", state, folder / "results.jsonl")
        streamed = (folder / "stream.jsonl").read_bytes().count(b"\n")
    assert pump.finished == lines == streamed == len(state.records) == len(state.planned) == count
    print(f"{count} evaluations: {cpu / count * 1000:.3f} ms of CPU each, {count / wall:.0f} a second")
    print(f"memory: {peak} MiB at most; " + ", ".join(f"{size} after {done}" for done, size in pump.memory))
    print(f"journal and results complete; replayed in {replayed:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
