"""What may start next: limits held exactly, fair between groups, longest first, nobody starved.

Pure bookkeeping without a clock or a loop; `scheduler.py` drives it. Another limit is one more `Limit`,
another thing to be fair about is one more function among the shares.
"""

import heapq
import math
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

Item = TypeVar("Item")


class Limit(msgspec.Struct, Generic[Item], frozen=True, kw_only=True):
    """At most so many items with the same key at once; an item whose key is None is not limited."""

    name: str
    key: Callable[[Item], str | None]
    at_most: int


class Order(msgspec.Struct, Generic[Item], frozen=True, kw_only=True):
    """The rules by which items are chosen."""

    limits: tuple[Limit[Item], ...] = ()
    # Items are spread evenly over the values of each of these.
    shares: tuple[Callable[[Item], str], ...] = ()
    # Seconds that an item took before, where known; the longest start first so that the tail is short.
    expected: Callable[[Item], float | None] = lambda _: None
    # How many others may overtake an item before it goes first.
    patience: int = 1024


Keys = tuple[tuple[str, str | None], ...]


class Entry(Generic[Item]):
    """An item on its way through the window, with the keys that it is counted under."""

    __slots__ = ("counted", "earlier", "expected", "item", "keys", "sequence", "tries")

    def __init__(self, item: Item, sequence: int, order: Order[Item]) -> None:
        self.item = item
        self.sequence = sequence
        limited = tuple((limit.name, limit.key(item)) for limit in order.limits)
        shared = tuple((str(number), share(item)) for number, share in enumerate(order.shares))
        self.keys: tuple[Keys, Keys] = (limited, shared)
        self.expected = order.expected(item) or 0.0
        # Attempts of this session, and those among them that count against the retries.
        self.tries = 0
        self.counted = 0
        # Attempts of earlier sessions.
        self.earlier = 0


class _Tally:
    """How many items with one key run and have run; kept while any item that is known has that key."""

    __slots__ = ("at_most", "groups", "running", "started")

    def __init__(self, at_most: float) -> None:
        self.at_most = at_most
        self.running = self.started = self.groups = 0


class _Group:
    """The items whose keys are all the same: only the first of those that wait can be next."""

    __slots__ = ("heap", "limits", "shares", "users")

    def __init__(self, limits: list[_Tally], shares: list[_Tally]) -> None:
        self.limits = limits
        self.shares = shares
        self.heap: list[tuple[float, int]] = []
        self.users = 0

    def fits(self) -> bool:
        # A loop and not `all`: this runs for every group whenever an item starts.
        for tally in self.limits:  # noqa: SIM110
            if tally.running >= tally.at_most:
                return False
        return True

    def rank(self) -> tuple[int, float, int, int]:
        """Tell who comes first, smallest first: the least running, the longest, the least started."""
        running = started = 0
        for tally in self.shares:
            running += tally.running
            started += tally.started
        longest, sequence = self.heap[0]
        return running, longest, started, sequence

    def count(self, step: int) -> None:
        for tally in (*self.limits, *self.shares):
            tally.running += step
            tally.started += step > 0


class Window(Generic[Item]):
    """The items that are known and wait, and the counts of those that were taken."""

    def __init__(self, order: Order[Item]) -> None:
        self._patience = order.patience
        self._at_most = {limit.name: limit.at_most for limit in order.limits}
        self._groups: dict[tuple[Keys, Keys], _Group] = {}
        self._limits: dict[tuple[str, str | None], _Tally] = {}
        self._shares: dict[tuple[str, str | None], _Tally] = {}
        self._waiting: dict[int, tuple[Entry[Item], int]] = {}
        self._taken = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, entry: Entry[Item]) -> None:
        """Let an item wait for its turn."""
        self._waiting[entry.sequence] = (entry, self._taken)
        group = self._groups.get(entry.keys)
        if group is None:
            group = self._groups[entry.keys] = self._new_group(entry.keys)
        group.users += 1
        heapq.heappush(group.heap, (-entry.expected, entry.sequence))

    def take(self) -> Entry[Item] | None:
        """Choose the item that should start now and count it as running, if one may."""
        entry = self._overdue() or self._fairest()
        if entry is not None:
            self._taken += 1
            self._unqueue(entry).count(1)
        return entry

    def release(self, entry: Entry[Item]) -> None:
        """Count a taken item as running no more."""
        self._groups[entry.keys].count(-1)
        self._leave_group(entry)

    def remove(self, wanted: Callable[[Item], bool]) -> Entry[Item] | None:
        """Take out the first waiting item that is wanted, without counting it."""
        for entry, _ in self._waiting.values():
            if wanted(entry.item):
                self._unqueue(entry)
                self._leave_group(entry)
                return entry
        return None

    def _overdue(self) -> Entry[Item] | None:
        for entry, taken_before in self._waiting.values():
            if self._taken - taken_before < self._patience:
                # Entries wait in the order in which they came: the ones behind have waited less.
                return None
            if self._groups[entry.keys].fits():
                return entry
        return None

    def _fairest(self) -> Entry[Item] | None:
        ranks = [group.rank() for group in self._groups.values() if group.heap and group.fits()]
        return self._waiting[min(ranks)[3]][0] if ranks else None

    def _new_group(self, keys: tuple[Keys, Keys]) -> _Group:
        limits = [
            self._limits.setdefault(key, _Tally(self._at_most[key[0]] if key[1] is not None else math.inf))
            for key in keys[0]
        ]
        shares = [self._shares.setdefault(key, _Tally(math.inf)) for key in keys[1]]
        for tally in (*limits, *shares):
            tally.groups += 1
        return _Group(limits, shares)

    def _unqueue(self, entry: Entry[Item]) -> _Group:
        del self._waiting[entry.sequence]
        group = self._groups[entry.keys]
        if group.heap[0][1] == entry.sequence:
            heapq.heappop(group.heap)
        else:
            group.heap.remove((-entry.expected, entry.sequence))
            heapq.heapify(group.heap)
        return group

    def _leave_group(self, entry: Entry[Item]) -> None:
        group = self._groups[entry.keys]
        group.users -= 1
        if group.users:
            return
        # Nothing is kept of keys that no known item has: memory must not grow with the batch.
        del self._groups[entry.keys]
        for tallies, keys in ((self._limits, entry.keys[0]), (self._shares, entry.keys[1])):
            for key in keys:
                tallies[key].groups -= 1
                if not tallies[key].groups:
                    del tallies[key]
