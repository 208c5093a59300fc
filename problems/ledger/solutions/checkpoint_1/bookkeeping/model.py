"""What a journal consists of. Amounts are whole numbers of hundredths, so sums are exact."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field


class LedgerError(Exception):
    """An error that is reported to the user; its text is the whole message."""


@dataclass
class Posting:
    account: str
    amount: int | None  # None while it is left out


@dataclass
class Transaction:
    date: dt.date
    status: str  # "", "*" or "!"
    description: str
    line: int
    postings: list[Posting] = field(default_factory=list)


def format_amount(hundredths: int) -> str:
    sign = "-" if hundredths < 0 else ""
    whole, rest = divmod(abs(hundredths), 100)
    return f"{sign}{whole}.{rest:02d}"
