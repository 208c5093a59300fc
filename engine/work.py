"""What the scheduler is told and what it tells: settings, functions in, events out.

An item is anything with an `id`; what an outcome is, only the functions in `Work` know.
"""

import enum
from collections.abc import Awaitable, Callable
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from engine.retries import Alone, Retry


class HasId(Protocol):
    """Anything with a name of its own."""

    @property
    def id(self) -> str:
        """The name that an item is cancelled and remembered by."""


Item = TypeVar("Item", bound=HasId)
Outcome = TypeVar("Outcome")

EndingName = Literal["completed", "drained", "cancelled", "deadline"]


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers that a run is held to; times in seconds."""

    batch: int = 4
    # How many items may be known before they start; memory is bounded by it.
    window: int = 256
    # After `deadline` nothing starts; after `grace` more, what still runs is cancelled.
    deadline: float | None = None
    grace: float = 30.0
    # No attempt takes longer than this, even if it forgets its own limits.
    backstop: float | None = None
    # Second chances at the end may take this share of the time that the rest took.
    alone_share: float = 0.25


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Which attempt at an item this is, counted over all sessions from 1."""

    number: int
    alone: bool = False


class LossReason(enum.StrEnum):
    """Why an item has no outcome of its own."""

    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    BATCH_DEADLINE = "batch_deadline"
    BACKSTOP = "backstop"
    CRASHED = "crashed"


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an item that did not end by itself."""

    reason: LossReason
    # What `execute` raised, where it crashed.
    error: Exception | None = None


class Work(msgspec.Struct, Generic[Item, Outcome], frozen=True, kw_only=True):
    """What to do with items: the functions that make the scheduler about something."""

    execute: Callable[[Item, Attempt], Awaitable[Outcome]]
    lost: Callable[[Item, Loss], Outcome]
    # What follows an outcome, of which so many have counted; None means that it is final.
    retry: Callable[[Item, Outcome, int], Retry | Alone | None] = lambda _item, _outcome, _counted: None
    # Attempts that earlier sessions made.
    earlier_attempts: Callable[[Item], int] = lambda _: 0


class Started(msgspec.Struct, Generic[Item], frozen=True, kw_only=True):
    """An attempt begins."""

    item: Item
    attempt: Attempt


class Retried(msgspec.Struct, Generic[Item, Outcome], frozen=True, kw_only=True):
    """An attempt ended and another one will follow."""

    item: Item
    attempt: Attempt
    outcome: Outcome
    decision: Retry | Alone


class Finished(msgspec.Struct, Generic[Item, Outcome], frozen=True, kw_only=True):
    """An item has its final outcome; `attempt` is the one that it came from."""

    item: Item
    attempt: Attempt
    outcome: Outcome
    # How many attempts there were, over all sessions.
    attempts: int


class Draining(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing more starts."""

    reason: Literal["drained", "cancelled", "deadline"]
    running: int


SchedulerEvent = Started[Item] | Retried[Item, Outcome] | Finished[Item, Outcome] | Draining


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    name: EndingName
    finished: int
    # Items that were read from the source and never started.
    unstarted: int
