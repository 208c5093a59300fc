"""The reports: each takes transactions and yields lines of text."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .market import Converter
from .model import Formatter, Price, Sum, Transaction

WIDTH = 14
STATUSES = {"cleared": "*", "pending": "!", "unmarked": ""}
ZERO = "0.00"


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


def prices(quoted: dict[str, Price]) -> Iterator[str]:
    for commodity, price in sorted(quoted.items()):
        yield f"1 {commodity} = {price.text} {price.amount.commodity} ({price.date.isoformat()})"


def register(transactions: Iterable[Transaction], patterns: list[str], show: Formatter) -> Iterator[str]:
    running = Sum()
    for transaction in sorted(transactions, key=lambda t: t.date):
        for posting in transaction.postings:
            if not matches(posting.account, patterns):
                continue
            for amount in posting.amounts or []:
                running.add(amount.number, amount.commodity)
                total = running.numbers[amount.commodity]
                yield (
                    f"{transaction.date.isoformat()} {transaction.description[:20]:<20} {posting.account:<26}"
                    f" {show.amount(amount.number, amount.commodity):>12}"
                    f" {show.amount(total, amount.commodity):>12}"
                )


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


def balance(sums: dict[str, Sum], options: BalanceOptions, show: Formatter) -> Iterator[str]:
    rows = tree_rows if options.tree else flat_rows
    for total, label in rows(sums, options, show):
        for text in amount_lines(total, show):
            yield f"{text}  {label}"
    yield "-" * WIDTH
    grand = Sum()
    for total in sums.values():
        grand.add_all(total)
    yield from amount_lines(grand, show)


def amount_lines(total: Sum, show: Formatter) -> list[str]:
    texts = [show.amount(number, commodity) for commodity, number in show.visible(total)]
    return [f"{text:>{WIDTH}}" for text in texts or [ZERO]]


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
