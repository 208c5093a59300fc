"""What may start next: limits held exactly, fair between groups, longest first, nobody starved.

Pure bookkeeping without a clock or a loop; `scheduler.py` drives it. Another limit is one more `Limit`,
another thing to be fair about is one more function among the shares.
"""

import heapq
from collections import Counter
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


class Entry(Generic[Item]):
    """An item on its way through the window, with the keys that it is counted under."""

    __slots__ = ("counted", "earlier", "expected", "item", "limited", "sequence", "shared", "tries")

    def __init__(self, item: Item, sequence: int, order: Order[Item]) -> None:
        self.item = item
        self.sequence = sequence
        self.limited = tuple((limit.name, limit.key(item)) for limit in order.limits)
        self.shared = tuple(share(item) for share in order.shares)
        self.expected = order.expected(item) or 0.0
        # Attempts of this session, and those among them that count against the retries.
        self.tries = 0
        self.counted = 0
        # Attempts of earlier sessions.
        self.earlier = 0


Group = tuple[tuple[tuple[str, str | None], ...], tuple[str, ...]]


class Window(Generic[Item]):
    """The items that are known and wait, and the counts of those that were taken."""

    def __init__(self, order: Order[Item]) -> None:
        self._order = order
        self._limits = {limit.name: limit.at_most for limit in order.limits}
        self._groups: dict[Group, list[tuple[float, int]]] = {}
        self._waiting: dict[int, Entry[Item]] = {}
        self._taken_before: dict[int, int] = {}
        self._limited: Counter[tuple[str, str | None]] = Counter()
        self._running: Counter[tuple[int, str]] = Counter()
        self._started: Counter[tuple[int, str]] = Counter()
        self._taken = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, entry: Entry[Item]) -> None:
        """Let an item wait for its turn."""
        self._waiting[entry.sequence] = entry
        self._taken_before[entry.sequence] = self._taken
        group = self._groups.setdefault((entry.limited, entry.shared), [])
        heapq.heappush(group, (-entry.expected, entry.sequence))

    def take(self) -> Entry[Item] | None:
        """Choose the item that should start now and count it as running, if one may."""
        entry = self._overdue() or self._fairest()
        if entry is None:
            return None
        self._forget(entry)
        self._taken += 1
        for key in entry.limited:
            self._limited[key] += 1
        for share in enumerate(entry.shared):
            self._running[share] += 1
            self._started[share] += 1
        return entry

    def release(self, entry: Entry[Item]) -> None:
        """Count a taken item as running no more."""
        for key in entry.limited:
            self._limited[key] -= 1
            if not self._limited[key]:
                del self._limited[key]
        for share in enumerate(entry.shared):
            self._running[share] -= 1

    def remove(self, wanted: Callable[[Item], bool]) -> Entry[Item] | None:
        """Take out the first waiting item that is wanted, without counting it."""
        for entry in self._waiting.values():
            if wanted(entry.item):
                self._forget(entry)
                return entry
        return None

    def _overdue(self) -> Entry[Item] | None:
        for sequence, entry in self._waiting.items():
            if self._taken - self._taken_before[sequence] < self._order.patience:
                # Entries wait in the order in which they came: the ones behind have waited less.
                return None
            if self._fits(entry.limited):
                return entry
        return None

    def _fairest(self) -> Entry[Item] | None:
        best: tuple[int, float, int, int] | None = None
        for group, heap in self._groups.items():
            limited, shared = group
            if self._fits(limited):
                longest, sequence = heap[0]
                rank = (self._load(shared), longest, self._history(shared), sequence)
                best = rank if best is None else min(best, rank)
        return None if best is None else self._waiting[best[3]]

    def _fits(self, limited: tuple[tuple[str, str | None], ...]) -> bool:
        return all(key[1] is None or self._limited[key] < self._limits[key[0]] for key in limited)

    def _load(self, shared: tuple[str, ...]) -> int:
        return sum(self._running[share] for share in enumerate(shared))

    def _history(self, shared: tuple[str, ...]) -> int:
        return sum(self._started[share] for share in enumerate(shared))

    def _forget(self, entry: Entry[Item]) -> None:
        del self._waiting[entry.sequence]
        del self._taken_before[entry.sequence]
        group = (entry.limited, entry.shared)
        heap = self._groups[group]
        if heap[0][1] == entry.sequence:
            heapq.heappop(heap)
        else:
            heap.remove((-entry.expected, entry.sequence))
            heapq.heapify(heap)
        if not heap:
            del self._groups[group]
