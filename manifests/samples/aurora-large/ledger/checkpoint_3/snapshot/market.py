"""Quotes and conversion."""
from decimal import Decimal

from amounts import Bag


def last_date(journal):
    dates = [t.date for t in journal.transactions] + [p.date for p in journal.prices]
    return max(dates) if dates else None


def quotes_at(journal, when=None):
    when = when or last_date(journal)
    quotes = {}
    # sorted() is stable: of the same date, the one read last wins
    for price in sorted(journal.prices, key=lambda p: p.date):
        if price.date <= when:
            quotes[price.commodity] = price
    return quotes


def rate(quotes, source, target):
    """How much of the target one unit of the source is worth, or None."""
    factor, seen = Decimal(1), set()
    while source != target:
        if source in seen or source not in quotes:
            return None
        seen.add(source)
        factor *= quotes[source].number
        source = quotes[source].target
    return factor


def convert(bag, quotes, target):
    result = Bag()
    for commodity, number in bag.numbers.items():
        factor = rate(quotes, commodity, target)
        if factor is None:
            result.add(number, commodity)
        else:
            result.add(number * factor, target)
    return result
