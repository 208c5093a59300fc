"""Going on with a run: whether the plan is still the one that it was begun with.

`PlanRecorder` puts the ids of a plan into the journal while the plan is being expanded, so that nothing
waits for the whole of it; `refuse_changed_plan` compares a later plan with what was recorded.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

import msgspec

from engine.errors import UserError
from engine.events import Event, PlanCompleted, PlanExtended
from engine.journal import JournalState

_IDS_PER_EVENT = 500
_SHOWN = 10


class HasId(Protocol):
    """Anything with a name of its own."""

    @property
    def id(self) -> str:
        """The name that a run is resumed by."""


Item = TypeVar("Item", bound=HasId)


class PlanRecorder:
    """Notes the ids of a plan as it is expanded; the events wait here until the journal takes them."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        # Filled in the thread that expands the plan, emptied in the one that writes.
        self._ids: deque[str] = deque()
        self._total: int | None = None
        self._completed = False

    def through(self, items: Iterable[Item]) -> Iterator[Item]:
        """Hand on every item and note its id."""
        total = 0
        for item in items:
            self._ids.append(item.id)
            total += 1
            yield item
        self._total = total

    def take(self) -> tuple[Event, ...]:
        """Take what was noted since the last time, as events."""
        # Read before the ids: once it is known, all of them are there.
        total = self._total
        taken: list[Event] = list(self._extensions())
        if total is not None and not self._completed:
            self._completed = True
            taken.append(PlanCompleted(run_id=self._run_id, total=total))
        return tuple(taken)

    def _extensions(self) -> Iterator[PlanExtended]:
        while self._ids:
            count = min(len(self._ids), _IDS_PER_EVENT)
            yield PlanExtended(run_id=self._run_id, ids=tuple(self._ids.popleft() for _ in range(count)))


class PlanDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan differs from the one that a run was begun with."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    settings: bool = False

    def describe(self) -> str:
        """Show the difference, line by line, as far as people read."""
        lines = ["what the evaluations depend on has changed"] if self.settings else []
        return "\n".join([*lines, *_listed("+", self.added), *_listed("-", self.removed)])


def plan_difference(state: JournalState, ids: Iterable[str], plan_hash: str | None) -> PlanDifference | None:
    """Compare a plan with the one that the journal tells of; None if they agree as far as it goes."""
    wanted = tuple(ids)
    known, now = frozenset(state.planned), frozenset(wanted)
    difference = PlanDifference(
        # A run that died while its plan was being expanded cannot know what would have followed.
        added=tuple(name for name in wanted if name not in known) if state.plan_complete else (),
        removed=tuple(name for name in state.planned if name not in now),
        settings=None not in (plan_hash, state.plan_hash) and plan_hash != state.plan_hash,
    )
    return None if difference == PlanDifference() else difference


def refuse_changed_plan(state: JournalState, ids: Iterable[str], plan_hash: str | None) -> None:
    """Raise, with the difference, if a run would be resumed with another plan than it was begun with."""
    difference = plan_difference(state, ids, plan_hash)
    if difference is not None:
        raise UserError(
            f"run {state.run_id}: the plan has changed since it was begun\n{difference.describe()}\n"
            "Start a new run, or go on with this one with --force."
        )


def _listed(sign: str, names: tuple[str, ...]) -> list[str]:
    shown = [f"{sign} {name}" for name in names[:_SHOWN]]
    return shown if len(names) <= _SHOWN else [*shown, f"{sign} ... and {len(names) - _SHOWN} more"]
