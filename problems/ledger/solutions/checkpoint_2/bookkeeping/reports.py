"""The reports: each takes transactions and yields lines of text."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .model import Transaction, format_amount

WIDTH = 14
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


def check(transactions: list[Transaction]) -> Iterator[str]:
    postings = sum(len(t.postings) for t in transactions)
    yield f"ok: {len(transactions)} transactions, {postings} postings"


def accounts(transactions: Iterable[Transaction]) -> list[str]:
    return sorted({p.account for t in transactions for p in t.postings})


def register(transactions: Iterable[Transaction], patterns: list[str]) -> Iterator[str]:
    running = 0
    for transaction in sorted(transactions, key=lambda t: t.date):
        for posting in transaction.postings:
            if not matches(posting.account, patterns):
                continue
            amount = posting.amount or 0
            running += amount
            yield (
                f"{transaction.date.isoformat()} {transaction.description[:20]:<20} {posting.account:<26}"
                f" {format_amount(amount):>12} {format_amount(running):>12}"
            )


def balances(transactions: Iterable[Transaction], patterns: list[str]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for transaction in transactions:
        for posting in transaction.postings:
            if matches(posting.account, patterns):
                sums[posting.account] += posting.amount or 0
    return sums


def balance(
    transactions: Iterable[Transaction], patterns: list[str], *, empty: bool, depth: int | None, tree: bool
) -> Iterator[str]:
    sums = balances(transactions, patterns)
    rows = tree_rows(sums, empty, depth) if tree else flat_rows(sums, empty, depth)
    for amount, label in rows:
        yield f"{format_amount(amount):>{WIDTH}}  {label}"
    yield "-" * WIDTH
    yield f"{format_amount(sum(sums.values())):>{WIDTH}}"


def flat_rows(sums: dict[str, int], empty: bool, depth: int | None) -> Iterator[tuple[int, str]]:
    shortened: dict[str, int] = defaultdict(int)
    for account, amount in sums.items():
        shortened[":".join(account.split(":")[:depth])] += amount
    for account in sorted(shortened):
        if shortened[account] or empty:
            yield shortened[account], account


def tree_rows(sums: dict[str, int], empty: bool, depth: int | None) -> Iterator[tuple[int, str]]:
    nodes: dict[tuple[str, ...], int] = defaultdict(int)
    for account, amount in sums.items():
        parts = tuple(account.split(":"))
        for level in range(1, len(parts) + 1):
            nodes[parts[:level]] += amount
    shown: set[tuple[str, ...]] = set()
    for parts, amount in nodes.items():
        if (depth is None or len(parts) <= depth) and (amount or empty):
            shown.update(parts[:level] for level in range(1, len(parts) + 1))
    for parts in sorted(shown):
        yield nodes[parts], "  " * (len(parts) - 1) + parts[-1]
