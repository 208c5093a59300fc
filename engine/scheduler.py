"""Runs items under limits and deadlines, repeats what deserves it, and tells what happened.

It knows nothing of containers or pytest: what to do with an item, what to say of one that was lost and
when to try again are functions in `work.Work`. Which item starts next is decided in `window.py`, whether
an attempt is repeated in `retries.py`.

Every item that was started gets exactly one `Finished`, whatever happens, unless `run` raises or the task
that calls it is itself cancelled. Events are awaited, so a slow reader slows the run and nothing piles up.
"""

import math
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
)
from contextlib import aclosing
from itertools import islice
from typing import Generic, Literal, TypeVarTuple

import anyio
import anyio.to_thread

from engine.errors import EngineError
from engine.retries import Alone, Retry
from engine.window import Entry, Order, Window
from engine.work import (
    Attempt,
    Draining,
    Ending,
    EndingName,
    Finished,
    Item,
    Loss,
    LossReason,
    Outcome,
    Retried,
    SchedulerEvent,
    SchedulerSettings,
    Started,
    Work,
)

Arguments = TypeVarTuple("Arguments")

# How many items are read from a plain iterable in one go, once it has shown that it has them.
_CHUNK = 64


class _Handle:
    """An item under way or waiting for another attempt, and the means to end that."""

    def __init__(self, item_id: str) -> None:
        self.id = item_id
        self.scope = anyio.CancelScope()
        self.loss: LossReason | None = None

    def lose(self, reason: LossReason) -> None:
        if self.loss is None:
            self.loss = reason
            self.scope.cancel()


class Scheduler(Generic[Item, Outcome]):
    """One run of items; make a new one for each."""

    def __init__(
        self,
        settings: SchedulerSettings,
        work: Work[Item, Outcome],
        order: Order[Item],
        emit: Callable[[SchedulerEvent[Item, Outcome]], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._work = work
        self._order = order
        self._emit = emit
        self._window = Window(order)
        self._running: dict[int, _Handle] = {}
        self._delayed: dict[int, _Handle] = {}
        self._second_chances: list[tuple[Entry[Item], Finished[Item, Outcome]]] = []
        self._admitted: float = math.inf
        self._ending: EndingName = "completed"
        self._changed, self._stopped = anyio.Event(), anyio.Event()
        self._reading = anyio.CancelScope()
        self._unannounced: Draining | None = None
        self._fed = False
        self._known = self._finished = self._unstarted = 0
        self._failure: Exception | None = None

    @property
    def running(self) -> int:
        """How many attempts are under way."""
        return len(self._running)

    def admit(self, level: int) -> None:
        """Let at most so many run at once from now on, within the batch limit; 0 pauses starting."""
        self._admitted = level
        self._notify()

    def drain(self) -> None:
        """Start nothing more and let what runs finish."""
        self._stop("drained")

    def cancel(self) -> None:
        """Start nothing more and end what runs now."""
        self._stop("cancelled")
        self._lose_all(LossReason.INTERRUPTED)

    def cancel_item(self, item_id: str) -> bool:
        """End one item that runs or waits; False if there is none such."""
        for handle in (*self._running.values(), *self._delayed.values()):
            if handle.id == item_id:
                handle.lose(LossReason.CANCELLED)
                return True
        entry = self._window.remove(lambda item: item.id == item_id)
        if entry is not None:
            self._delay(entry, 0.0).lose(LossReason.CANCELLED)
        return entry is not None

    async def run(self, items: Iterable[Item] | AsyncIterable[Item]) -> Ending:
        """Run all items, each to its one final outcome, and tell how it ended."""
        self._began = anyio.current_time()
        async with anyio.create_task_group() as self._group:
            self._group.start_soon(self._guard, self._feed, items)
            self._group.start_soon(self._guard, self._watch_deadline)
            self._group.start_soon(self._guard, self._dispatch)
        if self._failure is not None:
            raise self._failure
        return Ending(name=self._ending, finished=self._finished, unstarted=self._unstarted)

    async def _guard(self, body: Callable[[*Arguments], Awaitable[None]], *arguments: *Arguments) -> None:
        try:
            await body(*arguments)
        except Exception as error:  # noqa: BLE001
            # Raised again by `run`, outside the task group, so that callers never meet a group of errors.
            self._failure = self._failure or error
            self._group.cancel_scope.cancel()

    # Reading

    async def _feed(self, items: Iterable[Item] | AsyncIterable[Item]) -> None:
        async with aclosing(self._read(items)) as chunks:
            async for chunk in chunks:
                for item in chunk:
                    await self._offer(item)
        self._fed = True
        self._notify()

    def _read(self, items: Iterable[Item] | AsyncIterable[Item]) -> AsyncGenerator[list[Item], None]:
        if isinstance(items, AsyncIterable):
            return self._arrivals(aiter(items))
        return self._chunks(iter(items))

    async def _arrivals(self, items: AsyncIterator[Item]) -> AsyncGenerator[list[Item], None]:
        while not self._stopped.is_set():
            chunk: list[Item] = []
            with anyio.CancelScope() as self._reading:
                try:
                    chunk.append(await anext(items))
                except StopAsyncIteration:
                    return
            yield chunk

    async def _chunks(self, items: Iterator[Item]) -> AsyncGenerator[list[Item], None]:
        # What a deadline cuts off is told item by item; after a signal the rest is left for a resume.
        size = 1
        while self._ending in ("completed", "deadline"):
            # In a thread, as expanding a plan reads files; small at first, so that the first starts at once.
            chunk = await anyio.to_thread.run_sync(list, islice(items, size))
            if not chunk:
                return
            yield chunk
            size = min(_CHUNK, size * 2)

    async def _offer(self, item: Item) -> None:
        while not self._stopped.is_set() and self._held() >= self._settings.window:
            await self._changed.wait()
        entry = Entry(item, self._known, self._order)
        entry.earlier = self._work.earlier_attempts(item)
        self._known += 1
        if self._stopped.is_set():
            await self._leave(entry)
        else:
            self._window.add(entry)
            self._notify()

    def _held(self) -> int:
        return len(self._window) + len(self._delayed)

    # Running

    async def _dispatch(self) -> None:
        while not self._is_idle():
            await self._announce_stop()
            entry = self._next()
            if entry is None:
                await self._changed.wait()
            else:
                self._running[entry.sequence] = _Handle(entry.item.id)
                self._group.start_soon(self._guard, self._work_on, entry)
                # There is room in the window now.
                self._notify()
        while (entry := self._window.remove(lambda _: True)) is not None:
            await self._leave(entry)
        await self._give_second_chances()
        await self._announce_stop()
        self._group.cancel_scope.cancel()

    def _is_idle(self) -> bool:
        waiting = len(self._window) and not self._stopped.is_set()
        return self._fed and not (waiting or self._running or self._delayed)

    def _next(self) -> Entry[Item] | None:
        room = min(self._settings.batch, self._admitted) - len(self._running)
        return self._window.take() if room > 0 and not self._stopped.is_set() else None

    async def _work_on(self, entry: Entry[Item]) -> None:
        finished = await self._attempt(entry, alone=False, limit=math.inf)
        lost = self._running[entry.sequence].loss is not None
        counted = entry.counted + 1
        decision = None if lost else self._work.retry(entry.item, finished.outcome, counted)
        if decision is None:
            await self._finish(finished)
        else:
            await self._emit(_retried(finished, decision))
        # Only now: what waits to be told counts as running, so that nothing piles up behind a slow reader.
        self._window.release(entry)
        del self._running[entry.sequence]
        if isinstance(decision, Retry):
            entry.counted += decision.counted
            self._delay(entry, decision.delay)
        elif decision is not None:
            self._second_chances.append((entry, finished))
        self._notify()

    async def _attempt(self, entry: Entry[Item], *, alone: bool, limit: float) -> Finished[Item, Outcome]:
        entry.tries += 1
        attempt = Attempt(number=entry.earlier + entry.tries, alone=alone)
        await self._emit(Started(item=entry.item, attempt=attempt))
        outcome = await self._execute(entry, attempt, limit)
        return Finished(item=entry.item, attempt=attempt, outcome=outcome, attempts=attempt.number)

    async def _execute(self, entry: Entry[Item], attempt: Attempt, limit: float) -> Outcome:
        handle = self._running[entry.sequence]
        with handle.scope:
            handle.scope.deadline = anyio.current_time() + min(limit, self._settings.backstop or math.inf)
            try:
                return await self._work.execute(entry.item, attempt)
            except EngineError:
                raise
            except Exception as error:  # noqa: BLE001
                # The outermost edge of an item: one with a bug must not take a night's work with it.
                return self._work.lost(entry.item, Loss(reason=LossReason.CRASHED, error=error))
        return self._work.lost(entry.item, Loss(reason=handle.loss or LossReason.BACKSTOP))

    # Waiting for another attempt

    def _delay(self, entry: Entry[Item], seconds: float) -> _Handle:
        handle = self._delayed[entry.sequence] = _Handle(entry.item.id)
        self._group.start_soon(self._guard, self._wait, entry, anyio.current_time() + seconds)
        return handle

    async def _wait(self, entry: Entry[Item], until: float) -> None:
        handle = self._delayed[entry.sequence]
        with handle.scope:
            handle.scope.deadline = until
            await self._stopped.wait()
        if handle.loss is not None:
            await self._settle(entry, handle.loss)
        elif self._stopped.is_set():
            await self._leave(entry)
        else:
            self._window.add(entry)
        del self._delayed[entry.sequence]
        self._notify()

    async def _give_second_chances(self) -> None:
        ends = anyio.current_time() + self._settings.alone_share * (anyio.current_time() - self._began)
        for entry, earlier in self._second_chances:
            left = ends - anyio.current_time()
            if self._stopped.is_set() or left <= 0:
                await self._finish(earlier)
            else:
                await self._finish(await self._try_alone(entry, earlier, left))

    async def _try_alone(
        self, entry: Entry[Item], earlier: Finished[Item, Outcome], limit: float
    ) -> Finished[Item, Outcome]:
        handle = self._running[entry.sequence] = _Handle(entry.item.id)
        later = await self._attempt(entry, alone=True, limit=limit)
        del self._running[entry.sequence]
        decision = self._work.retry(entry.item, later.outcome, entry.counted + 1)
        if handle.scope.cancelled_caught or isinstance(decision, Retry):
            # The second chance came to nothing: what is known stays.
            return _with_attempts(earlier, later.attempts)
        return later

    # Ending

    async def _watch_deadline(self) -> None:
        if self._settings.deadline is None:
            return
        ends = self._began + self._settings.deadline
        await anyio.sleep_until(ends)
        self._stop("deadline")
        await anyio.sleep_until(ends + self._settings.grace)
        self._lose_all(LossReason.BATCH_DEADLINE)

    def _stop(self, ending: Literal["drained", "cancelled", "deadline"]) -> None:
        if not self._stopped.is_set():
            # As it is now: by the time that it is told, some may have finished.
            self._unannounced = Draining(reason=ending, running=len(self._running))
        if self._ending == "completed" or ending == "cancelled":
            self._ending = ending
        self._stopped.set()
        self._reading.cancel()
        self._notify()

    def _lose_all(self, reason: LossReason) -> None:
        for handle in self._running.values():
            handle.lose(reason)

    async def _announce_stop(self) -> None:
        draining, self._unannounced = self._unannounced, None
        if draining is not None:
            await self._emit(draining)

    async def _leave(self, entry: Entry[Item]) -> None:
        if self._ending == "deadline":
            await self._settle(entry, LossReason.BATCH_DEADLINE)
        elif entry.tries:
            await self._settle(entry, LossReason.INTERRUPTED)
        else:
            self._unstarted += 1

    async def _settle(self, entry: Entry[Item], reason: LossReason) -> None:
        attempt = Attempt(number=entry.earlier + entry.tries)
        outcome = self._work.lost(entry.item, Loss(reason=reason))
        await self._finish(
            Finished(item=entry.item, attempt=attempt, outcome=outcome, attempts=attempt.number)
        )

    async def _finish(self, finished: Finished[Item, Outcome]) -> None:
        await self._emit(finished)
        self._finished += 1

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _retried(finished: Finished[Item, Outcome], decision: Retry | Alone) -> Retried[Item, Outcome]:
    return Retried(item=finished.item, attempt=finished.attempt, outcome=finished.outcome, decision=decision)


def _with_attempts(finished: Finished[Item, Outcome], attempts: int) -> Finished[Item, Outcome]:
    return Finished(item=finished.item, attempt=finished.attempt, outcome=finished.outcome, attempts=attempts)
