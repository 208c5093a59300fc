"""How reports are written: as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from fractions import Fraction

from .model import Formatter, Price, Sum, Transaction
from .reports import Entry

WIDTH = 14
Rows = Iterable[tuple[Sum, str]]


def lines(items: Iterable[str]) -> str:
    return "".join(f"{item}\n" for item in items)


def check(transactions: list[Transaction]) -> str:
    postings = sum(len(t.postings) for t in transactions)
    return f"ok: {len(transactions)} transactions, {postings} postings\n"


def prices(quoted: dict[str, Price]) -> str:
    return lines(
        f"1 {commodity} = {price.text} {price.amount.commodity} ({price.date.isoformat()})"
        for commodity, price in sorted(quoted.items())
    )


class Writer:
    """Writes rows with the decimals that the journal calls for."""

    def __init__(self, show: Formatter) -> None:
        self.show = show

    def parts(self, total: Sum) -> list[tuple[str, Fraction]]:
        return self.show.visible(total) or [("", Fraction(0))]

    def right(self, total: Sum) -> list[str]:
        return [f"{self.show.amount(number, commodity):>{WIDTH}}" for commodity, number in self.parts(total)]

    def monthly(self, months: dict[str, Sum]) -> str:
        return lines(f"{month}  {text}" for month, total in months.items() for text in self.right(total))

    # balance

    def balance_text(self, rows: Rows, grand: Sum) -> str:
        body = [f"{text}  {label}" for total, label in rows for text in self.right(total)]
        return lines([*body, "-" * WIDTH, *self.right(grand)])

    def balance_csv(self, rows: Rows, grand: Sum) -> str:
        return to_csv(["account", "commodity", "amount"], self.balance_records(rows))

    def balance_json(self, rows: Rows, grand: Sum) -> str:
        total = [{"commodity": c, "amount": self.show.number(n, c)} for c, n in self.parts(grand)]
        return to_json({"accounts": self.balance_records(rows), "total": total})

    def balance_records(self, rows: Rows) -> list[dict[str, str]]:
        return [
            {"account": label, "commodity": commodity, "amount": self.show.number(number, commodity)}
            for total, label in rows
            for commodity, number in self.parts(total)
        ]

    # register

    def register_text(self, entries: Iterable[Entry]) -> str:
        return lines(
            f"{entry.transaction.date.isoformat()} {entry.transaction.description[:20]:<20} {entry.account:<26}"
            f" {self.show.amount(entry.amount.number, entry.amount.commodity):>12}"
            f" {self.show.amount(entry.total.number, entry.total.commodity):>12}"
            for entry in entries
        )

    def register_csv(self, entries: Iterable[Entry]) -> str:
        names = ["date", "description", "account", "commodity", "amount", "total"]
        return to_csv(names, self.register_records(entries))

    def register_json(self, entries: Iterable[Entry]) -> str:
        return to_json(self.register_records(entries))

    def register_records(self, entries: Iterable[Entry]) -> list[dict[str, str]]:
        return [
            {
                "date": entry.transaction.date.isoformat(),
                "description": entry.transaction.description,
                "account": entry.account,
                "commodity": entry.amount.commodity,
                "amount": self.show.number(entry.amount.number, entry.amount.commodity),
                "total": self.show.number(entry.total.number, entry.total.commodity),
            }
            for entry in entries
        ]


def to_csv(names: list[str], records: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
