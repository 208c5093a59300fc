"""Journal parser.

The parser is a small state machine: `self.current` is the transaction that is being read, or None.
"""
import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import List, Optional

from amounts import Amount, Bag, Style, to_amount
from errors import JournalError

DATE_RE = re.compile(r"^(\d{4})-(\d{2})-(\d{2})$", re.ASCII)
PRICE_RE = re.compile(r"^([A-Za-z]+)\s+(\S+)\s+([A-Za-z]+)$")
SPLIT_RE = re.compile(r" *\t[ \t]*| {2,}[ \t]*")
CENT = Decimal("0.01")


@dataclass
class Posting:
    account: str
    amounts: Optional[List[Amount]]
    cost: Optional[Amount] = None
    assertion: Optional[Amount] = None
    line: int = 0
    source: Optional[str] = None


@dataclass
class Transaction:
    date: date
    status: str
    description: str
    line: int
    postings: List[Posting] = field(default_factory=list)


@dataclass
class Price:
    date: date
    commodity: str
    digits: str
    number: Decimal
    target: str


@dataclass
class Journal:
    transactions: List[Transaction] = field(default_factory=list)
    prices: List[Price] = field(default_factory=list)
    style: Style = field(default_factory=Style)


def to_date(text):
    """Return the date, or None if the text is not a date."""
    m = DATE_RE.match(text)
    if not m:
        return None
    try:
        return date(int(m.group(1)), int(m.group(2)), int(m.group(3)))
    except ValueError:
        return None


class JournalParser:
    def __init__(self, journal=None, source=None, stack=()):
        self.journal = journal or Journal()
        self.source = source
        self.stack = stack
        self.folder = ""
        self.current = None

    def error(self, message, line):
        return JournalError(message, line, self.source)

    def read_lines(self, path):
        try:
            with open(path, encoding="utf-8") as handle:
                return handle.read().splitlines()
        except OSError:
            raise JournalError(f"cannot read {path}")

    def parse_file(self, path):
        self.folder = os.path.dirname(path)
        self.stack = self.stack + (os.path.realpath(path),)
        for number, line in enumerate(self.read_lines(path), 1):
            self.parse_line(line, number)
        self.finish()
        return self.journal

    def parse_line(self, line, number):
        if not line.strip():
            self.finish()
            return
        if line[0] in ";#":
            return
        if line.lstrip()[0] == ";":
            return
        text = line.split(";", 1)[0].rstrip()
        if line[0] in " \t":
            self.parse_posting(text.strip(), number)
            return
        self.finish()
        if line[0].isdigit():
            self.parse_header(text, number)
        elif line[:2] in ("P ", "P\t"):
            self.parse_price(text, number)
        elif line.split()[0] == "include" and len(line.split()) > 1:
            self.parse_include(line.split(None, 1)[1].strip(), number)
        else:
            raise self.error("unexpected line", number)

    def parse_include(self, name, number):
        path = os.path.join(self.folder, name)
        if os.path.realpath(path) in self.stack:
            raise self.error("include cycle", number)
        if not os.path.isfile(path) or not os.access(path, os.R_OK):
            raise self.error(f"cannot read {name}", number)
        JournalParser(self.journal, name, self.stack).parse_file(path)

    def parse_header(self, text, number):
        words = text.split(None, 1)
        when = to_date(words[0])
        if when is None:
            raise self.error("invalid date", number)
        rest = words[1] if len(words) > 1 else ""
        status = ""
        if rest in ("*", "!") or rest[:2] in ("* ", "! ", "*\t", "!\t"):
            status, rest = rest[0], rest[1:].strip()
        self.current = Transaction(when, status, rest, number)

    def parse_price(self, text, number):
        words = text.split(None, 2)
        when = to_date(words[1]) if len(words) > 1 else None
        if when is None:
            raise self.error("invalid date", number)
        m = PRICE_RE.match(words[2]) if len(words) > 2 else None
        amount = to_amount(f"{m.group(2)} {m.group(3)}", need_commodity=True) if m else None
        if amount is None or amount.number <= 0:
            raise self.error("invalid price", number)
        self.journal.prices.append(Price(when, m.group(1), m.group(2), amount.number, m.group(3)))

    def parse_posting(self, text, number):
        if self.current is None:
            raise self.error("posting outside a transaction", number)
        fields = SPLIT_RE.split(text, maxsplit=1)
        account = fields[0]
        if any(not part for part in account.split(":")):
            raise self.error("invalid account", number)
        if len(fields) == 1:
            self.current.postings.append(Posting(account, None))
            return
        before, equals, after = fields[1].partition("=")
        amount, cost = self.parse_amount_and_cost(before, number)
        self.journal.style.learn(amount)
        assertion = None
        if equals:
            assertion = to_amount(after)
            if assertion is None:
                raise self.error("invalid assertion", number)
        self.current.postings.append(Posting(account, [amount], cost, assertion, number, self.source))

    def parse_amount_and_cost(self, text, number):
        before, at, after = text.partition("@")
        amount = to_amount(before, need_commodity=bool(at))
        if amount is None:
            raise self.error("invalid amount", number)
        if not at:
            return amount, None
        whole = after.startswith("@")
        price = to_amount(after[1:] if whole else after, need_commodity=True)
        if price is None or price.number < 0:
            raise self.error("invalid cost", number)
        if whole:
            value = price.number.copy_sign(amount.number)
        else:
            value = (amount.number * price.number).quantize(CENT, rounding=ROUND_HALF_UP)
        return amount, Amount(value, price.commodity)

    def finish(self):
        txn = self.current
        self.current = None
        if txn is None:
            return
        if len(txn.postings) < 2:
            raise self.error("too few postings", txn.line)
        blanks = [p for p in txn.postings if p.amounts is None]
        if len(blanks) > 1:
            raise self.error("more than one amount missing", txn.line)
        total = Bag()
        for posting in txn.postings:
            if posting.cost is not None:
                total.add(posting.cost.number, posting.cost.commodity)
            elif posting.amounts is not None:
                total.add(posting.amounts[0].number, posting.amounts[0].commodity)
        rest = total.nonzero()
        if blanks:
            blanks[0].amounts = [Amount(-n, c) for c, n in rest] or [Amount(Decimal(0))]
        elif rest:
            raise self.error("unbalanced transaction", txn.line)
        self.journal.transactions.append(txn)


def check_assertions(journal):
    """Follow the balance of every account and compare it where the journal says so."""
    balances = defaultdict(Bag)
    for txn in journal.transactions:
        for posting in txn.postings:
            bag = balances[posting.account]
            for amount in posting.amounts:
                bag.add(amount.number, amount.commodity)
            wanted = posting.assertion
            if wanted is None or bag.numbers[wanted.commodity] == wanted.number:
                continue
            actual = journal.style.fmt(bag.numbers[wanted.commodity], wanted.commodity)
            expected = journal.style.fmt(wanted.number, wanted.commodity)
            raise JournalError(
                f"assertion failed: {posting.account} is {actual}, not {expected}", posting.line, posting.source
            )


class PriceFileParser(JournalParser):
    """Price files have only blank lines, comments and prices."""

    def parse_line(self, line, number):
        if not line.strip() or line[0] in ";#" or line.lstrip()[0] == ";":
            return
        if line[:2] not in ("P ", "P\t"):
            raise self.error("unexpected line", number)
        self.parse_price(line.split(";", 1)[0].rstrip(), number)
