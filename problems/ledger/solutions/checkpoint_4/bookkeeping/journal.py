"""Reading and checking journals and price files."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

from .model import (
    Amount,
    Formatter,
    Journal,
    LedgerError,
    Posting,
    Price,
    Sum,
    Transaction,
    in_order,
    round_half_even,
)

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMOUNT = re.compile(r"(-?)([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]{1,8}))?(?: +([A-Za-z]+))?")
_SEPARATOR = re.compile(r"(?: {2}|\t)[ \t]*| \t[ \t]*")
_PRICE = re.compile(r"([A-Za-z]+)[ \t]+([^ \t]+)[ \t]+([A-Za-z]+)")


def parse_date(text: str) -> dt.date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return dt.date(*map(int, text.split("-")))
    except ValueError:
        return None


def parse_amount(text: str) -> Amount | None:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    sign, whole, decimals, commodity = match.groups()
    decimals = decimals or ""
    if commodity is None and len(decimals) > 2:
        return None
    number = Fraction(int(whole.replace(",", "") + decimals), 10 ** len(decimals))
    return Amount(-number if sign else number, commodity or "", len(decimals))


def parse_with_commodity(text: str) -> Amount | None:
    amount = parse_amount(text)
    return amount if amount and amount.commodity else None


class _Reader:
    """Turns lines into parts of a journal; one reader reads one file."""

    def __init__(
        self,
        journal: Journal,
        path: Path,
        name: str | None,
        *,
        above: tuple[Path, ...] = (),
        only_prices: bool = False,
    ) -> None:
        self.journal = journal
        self.folder = path.parent
        self.name = name  # as it stands in messages; None for the journal itself
        self.reading = (*above, path.resolve())
        self.only_prices = only_prices
        self.open: Transaction | None = None
        self.line = 0

    def fail(self, message: str, line: int | None = None) -> LedgerError:
        return LedgerError(f"{self.place(line)}: {message}")

    def place(self, line: int | None = None) -> str:
        where = f"line {self.line if line is None else line}"
        return f"{self.name} {where}" if self.name else where

    def read(self, text: str) -> None:
        for self.line, raw in enumerate(text.split("\n"), start=1):
            self.feed(raw)
        self.close()

    def feed(self, raw: str) -> None:
        stripped = raw.strip(" \t\r")
        if not stripped:
            self.close()
        elif raw[0] in ";#" or stripped[0] == ";":
            return
        elif raw[0] in " \t" and not self.only_prices:
            self.posting(self.uncommented(stripped))
        else:
            self.close()
            self.directive(raw, self.uncommented(stripped))

    @staticmethod
    def uncommented(text: str) -> str:
        return text.partition(";")[0].rstrip(" \t")

    def directive(self, raw: str, text: str) -> None:
        if raw.startswith(("P ", "P\t")):
            self.price(text)
        elif raw[0] in "0123456789" and not self.only_prices:
            self.header(text)
        elif raw.startswith(("include ", "include\t")) and not self.only_prices:
            self.include(raw.removeprefix("include").strip(" \t\r"))
        else:
            raise self.fail("unexpected line")

    def include(self, name: str) -> None:
        if not name:
            raise self.fail("unexpected line")
        path = self.folder / name
        if path.resolve() in self.reading:
            raise self.fail("include cycle")
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            raise self.fail(f"cannot read {name}") from None
        _Reader(self.journal, path, name, above=self.reading).read(text)

    def header(self, text: str) -> None:
        word, *rest = re.split(r"[ \t]+", text, maxsplit=1)
        date = parse_date(word)
        if date is None:
            raise self.fail("invalid date")
        match = re.fullmatch(r"(?:([*!])(?:[ \t]+|$))?(.*)", rest[0] if rest else "")
        assert match is not None
        self.open = Transaction(date, match[1] or "", match[2], self.line)

    def price(self, text: str) -> None:
        _, *words = re.split(r"[ \t]+", text, maxsplit=2)
        date = parse_date(words[0]) if words else None
        if date is None:
            raise self.fail("invalid date")
        match = _PRICE.fullmatch(words[1] if len(words) > 1 else "")
        amount = parse_with_commodity(f"{match[2]} {match[3]}") if match else None
        if match is None or amount is None or amount.number <= 0:
            raise self.fail("invalid price")
        self.journal.prices.append(Price(date, match[1], match[2], amount))

    def posting(self, text: str) -> None:
        if self.open is None:
            raise self.fail("posting outside a transaction")
        account, *rest = _SEPARATOR.split(text, maxsplit=1)
        if not all(part.strip() for part in account.split(":")):
            raise self.fail("invalid account")
        if rest:
            before, equals, after = rest[0].partition("=")
            amount, cost = self.amount_and_cost(before.rstrip(" \t"))
            assertion = parse_amount(after.strip(" \t")) if equals else None
            if equals and assertion is None:
                raise self.fail("invalid assertion")
            self.open.postings.append(Posting(account, [amount], cost, assertion, self.place()))
        else:
            self.open.postings.append(Posting(account, None))

    def amount_and_cost(self, text: str) -> tuple[Amount, Amount | None]:
        before, at, after = text.partition("@")
        amount = parse_with_commodity(before.strip()) if at else parse_amount(before)
        if amount is None:
            raise self.fail("invalid amount")
        decimals = self.journal.decimals
        if amount.commodity:
            decimals[amount.commodity] = max(decimals.get(amount.commodity, 0), amount.decimals)
        if not at:
            return amount, None
        is_total = after.startswith("@")
        cost = parse_with_commodity(after.removeprefix("@").strip())
        if cost is None or cost.number < 0:
            raise self.fail("invalid cost")
        if is_total:
            number = -cost.number if amount.number < 0 else cost.number
        else:
            number = round_half_even(amount.number * cost.number, 2)
        return amount, Amount(number, cost.commodity)

    def close(self) -> None:
        """End the open transaction: fill in the amount that is left out, and check the rest."""
        transaction, self.open = self.open, None
        if transaction is None:
            return
        if len(transaction.postings) < 2:
            raise self.fail("too few postings", transaction.line)
        missing = [p for p in transaction.postings if p.amounts is None]
        if len(missing) > 1:
            raise self.fail("more than one amount missing", transaction.line)
        total = Sum()
        for posting in transaction.postings:
            for amount in [posting.cost] if posting.cost else posting.amounts or []:
                total.add(amount.number, amount.commodity)
        left = [Amount(-number, commodity) for commodity, number in total.items()]
        if missing:
            missing[0].amounts = left or [Amount(Fraction(0), "")]
        elif left:
            raise self.fail("unbalanced transaction", transaction.line)
        self.journal.transactions.append(transaction)


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        raise LedgerError(f"cannot read {path}") from None


def read_journal(path: str, prices: str | None = None) -> Journal:
    journal = Journal()
    _Reader(journal, Path(path), None).read(_read_text(path))
    if prices is not None:
        _Reader(journal, Path(prices), prices, only_prices=True).read(_read_text(prices))
    check_assertions(journal)
    return journal


def check_assertions(journal: Journal) -> None:
    show = Formatter(journal.decimals)
    balances: dict[str, Sum] = defaultdict(Sum)
    for transaction in in_order(journal.transactions):
        for posting in transaction.postings:
            for amount in posting.amounts or []:
                balances[posting.account].add(amount.number, amount.commodity)
            wanted = posting.assertion
            if wanted is None:
                continue
            actual = balances[posting.account].numbers[wanted.commodity]
            if actual != wanted.number:
                raise LedgerError(
                    f"{posting.place}: assertion failed: {posting.account} is"
                    f" {show.amount(actual, wanted.commodity)}, not {show.amount(wanted.number, wanted.commodity)}"
                )
