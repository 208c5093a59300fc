"""The reports: what is in them, as rows. How rows are written is in `formats`."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .market import Converter
from .model import Amount, Formatter, Sum, Transaction, in_order

STATUSES = {"cleared": "*", "pending": "!", "unmarked": ""}


@dataclass(frozen=True)
class Filters:
    """Which transactions a report looks at."""

    begin: dt.date | None = None
    end: dt.date | None = None
    status: str | None = None

    def apply(self, transactions: Iterable[Transaction]) -> list[Transaction]:
        return [t for t in transactions if self.holds(t)]

    def holds(self, transaction: Transaction) -> bool:
        return (
            (self.begin is None or transaction.date >= self.begin)
            and (self.end is None or transaction.date < self.end)
            and (self.status is None or transaction.status == STATUSES[self.status])
        )


def matches(account: str, patterns: list[str]) -> bool:
    folded = account.lower()
    return not patterns or any(pattern.lower() in folded for pattern in patterns)


def accounts(transactions: Iterable[Transaction]) -> list[str]:
    return sorted({p.account for t in transactions for p in t.postings})


@dataclass(frozen=True)
class Entry:
    """One line of the register."""

    transaction: Transaction
    account: str
    amount: Amount
    total: Amount


def register(transactions: Iterable[Transaction], patterns: list[str]) -> Iterator[Entry]:
    running = Sum()
    for transaction in in_order(transactions):
        for posting in transaction.postings:
            if not matches(posting.account, patterns):
                continue
            for amount in posting.amounts or []:
                running.add(amount.number, amount.commodity)
                total = Amount(running.numbers[amount.commodity], amount.commodity)
                yield Entry(transaction, posting.account, amount, total)


def monthly(entries: Iterable[Entry]) -> dict[str, Sum]:
    """The sums of every month from the first to the last, in order."""
    months: dict[int, Sum] = defaultdict(Sum)
    for entry in entries:
        date = entry.transaction.date
        months[date.year * 12 + date.month - 1].add(entry.amount.number, entry.amount.commodity)
    if not months:
        return {}
    span = range(min(months), max(months) + 1)
    return {f"{month // 12:04d}-{month % 12 + 1:02d}": months[month] for month in span}


@dataclass(frozen=True)
class BalanceOptions:
    empty: bool = False
    depth: int | None = None
    tree: bool = False


def balances(
    transactions: Iterable[Transaction], patterns: list[str], converter: Converter | None
) -> dict[str, Sum]:
    sums: dict[str, Sum] = defaultdict(Sum)
    for transaction in transactions:
        for posting in transaction.postings:
            if matches(posting.account, patterns):
                for amount in posting.amounts or []:
                    sums[posting.account].add(amount.number, amount.commodity)
    if converter is not None:
        return {account: converter.convert(total) for account, total in sums.items()}
    return sums


def grand_total(sums: dict[str, Sum]) -> Sum:
    grand = Sum()
    for total in sums.values():
        grand.add_all(total)
    return grand


def balance_rows(
    sums: dict[str, Sum], options: BalanceOptions, show: Formatter
) -> Iterator[tuple[Sum, str]]:
    return (tree_rows if options.tree else flat_rows)(sums, options, show)


def flat_rows(sums: dict[str, Sum], options: BalanceOptions, show: Formatter) -> Iterator[tuple[Sum, str]]:
    shortened: dict[str, Sum] = defaultdict(Sum)
    for account, total in sums.items():
        shortened[":".join(account.split(":")[: options.depth])].add_all(total)
    for account in sorted(shortened):
        if options.empty or show.visible(shortened[account]):
            yield shortened[account], account


def tree_rows(sums: dict[str, Sum], options: BalanceOptions, show: Formatter) -> Iterator[tuple[Sum, str]]:
    nodes: dict[tuple[str, ...], Sum] = defaultdict(Sum)
    for account, total in sums.items():
        parts = tuple(account.split(":"))
        for level in range(1, len(parts) + 1):
            nodes[parts[:level]].add_all(total)
    shown: set[tuple[str, ...]] = set()
    for parts, total in nodes.items():
        if options.depth is not None and len(parts) > options.depth:
            continue
        if options.empty or show.visible(total):
            shown.update(parts[:level] for level in range(1, len(parts) + 1))
    for parts in sorted(shown):
        yield nodes[parts], "  " * (len(parts) - 1) + parts[-1]
