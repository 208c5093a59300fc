"""Amounts, and bags of amounts in several commodities."""
import decimal
import re
from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple

# Plenty of digits, so that nothing is lost in sums and in products of prices.
decimal.getcontext().prec = 100

AMOUNT_RE = re.compile(r"^(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,8}))?)(?: +([A-Za-z]+))?$", re.ASCII)


class Amount(NamedTuple):
    number: Decimal
    commodity: str = ""
    decimals: int = 0


def to_amount(text, need_commodity=False):
    m = AMOUNT_RE.match(text.strip())
    if not m:
        return None
    digits, decimals, commodity = m.group(1), len(m.group(2) or ""), m.group(3) or ""
    if not commodity and (decimals > 2 or need_commodity):
        return None
    return Amount(Decimal(digits.replace(",", "")), commodity, decimals)


class Bag:
    """Numbers by commodity."""

    def __init__(self):
        self.numbers = defaultdict(Decimal)

    def add(self, number, commodity):
        self.numbers[commodity] += number

    def update(self, other):
        for commodity, number in other.numbers.items():
            self.add(number, commodity)

    def nonzero(self):
        return [(c, n) for c, n in sorted(self.numbers.items()) if n != 0]


class Style:
    """Knows how many decimals each commodity has."""

    def __init__(self):
        self.decimals = {}

    def learn(self, amount):
        if amount.commodity:
            known = self.decimals.get(amount.commodity, 0)
            self.decimals[amount.commodity] = max(known, amount.decimals)

    def fmt(self, number, commodity):
        places = self.decimals.get(commodity, 2) if commodity else 2
        # Decimal rounds half to even by default; adding zero drops the sign of a zero.
        text = f"{number.quantize(Decimal(1).scaleb(-places)) + 0:f}"
        return f"{text} {commodity}" if commodity else text

    def fmt_bag(self, bag):
        return [self.fmt(number, commodity) for commodity, number in bag.nonzero()] or ["0.00"]
