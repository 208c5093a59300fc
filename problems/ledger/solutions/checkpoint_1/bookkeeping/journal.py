"""Reading and checking journals."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

from .model import LedgerError, Posting, Transaction

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMOUNT = re.compile(r"(-?)([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]{1,2}))?")
_SEPARATOR = re.compile(r"(?: {2}|\t)[ \t]*| \t[ \t]*")


def parse_date(text: str) -> dt.date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return dt.date(*map(int, text.split("-")))
    except ValueError:
        return None


def parse_amount(text: str) -> int | None:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    sign, whole, decimals = match.groups()
    value = int(whole.replace(",", "")) * 100 + int((decimals or "").ljust(2, "0"))
    return -value if sign else value


class _Reader:
    """Turns lines into transactions; one reader reads one file."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.open: Transaction | None = None
        self.line = 0

    def fail(self, message: str, line: int | None = None) -> LedgerError:
        return LedgerError(f"line {self.line if line is None else line}: {message}")

    def read(self, text: str) -> list[Transaction]:
        for self.line, raw in enumerate(text.split("\n"), start=1):
            self.feed(raw)
        self.close()
        return self.transactions

    def feed(self, raw: str) -> None:
        stripped = raw.strip(" \t\r")
        if not stripped:
            self.close()
        elif raw[0] in ";#" or stripped[0] == ";":
            return
        elif raw[0] in " \t":
            self.posting(self.uncommented(stripped))
        else:
            self.close()
            self.directive(self.uncommented(stripped))

    @staticmethod
    def uncommented(text: str) -> str:
        return text.partition(";")[0].rstrip(" \t")

    def directive(self, text: str) -> None:
        if text[0] in "0123456789":
            self.header(text)
        else:
            raise self.fail("unexpected line")

    def header(self, text: str) -> None:
        word, *rest = re.split(r"[ \t]+", text, maxsplit=1)
        date = parse_date(word)
        if date is None:
            raise self.fail("invalid date")
        match = re.fullmatch(r"(?:([*!])(?:[ \t]+|$))?(.*)", rest[0] if rest else "")
        assert match is not None
        self.open = Transaction(date, match[1] or "", match[2], self.line)

    def posting(self, text: str) -> None:
        if self.open is None:
            raise self.fail("posting outside a transaction")
        account, *rest = _SEPARATOR.split(text, maxsplit=1)
        if not all(part.strip() for part in account.split(":")):
            raise self.fail("invalid account")
        amount = None
        if rest:
            amount = parse_amount(rest[0])
            if amount is None:
                raise self.fail("invalid amount")
        self.open.postings.append(Posting(account, amount))

    def close(self) -> None:
        """End the open transaction: fill in the amount that is left out, and check the rest."""
        transaction, self.open = self.open, None
        if transaction is None:
            return
        if len(transaction.postings) < 2:
            raise self.fail("too few postings", transaction.line)
        missing = [p for p in transaction.postings if p.amount is None]
        if len(missing) > 1:
            raise self.fail("more than one amount missing", transaction.line)
        total = sum(p.amount for p in transaction.postings if p.amount is not None)
        if missing:
            missing[0].amount = -total
        elif total:
            raise self.fail("unbalanced transaction", transaction.line)
        self.transactions.append(transaction)


def read_journal(path: str) -> list[Transaction]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        raise LedgerError(f"cannot read {path}") from None
    return _Reader().read(text)
