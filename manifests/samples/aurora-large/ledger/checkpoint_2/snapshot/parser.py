"""Journal parser.

The parser is a small state machine: `self.current` is the transaction that is being read, or None.
"""
import re
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import List, Optional

from errors import JournalError

DATE_RE = re.compile(r"^(\d{4})-(\d{2})-(\d{2})$", re.ASCII)
AMOUNT_RE = re.compile(r"^-?(\d{1,3}(,\d{3})+|\d+)(\.\d{1,2})?$", re.ASCII)
SPLIT_RE = re.compile(r" *\t[ \t]*| {2,}[ \t]*")


@dataclass
class Posting:
    account: str
    amount: Optional[Decimal]


@dataclass
class Transaction:
    date: date
    status: str
    description: str
    line: int
    postings: List[Posting] = field(default_factory=list)


def to_date(text):
    """Return the date, or None if the text is not a date."""
    m = DATE_RE.match(text)
    if not m:
        return None
    try:
        return date(int(m.group(1)), int(m.group(2)), int(m.group(3)))
    except ValueError:
        return None


def to_amount(text):
    if not AMOUNT_RE.match(text):
        return None
    return Decimal(text.replace(",", ""))


class JournalParser:
    def __init__(self):
        self.transactions = []
        self.current = None

    def parse_file(self, path):
        try:
            with open(path, encoding="utf-8") as handle:
                lines = handle.read().splitlines()
        except OSError:
            raise JournalError(f"cannot read {path}")
        for number, line in enumerate(lines, 1):
            self.parse_line(line, number)
        self.finish()
        return self.transactions

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
        elif line[0].isdigit():
            self.finish()
            self.parse_header(text, number)
        else:
            self.finish()
            raise JournalError("unexpected line", number)

    def parse_header(self, text, number):
        words = text.split(None, 1)
        when = to_date(words[0])
        if when is None:
            raise JournalError("invalid date", number)
        rest = words[1] if len(words) > 1 else ""
        status = ""
        if rest in ("*", "!") or rest[:2] in ("* ", "! ", "*\t", "!\t"):
            status, rest = rest[0], rest[1:].strip()
        self.current = Transaction(when, status, rest, number)

    def parse_posting(self, text, number):
        if self.current is None:
            raise JournalError("posting outside a transaction", number)
        fields = SPLIT_RE.split(text, maxsplit=1)
        account = fields[0]
        if any(not part for part in account.split(":")):
            raise JournalError("invalid account", number)
        amount = None
        if len(fields) == 2:
            amount = to_amount(fields[1])
            if amount is None:
                raise JournalError("invalid amount", number)
        self.current.postings.append(Posting(account, amount))

    def finish(self):
        txn = self.current
        self.current = None
        if txn is None:
            return
        if len(txn.postings) < 2:
            raise JournalError("too few postings", txn.line)
        blanks = [p for p in txn.postings if p.amount is None]
        if len(blanks) > 1:
            raise JournalError("more than one amount missing", txn.line)
        total = sum((p.amount for p in txn.postings if p.amount is not None), Decimal(0))
        if blanks:
            blanks[0].amount = -total
        elif total != 0:
            raise JournalError("unbalanced transaction", txn.line)
        self.transactions.append(txn)
