"""Reports over parsed journals."""
import csv
import io
import json
from collections import defaultdict

from amounts import Bag
from market import convert

STATUS = {"cleared": "*", "pending": "!", "unmarked": ""}


def account_matches(account, patterns):
    if not patterns:
        return True
    name = account.lower()
    return any(p.lower() in name for p in patterns)


def filter_transactions(transactions, args):
    result = []
    for txn in transactions:
        if args.begin is not None and txn.date < args.begin:
            continue
        if args.end is not None and txn.date >= args.end:
            continue
        if args.status is not None and txn.status != STATUS[args.status]:
            continue
        result.append(txn)
    return result


def write_csv(names, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([row[name] for name in names])
    return out.getvalue().splitlines()


class RegisterReport:
    NAMES = ["date", "description", "account", "commodity", "amount", "total"]

    def __init__(self, transactions, style, patterns=()):
        self.transactions = sorted(transactions, key=lambda txn: txn.date)
        self.style = style
        self.patterns = patterns

    def entries(self):
        """Yield (transaction, account, amount, running total)."""
        running = Bag()
        for txn in self.transactions:
            for posting in txn.postings:
                if not account_matches(posting.account, self.patterns):
                    continue
                for amount in posting.amounts:
                    running.add(amount.number, amount.commodity)
                    yield txn, posting.account, amount, running.numbers[amount.commodity]

    def records(self):
        for txn, account, amount, total in self.entries():
            yield {
                "date": str(txn.date),
                "description": txn.description,
                "account": account,
                "commodity": amount.commodity,
                "amount": self.style.number(amount.number, amount.commodity),
                "total": self.style.number(total, amount.commodity),
            }

    def lines(self):
        for r in self.records():
            amount = f"{r['amount']} {r['commodity']}".rstrip()
            total = f"{r['total']} {r['commodity']}".rstrip()
            yield f"{r['date']} {r['description'][:20]:<20} {r['account']:<26} {amount:>12} {total:>12}"

    def csv_lines(self):
        return write_csv(self.NAMES, self.records())

    def json_lines(self):
        return [json.dumps(list(self.records()), indent=2)]


class MonthlyReport(RegisterReport):
    def lines(self):
        months = defaultdict(Bag)
        for txn, _, amount, _ in self.entries():
            months[txn.date.year, txn.date.month].add(amount.number, amount.commodity)
        if not months:
            return
        (year, month), last = min(months), max(months)
        while (year, month) <= last:
            for text in self.style.fmt_bag(months[year, month]):
                yield f"{year:04d}-{month:02d}  {text:>14}"
            year, month = (year + 1, 1) if month == 12 else (year, month + 1)


class BalanceReport:
    def __init__(self, transactions, style, patterns=(), show_empty=False, depth=None):
        self.style = style
        self.show_empty = show_empty
        self.depth = depth
        self.balances = defaultdict(Bag)
        for txn in transactions:
            for posting in txn.postings:
                if account_matches(posting.account, patterns):
                    for amount in posting.amounts:
                        self.balances[posting.account].add(amount.number, amount.commodity)

    def convert(self, quotes, target):
        for account, bag in self.balances.items():
            self.balances[account] = convert(bag, quotes, target)

    def rows(self):
        short = defaultdict(Bag)
        for account, bag in self.balances.items():
            short[":".join(account.split(":")[: self.depth])].update(bag)
        for account in sorted(short):
            if short[account].nonzero() or self.show_empty:
                yield short[account], account

    def lines(self):
        for bag, label in self.rows():
            for text in self.style.fmt_bag(bag):
                yield f"{text:>14}  {label}"
        yield "-" * 14
        for text in self.style.fmt_bag(self.total()):
            yield f"{text:>14}"

    def total(self):
        total = Bag()
        for bag in self.balances.values():
            total.update(bag)
        return total

    def records(self):
        for bag, label in self.rows():
            for commodity, text in self.style.pairs(bag):
                yield {"account": label, "commodity": commodity, "amount": text}

    def csv_lines(self):
        return write_csv(["account", "commodity", "amount"], self.records())

    def json_lines(self):
        total = [{"commodity": c, "amount": text} for c, text in self.style.pairs(self.total())]
        return [json.dumps({"accounts": list(self.records()), "total": total}, indent=2)]


class TreeReport(BalanceReport):
    def rows(self):
        sums = defaultdict(Bag)
        for account, bag in self.balances.items():
            parts = account.split(":")
            for i in range(len(parts)):
                sums[":".join(parts[: i + 1])].update(bag)

        def visible(name):
            """A line is shown for itself or for a line below it."""
            return any(
                self.within(other) and (sums[other].nonzero() or self.show_empty)
                for other in sums
                if other == name or other.startswith(name + ":")
            )

        for name in sorted(sums):
            if self.within(name) and visible(name):
                level = name.count(":")
                yield sums[name], "  " * level + name.split(":")[-1]

    def within(self, name):
        return self.depth is None or name.count(":") < self.depth
