"""The reports: each takes transactions and yields lines of text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .model import Transaction, format_amount

WIDTH = 14


def matches(account: str, patterns: list[str]) -> bool:
    folded = account.lower()
    return not patterns or any(pattern.lower() in folded for pattern in patterns)


def check(transactions: list[Transaction]) -> Iterator[str]:
    postings = sum(len(t.postings) for t in transactions)
    yield f"ok: {len(transactions)} transactions, {postings} postings"


def accounts(transactions: Iterable[Transaction]) -> list[str]:
    return sorted({p.account for t in transactions for p in t.postings})


def balances(transactions: Iterable[Transaction], patterns: list[str]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for transaction in transactions:
        for posting in transaction.postings:
            if matches(posting.account, patterns):
                sums[posting.account] += posting.amount or 0
    return sums


def balance(transactions: Iterable[Transaction], patterns: list[str], *, empty: bool) -> Iterator[str]:
    sums = balances(transactions, patterns)
    for account in sorted(sums):
        if sums[account] or empty:
            yield f"{format_amount(sums[account]):>{WIDTH}}  {account}"
    yield "-" * WIDTH
    yield f"{format_amount(sum(sums.values())):>{WIDTH}}"
