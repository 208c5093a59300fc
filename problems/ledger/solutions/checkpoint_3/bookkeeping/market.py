"""Quotes, and conversion from one commodity to another."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

from .model import Journal, Price, Sum


def quotes(journal: Journal, date: dt.date) -> dict[str, Price]:
    """The quote of each commodity that has one on the date."""
    found: dict[str, Price] = {}
    for price in journal.prices:
        known = found.get(price.commodity)
        if price.date <= date and (known is None or known.date <= price.date):
            found[price.commodity] = price
    return found


class Converter:
    def __init__(self, quoted: dict[str, Price], target: str) -> None:
        self.quoted = quoted
        self.target = target

    def rate(self, commodity: str) -> Fraction | None:
        rate = Fraction(1)
        visited: set[str] = set()
        while commodity != self.target:
            quote = self.quoted.get(commodity)
            if quote is None or commodity in visited:
                return None
            visited.add(commodity)
            rate *= quote.amount.number
            commodity = quote.amount.commodity
        return rate

    def convert(self, total: Sum) -> Sum:
        result = Sum()
        for commodity, number in total.items():
            rate = self.rate(commodity) if commodity else None
            if rate is None:
                result.add(number, commodity)
            else:
                result.add(number * rate, self.target)
        return result
