"""What a journal consists of. Numbers are fractions, so that all arithmetic is exact."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction


class LedgerError(Exception):
    """An error that is reported to the user; its text is the whole message."""


@dataclass(frozen=True)
class Amount:
    number: Fraction
    commodity: str  # "" where there is none
    decimals: int = 0  # as written


class Sum:
    """Numbers by commodity, with additions."""

    def __init__(self) -> None:
        self.numbers: dict[str, Fraction] = defaultdict(Fraction)

    def add(self, number: Fraction, commodity: str) -> None:
        self.numbers[commodity] += number

    def add_all(self, other: Sum) -> None:
        for commodity, number in other.numbers.items():
            self.add(number, commodity)

    def items(self) -> Iterator[tuple[str, Fraction]]:
        """Commodity and number, sorted, without exact zeros."""
        return ((c, n) for c, n in sorted(self.numbers.items()) if n)


@dataclass
class Posting:
    account: str
    amounts: list[Amount] | None  # None while it is left out; several only where it was
    cost: Amount | None = None
    assertion: Amount | None = None
    place: str = ""  # for messages: "line 3" or "other.journal line 3"


@dataclass
class Transaction:
    date: dt.date
    status: str  # "", "*" or "!"
    description: str
    line: int
    postings: list[Posting] = field(default_factory=list)


@dataclass(frozen=True)
class Price:
    date: dt.date
    commodity: str
    text: str  # the number as written
    amount: Amount


@dataclass
class Journal:
    transactions: list[Transaction] = field(default_factory=list)
    prices: list[Price] = field(default_factory=list)
    decimals: dict[str, int] = field(default_factory=dict)

    def last_date(self) -> dt.date:
        dates = [t.date for t in self.transactions] + [p.date for p in self.prices]
        return max(dates, default=dt.date.max)


def round_half_even(number: Fraction, decimals: int) -> Fraction:
    return Fraction(round(number * 10**decimals), 10**decimals)


def in_order(transactions: Iterable[Transaction]) -> list[Transaction]:
    """By date; those of the same date as they were read."""
    return sorted(transactions, key=lambda t: t.date)


@dataclass(frozen=True)
class Formatter:
    """Prints amounts with the decimals that the journal calls for."""

    decimals: dict[str, int]

    def places(self, commodity: str) -> int:
        return self.decimals.get(commodity, 2) if commodity else 2

    def is_zero(self, number: Fraction, commodity: str) -> bool:
        return round_half_even(number, self.places(commodity)) == 0

    def number(self, number: Fraction, commodity: str) -> str:
        places = self.places(commodity)
        units = round(number * 10**places)
        digits = str(abs(units)).rjust(places + 1, "0")
        text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        return f"-{text}" if units < 0 else text

    def amount(self, number: Fraction, commodity: str) -> str:
        return f"{self.number(number, commodity)} {commodity}".rstrip()

    def visible(self, total: Sum) -> list[tuple[str, Fraction]]:
        """What is not zero when printed, sorted by commodity."""
        return [(c, n) for c, n in total.items() if not self.is_zero(n, c)]
