from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio
import anyio.lowlevel
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import SandboxUnavailable, UserError
from engine.retries import Alone, Retry
from engine.scheduler import Scheduler
from engine.window import Limit, Order
from engine.work import (
    Attempt,
    Draining,
    Ending,
    Finished,
    Loss,
    LossReason,
    Retried,
    SchedulerEvent,
    SchedulerSettings,
    Started,
    Work,
)


class Item(msgspec.Struct, frozen=True):
    id: str
    problem: str = "p"
    model: str = "m"


Execute = Callable[[Item, Attempt], Awaitable[str]]
Decide = Callable[[Item, str, int], Retry | Alone | None]


class Bench:
    """A scheduler over plain coroutines, and what it told."""

    def __init__(
        self,
        execute: Execute,
        *,
        numbers: SchedulerSettings | None = None,
        order: Order[Item] | None = None,
        retry: Decide = lambda _item, _outcome, _counted: None,
        earlier: int = 0,
    ) -> None:
        self.events: list[SchedulerEvent[Item, str]] = []
        self._told = anyio.Event()
        work = Work(execute=execute, lost=_lost, retry=retry, earlier_attempts=lambda _: earlier)
        self.scheduler = Scheduler(numbers or SchedulerSettings(), work, order or Order(), self._emit)

    async def _emit(self, event: SchedulerEvent[Item, str]) -> None:
        self.events.append(event)
        self._told.set()
        self._told = anyio.Event()

    async def told(self, kind: type[SchedulerEvent[Item, str]]) -> None:
        while not any(isinstance(event, kind) for event in self.events):
            await self._told.wait()

    def outcomes(self) -> dict[str, str]:
        finished = [event for event in self.events if isinstance(event, Finished)]
        assert max(Counter(event.item.id for event in finished).values(), default=1) == 1
        return {event.item.id: event.outcome for event in finished}

    def started(self) -> list[str]:
        return [event.item.id for event in self.events if isinstance(event, Started)]


def _lost(_item: Item, loss: Loss) -> str:
    return loss.reason.value


def items(count: int, problems: int = 1) -> list[Item]:
    return [Item(f"i{number}", f"p{number % problems}") for number in range(count)]


class Crowd:
    """An `execute` that knows how many ran at once, by any key."""

    def __init__(self, key: Callable[[Item], str]) -> None:
        self._key = key
        self._running: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()

    async def execute(self, item: Item, _attempt: Attempt) -> str:
        key = self._key(item)
        self._running[key] += 1
        self.peak[key] = max(self.peak[key], self._running[key])
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self._running[key] -= 1
        return "done"


async def test_every_item_gets_one_outcome() -> None:
    """All items of a batch finish, each exactly once."""
    bench = Bench(Crowd(lambda _: "").execute)
    ending = await bench.scheduler.run(items(300))
    assert ending == Ending(name="completed", finished=300, unstarted=0)
    assert bench.outcomes() == {f"i{number}": "done" for number in range(300)}


async def test_batch_limit_is_reached_and_never_exceeded() -> None:
    """The batch limit is exact: that many run at once, and not one more."""
    crowd = Crowd(lambda _: "all")
    await Bench(crowd.execute, numbers=SchedulerSettings(batch=7)).scheduler.run(items(100))
    assert crowd.peak == {"all": 7}


@pytest.mark.parametrize("window", [1, 2])
async def test_a_small_window_does_not_keep_places_empty(window: int) -> None:
    """The batch limit is reached though the window holds fewer items than may run."""
    gate = Gate(wanted=6)
    bench = Bench(gate.execute, numbers=SchedulerSettings(batch=6, window=window))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, items(20))
            await gate.full.wait()
            gate.open.set()
    assert len(bench.outcomes()) == 20


@pytest.mark.parametrize("name", ["problem", "model"])
async def test_limits_by_key_are_exact(name: str) -> None:
    """A limit for each problem or label holds for every value on its own."""
    crowd = Crowd(lambda item: str(getattr(item, name)))
    limit: Limit[Item] = Limit(name=name, key=lambda item: str(getattr(item, name)), at_most=3)
    bench = Bench(crowd.execute, numbers=SchedulerSettings(batch=16), order=Order(limits=(limit,)))
    await bench.scheduler.run(Item(f"i{n}", f"p{n % 4}", f"m{n % 3}") for n in range(120))
    assert set(crowd.peak.values()) == {3}
    assert len(bench.outcomes()) == 120


async def test_items_without_a_key_are_not_limited() -> None:
    """A limit whose key is None for an item leaves that item alone."""
    crowd = Crowd(lambda _: "all")
    limit: Limit[Item] = Limit(name="label", key=lambda _: None, at_most=1)
    bench = Bench(crowd.execute, numbers=SchedulerSettings(batch=5), order=Order(limits=(limit,)))
    await bench.scheduler.run(items(20))
    assert crowd.peak == {"all": 5}


async def test_a_plain_iterable_is_read_only_as_far_as_the_window() -> None:
    """However long a plan is, only a window of it is read before it is needed."""
    read = 0
    most_ahead = 0

    def source() -> Iterator[Item]:
        nonlocal read
        for read in range(1, 2001):
            yield Item(f"i{read}")

    async def execute(item: Item, _attempt: Attempt) -> str:
        nonlocal most_ahead
        most_ahead = max(most_ahead, read - int(item.id[1:]))
        await anyio.lowlevel.checkpoint()
        return "done"

    bench = Bench(execute, numbers=SchedulerSettings(batch=2, window=32))
    assert (await bench.scheduler.run(source())).finished == 2000
    # What is in the window, one chunk that is being handed over, and those that run.
    assert most_ahead <= 32 + 64 + 2


async def test_items_start_while_others_are_still_awaited() -> None:
    """An item that has arrived runs at once, though the source has not ended."""
    first_done = anyio.Event()

    async def source() -> AsyncIterator[Item]:
        yield Item("first")
        await first_done.wait()
        yield Item("second")

    async def execute(_item: Item, _attempt: Attempt) -> str:
        first_done.set()
        return "done"

    bench = Bench(execute)
    with anyio.fail_after(10):
        await bench.scheduler.run(source())
    assert bench.outcomes() == {"first": "done", "second": "done"}


async def test_retries_keep_every_attempt() -> None:
    """An attempt that is repeated is told with its outcome, and numbers go on from earlier sessions."""

    async def execute(_item: Item, attempt: Attempt) -> str:
        return "done" if attempt.number == 6 else f"broken {attempt.number}"

    def retry(_item: Item, outcome: str, counted: int) -> Retry | None:
        return Retry() if outcome.startswith("broken") and counted <= 2 else None

    bench = Bench(execute, retry=retry, earlier=3)
    await bench.scheduler.run([Item("a")])
    retried = [event for event in bench.events if isinstance(event, Retried)]
    assert [(event.attempt.number, event.outcome) for event in retried] == [(4, "broken 4"), (5, "broken 5")]
    assert bench.events[-1] == Finished(item=Item("a"), attempt=Attempt(number=6), outcome="done", attempts=6)


async def test_retries_end() -> None:
    """When the retries are used up, the last broken outcome is final."""
    counts: list[int] = []

    async def execute(_item: Item, attempt: Attempt) -> str:
        return f"broken {attempt.number}"

    def retry(_item: Item, _outcome: str, counted: int) -> Retry | None:
        counts.append(counted)
        return Retry() if counted <= 2 else None

    bench = Bench(execute, retry=retry)
    await bench.scheduler.run([Item("a")])
    assert counts == [1, 2, 3]
    assert bench.outcomes() == {"a": "broken 3"}


async def test_an_attempt_without_a_chance_is_not_counted() -> None:
    """A retry that does not count leaves the number of counted attempts as it was."""
    counts: list[int] = []

    async def execute(_item: Item, attempt: Attempt) -> str:
        return "silent" if attempt.number <= 5 else "done"

    def retry(_item: Item, outcome: str, counted: int) -> Retry | None:
        counts.append(counted)
        return Retry(counted=False) if outcome == "silent" else None

    bench = Bench(execute, retry=retry)
    await bench.scheduler.run([Item("a")])
    assert counts == [1] * 6


async def test_waiting_for_a_retry_takes_no_place() -> None:
    """While an item waits for its next attempt, others run in its place."""
    other_done = anyio.Event()

    async def execute(item: Item, attempt: Attempt) -> str:
        if item.id == "b":
            other_done.set()
        return "broken" if item.id == "a" and attempt.number == 1 else f"{other_done.is_set()}"

    limit: Limit[Item] = Limit(name="problem", key=lambda item: item.problem, at_most=1)
    bench = Bench(
        execute,
        numbers=SchedulerSettings(batch=1),
        order=Order(limits=(limit,)),
        retry=lambda _item, outcome, _counted: Retry(delay=0.05) if outcome == "broken" else None,
    )
    await bench.scheduler.run([Item("a"), Item("b")])
    assert bench.outcomes() == {"a": "True", "b": "True"}


async def test_second_chances_come_last_and_alone() -> None:
    """What the crowd starved runs again when everything else is done, one at a time."""
    crowd = Crowd(lambda _: "all")
    alone: list[tuple[str, int]] = []

    async def execute(item: Item, attempt: Attempt) -> str:
        if attempt.alone:
            alone.append((item.id, bench.scheduler.running))
            return "passed"
        await crowd.execute(item, attempt)
        return "starved" if item.id in ("i0", "i1") else "done"

    bench = Bench(
        execute,
        numbers=SchedulerSettings(alone_share=1e6),
        retry=lambda _item, outcome, _counted: Alone() if outcome == "starved" else None,
    )
    await bench.scheduler.run(items(20))
    assert alone == [("i0", 1), ("i1", 1)]
    assert bench.outcomes() == {f"i{n}": "passed" if n < 2 else "done" for n in range(20)}
    assert bench.started()[-2:] == ["i0", "i1"]


@pytest.mark.parametrize("second", ["infrastructure", "endless"])
async def test_a_second_chance_that_comes_to_nothing_changes_nothing(second: str) -> None:
    """If the attempt alone cannot be completed, the outcome that was known stays."""

    async def execute(_item: Item, attempt: Attempt) -> str:
        if attempt.alone and second == "endless":
            await anyio.sleep_forever()
        return second if attempt.alone else "starved"

    def retry(_item: Item, outcome: str, _counted: int) -> Retry | Alone:
        return Alone() if outcome == "starved" else Retry()

    bench = Bench(execute, numbers=SchedulerSettings(alone_share=20.0, backstop=0.2), retry=retry)
    with anyio.fail_after(10):
        await bench.scheduler.run([Item("a")])
    assert bench.outcomes() == {"a": "starved"}


async def test_second_chances_have_a_budget() -> None:
    """With no share of the time left, starved items keep the outcome that they have."""

    async def execute(_item: Item, attempt: Attempt) -> str:
        return "passed" if attempt.alone else "starved"

    bench = Bench(
        execute,
        numbers=SchedulerSettings(alone_share=0.0),
        retry=lambda _item, outcome, _counted: Alone() if outcome == "starved" else None,
    )
    await bench.scheduler.run(items(3))
    assert set(bench.outcomes().values()) == {"starved"}


class Gate:
    """An `execute` that says when it was entered and waits to be let go."""

    def __init__(self, wanted: int = 1) -> None:
        self._wanted = wanted
        self.entered = 0
        self.full = anyio.Event()
        self.open = anyio.Event()

    async def execute(self, _item: Item, _attempt: Attempt) -> str:
        self.entered += 1
        if self.entered == self._wanted:
            self.full.set()
        await self.open.wait()
        return "done"


async def test_draining_finishes_what_runs_and_starts_nothing() -> None:
    """After drain, running items finish with their own outcome and the others stay unstarted."""
    gate = Gate(wanted=2)
    bench = Bench(gate.execute, numbers=SchedulerSettings(batch=2, window=8))
    endings: list[Ending] = []
    all_read = anyio.Event()

    async def source() -> AsyncIterator[Item]:
        for item in items(10):
            yield item
        all_read.set()

    async def run() -> None:
        endings.append(await bench.scheduler.run(source()))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await gate.full.wait()
        await all_read.wait()
        bench.scheduler.drain()
        gate.open.set()
    assert endings == [Ending(name="drained", finished=2, unstarted=8)]
    assert bench.outcomes() == {"i0": "done", "i1": "done"}
    assert gate.entered == 2
    assert Draining(reason="drained", running=2) in bench.events


async def test_draining_does_not_wait_for_a_silent_source() -> None:
    """A source that never sends anything more does not hold up a drain."""
    gate = Gate()

    async def source() -> AsyncIterator[Item]:
        yield Item("a")
        await anyio.sleep_forever()

    bench = Bench(gate.execute)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, source())
            await gate.full.wait()
            bench.scheduler.drain()
            gate.open.set()
    assert bench.outcomes() == {"a": "done"}


async def test_draining_ends_the_wait_for_a_retry() -> None:
    """An item that waits for another attempt when the run drains is interrupted, not forgotten."""
    told = anyio.Event()

    async def execute(_item: Item, _attempt: Attempt) -> str:
        return "broken"

    def retry(_item: Item, _outcome: str, _counted: int) -> Retry:
        told.set()
        return Retry(delay=3600)

    bench = Bench(execute, retry=retry)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, [Item("a")])
            await told.wait()
            bench.scheduler.drain()
    assert bench.outcomes() == {"a": "interrupted"}


async def test_draining_keeps_the_outcome_of_those_who_wait_to_run_alone() -> None:
    """A starved item keeps its first outcome when there is no time for a second."""
    gate = Gate()

    async def execute(item: Item, attempt: Attempt) -> str:
        if item.id == "gate":
            return await gate.execute(item, attempt)
        return "starved"

    bench = Bench(execute, retry=lambda _i, outcome, _c: Alone() if outcome == "starved" else None)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.scheduler.run, [Item("a"), Item("gate")])
        await gate.full.wait()
        bench.scheduler.drain()
        gate.open.set()
    assert bench.outcomes() == {"a": "starved", "gate": "done"}


async def test_cancelling_ends_what_runs_now() -> None:
    """After cancel, running items are told as interrupted, once each, after their own clean-up."""
    gate = Gate(wanted=3)
    cleaned: list[str] = []

    async def execute(item: Item, attempt: Attempt) -> str:
        try:
            return await gate.execute(item, attempt)
        finally:
            with anyio.move_on_after(5, shield=True):
                await anyio.lowlevel.checkpoint()
                cleaned.append(item.id)

    bench = Bench(execute, numbers=SchedulerSettings(batch=3))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, items(9))
            await gate.full.wait()
            bench.scheduler.drain()
            bench.scheduler.cancel()
    assert bench.outcomes() == dict.fromkeys(("i0", "i1", "i2"), "interrupted")
    assert sorted(cleaned) == ["i0", "i1", "i2"]


async def test_an_outcome_that_arrives_despite_cancelling_stands() -> None:
    """An item that finishes although it was cancelled keeps its own outcome."""
    entered = anyio.Event()

    async def execute(_item: Item, _attempt: Attempt) -> str:
        entered.set()
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)
        return "done"

    bench = Bench(execute)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.scheduler.run, [Item("a")])
        await entered.wait()
        bench.scheduler.cancel()
    assert bench.outcomes() == {"a": "done"}


async def test_the_deadline_accounts_for_every_item() -> None:
    """At the batch limit, what runs is ended after its grace, and all that is missing is told as such."""

    async def execute(item: Item, _attempt: Attempt) -> str:
        if item.id != "i0":
            await anyio.sleep_forever()
        return "done"

    numbers = SchedulerSettings(batch=2, window=16, deadline=0.1, grace=0.05)
    bench = Bench(execute, numbers=numbers)
    with anyio.fail_after(20):
        ending = await bench.scheduler.run(items(500))
    assert ending == Ending(name="deadline", finished=500, unstarted=0)
    outcomes = bench.outcomes()
    assert outcomes.pop("i0") == "done"
    assert set(outcomes.values()) == {"batch_deadline"}


async def test_grace_lets_running_items_finish_after_the_deadline() -> None:
    """Between deadline and grace nothing starts, but what runs may still finish."""
    gate = Gate()
    bench = Bench(gate.execute, numbers=SchedulerSettings(batch=1, deadline=0.02, grace=3600))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, items(2))
            await bench.told(Draining)
            gate.open.set()
    assert bench.outcomes() == {"i0": "done", "i1": "batch_deadline"}


async def test_the_backstop_ends_an_attempt_that_forgot_its_limits() -> None:
    """No attempt outlives the backstop."""

    async def execute(_item: Item, _attempt: Attempt) -> str:
        await anyio.sleep_forever()
        return "never"

    bench = Bench(execute, numbers=SchedulerSettings(backstop=0.02))
    with anyio.fail_after(10):
        await bench.scheduler.run(items(3))
    assert set(bench.outcomes().values()) == {"backstop"}


async def test_a_crash_costs_one_item() -> None:
    """An item whose execution raises is told as crashed, with the error, and the others go on."""
    losses: list[Loss] = []

    async def execute(item: Item, _attempt: Attempt) -> str:
        if item.id == "i1":
            raise ZeroDivisionError("a bug")
        return "done"

    def lost(_item: Item, loss: Loss) -> str:
        losses.append(loss)
        return loss.reason.value

    events: list[SchedulerEvent[Item, str]] = []

    async def emit(event: SchedulerEvent[Item, str]) -> None:
        events.append(event)

    work = Work(execute=execute, lost=lost)
    await Scheduler(SchedulerSettings(), work, Order(), emit).run(items(3))
    outcomes = {event.item.id: event.outcome for event in events if isinstance(event, Finished)}
    assert outcomes == {"i0": "done", "i1": "crashed", "i2": "done"}
    assert losses[0].reason is LossReason.CRASHED
    assert isinstance(losses[0].error, ZeroDivisionError)


async def test_errors_on_purpose_stop_the_run_as_themselves() -> None:
    """What is raised on purpose ends the run and arrives unwrapped."""

    async def execute(_item: Item, _attempt: Attempt) -> str:
        raise SandboxUnavailable("no daemon")

    with pytest.raises(SandboxUnavailable, match="no daemon"):
        await Bench(execute).scheduler.run(items(20))


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_source_that_fails_stops_the_run(kind: str) -> None:
    """A mistake that the source finds half way arrives as it is, whatever is running."""

    def plain() -> Iterator[Item]:
        yield Item("a")
        raise UserError("line 2 is wrong")

    async def arriving() -> AsyncIterator[Item]:
        yield Item("a")
        raise UserError("line 2 is wrong")

    bench = Bench(Gate().execute)
    with anyio.fail_after(10), pytest.raises(UserError, match="line 2"):
        await bench.scheduler.run(plain() if kind == "plain" else arriving())


async def test_a_reader_that_fails_stops_the_run() -> None:
    """If events cannot be told, nothing more runs."""

    async def emit(_event: SchedulerEvent[Item, str]) -> None:
        raise UserError("disk full")

    gate = Gate()
    work = Work(execute=gate.execute, lost=_lost)
    with pytest.raises(UserError, match="disk full"):
        await Scheduler(SchedulerSettings(), work, Order(), emit).run(items(50))
    assert gate.entered == 0


async def test_a_slow_reader_slows_the_run() -> None:
    """While events are not taken, no more items start than may run at once."""
    entered = 0

    async def execute(_item: Item, _attempt: Attempt) -> str:
        nonlocal entered
        entered += 1
        return "done"

    send, receive = anyio.create_memory_object_stream[SchedulerEvent[Item, str]](0)
    work = Work(execute=execute, lost=_lost)
    scheduler = Scheduler(SchedulerSettings(batch=3), work, Order(), send.send)

    async def run() -> None:
        async with send:
            await scheduler.run(items(50))

    finished = 0
    async with receive, anyio.create_task_group() as group:
        group.start_soon(run)
        async for event in receive:
            finished += isinstance(event, Finished)
            await anyio.lowlevel.checkpoint()
            assert entered <= finished + 3
    assert finished == entered == 50


async def test_one_item_can_be_cancelled_while_it_runs() -> None:
    """Cancelling one item ends that one and no other."""
    gate = Gate(wanted=2)
    bench = Bench(gate.execute)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.scheduler.run, items(2))
        await gate.full.wait()
        assert bench.scheduler.cancel_item("i0")
        assert not bench.scheduler.cancel_item("unknown")
        gate.open.set()
    assert bench.outcomes() == {"i0": "cancelled", "i1": "done"}


async def test_one_item_can_be_cancelled_before_it_starts() -> None:
    """An item that waits for its turn is cancelled without being started."""
    gate = Gate()
    bench = Bench(gate.execute, numbers=SchedulerSettings(batch=1))

    async def source() -> AsyncIterator[Item]:
        yield Item("a")
        yield Item("b")
        await gate.full.wait()
        assert bench.scheduler.cancel_item("b")
        gate.open.set()

    await bench.scheduler.run(source())
    assert bench.outcomes() == {"a": "done", "b": "cancelled"}
    assert bench.started() == ["a"]


async def test_one_item_can_be_cancelled_while_it_waits_for_a_retry() -> None:
    """An item between two attempts can be cancelled, too."""

    async def execute(_item: Item, _attempt: Attempt) -> str:
        return "broken"

    bench = Bench(execute, retry=lambda _item, _outcome, _counted: Retry(delay=3600))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, [Item("a")])
            await bench.told(Retried)
            while bench.scheduler.running:
                await anyio.lowlevel.checkpoint()
            assert bench.scheduler.cancel_item("a")
    assert bench.outcomes() == {"a": "cancelled"}


async def test_admission_pauses_and_resumes() -> None:
    """With a level of 0 nothing starts; with a higher one as many as it says, within the batch limit."""
    crowd = Crowd(lambda _: "all")
    bench = Bench(crowd.execute, numbers=SchedulerSettings(batch=8))
    bench.scheduler.admit(0)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.scheduler.run, items(40))
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            assert bench.started() == []
            bench.scheduler.admit(3)
            while len(bench.outcomes()) < 20:
                await anyio.lowlevel.checkpoint()
            assert crowd.peak == {"all": 3}
            bench.scheduler.admit(100)
    assert crowd.peak == {"all": 8}
    assert len(bench.outcomes()) == 40


async def test_leaving_from_outside_cleans_up() -> None:
    """When the caller itself is cancelled, running items get to clean up and nothing stays behind."""
    gate = Gate(wanted=4)
    cleaned = 0

    async def execute(item: Item, attempt: Attempt) -> str:
        nonlocal cleaned
        try:
            return await gate.execute(item, attempt)
        finally:
            cleaned += 1

    bench = Bench(execute, numbers=SchedulerSettings(batch=4))
    async with anyio.create_task_group() as group:
        group.start_soon(bench.scheduler.run, items(10))
        await gate.full.wait()
        group.cancel_scope.cancel()
    assert cleaned == 4


async def test_draining_before_the_start_runs_nothing() -> None:
    """A run that is drained before it begins ends at once."""
    bench = Bench(Gate().execute)
    bench.scheduler.drain()
    ending = await bench.scheduler.run(items(5))
    assert ending.name == "drained"
    assert bench.started() == []


async def test_events_of_an_item_are_in_order() -> None:
    """For every item, started comes before retried before started before finished."""

    async def execute(_item: Item, attempt: Attempt) -> str:
        await anyio.lowlevel.checkpoint()
        return "done" if attempt.number > 1 else "broken"

    bench = Bench(execute, retry=lambda _i, outcome, _c: Retry() if outcome == "broken" else None)
    await bench.scheduler.run(items(50))
    kinds: dict[str, list[str]] = {}
    for event in bench.events:
        if not isinstance(event, Draining):
            kinds.setdefault(event.item.id, []).append(type(event).__name__)
    assert set(map(tuple, kinds.values())) == {("Started", "Retried", "Started", "Finished")}


@settings(max_examples=40, deadline=None)
@given(
    plan=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), max_size=60),
    batch=st.integers(1, 6),
    per_problem=st.integers(1, 4),
    window=st.integers(1, 20),
    drain_after=st.none() | st.integers(0, 60),
)
def test_whatever_happens_started_items_have_one_outcome(
    plan: list[tuple[int, int, int]], batch: int, per_problem: int, window: int, drain_after: int | None
) -> None:
    """Limits hold and every started item has one outcome, whatever the plan, the limits and the moment."""

    async def scenario() -> None:
        crowds = Crowd(lambda item: item.problem), Crowd(lambda _: "all")
        seen = 0

        async def execute(item: Item, attempt: Attempt) -> str:
            nonlocal seen
            seen += 1
            if seen == drain_after:
                bench.scheduler.drain()
            async with anyio.create_task_group() as group:
                for crowd in crowds:
                    group.start_soon(crowd.execute, item, attempt)
            return "done" if attempt.number > int(item.model) else "broken"

        limit: Limit[Item] = Limit(name="problem", key=lambda item: item.problem, at_most=per_problem)
        bench = Bench(
            execute,
            numbers=SchedulerSettings(batch=batch, window=window),
            order=Order(limits=(limit,), shares=(lambda item: item.problem,)),
            retry=lambda _item, outcome, _counted: Retry() if outcome == "broken" else None,
        )
        made = [Item(f"i{n}", f"p{p}", str(failures)) for n, (p, _, failures) in enumerate(plan)]
        ending = await bench.scheduler.run(made)
        assert set(bench.outcomes()) >= set(bench.started())
        assert crowds[1].peak["all"] <= batch
        assert max(crowds[0].peak.values(), default=0) <= per_problem
        if ending.name == "completed":
            assert bench.outcomes() == dict.fromkeys((item.id for item in made), "done")

    anyio.run(scenario)
