"""Reports over parsed journals."""
from collections import defaultdict
from decimal import Decimal

CENT = Decimal("0.01")
STATUS = {"cleared": "*", "pending": "!", "unmarked": ""}


def fmt(amount):
    """Format with two decimals; adding zero turns a negative zero into a plain one."""
    return str(amount.quantize(CENT) + 0)


def account_matches(account, patterns):
    if not patterns:
        return True
    name = account.lower()
    return any(p.lower() in name for p in patterns)


def filter_transactions(journal, args):
    result = []
    for txn in journal:
        if args.begin is not None and txn.date < args.begin:
            continue
        if args.end is not None and txn.date >= args.end:
            continue
        if args.status is not None and txn.status != STATUS[args.status]:
            continue
        result.append(txn)
    return result


class RegisterReport:
    def __init__(self, journal, patterns=()):
        self.journal = sorted(journal, key=lambda txn: txn.date)
        self.patterns = patterns

    def lines(self):
        running = Decimal(0)
        for txn in self.journal:
            for posting in txn.postings:
                if not account_matches(posting.account, self.patterns):
                    continue
                running += posting.amount
                yield "{} {:<20} {:<26} {:>12} {:>12}".format(
                    txn.date, txn.description[:20], posting.account, fmt(posting.amount), fmt(running)
                )


class BalanceReport:
    def __init__(self, journal, patterns=(), show_empty=False, depth=None):
        self.show_empty = show_empty
        self.depth = depth
        self.balances = defaultdict(Decimal)
        for txn in journal:
            for posting in txn.postings:
                if account_matches(posting.account, patterns):
                    self.balances[posting.account] += posting.amount

    def rows(self):
        short = defaultdict(Decimal)
        for account, amount in self.balances.items():
            short[":".join(account.split(":")[: self.depth])] += amount
        for account in sorted(short):
            if short[account] != 0 or self.show_empty:
                yield short[account], account

    def lines(self):
        for amount, label in self.rows():
            yield f"{fmt(amount):>14}  {label}"
        yield "-" * 14
        yield f"{fmt(sum(self.balances.values(), Decimal(0))):>14}"


class TreeReport(BalanceReport):
    def rows(self):
        sums = defaultdict(Decimal)
        for account, amount in self.balances.items():
            parts = account.split(":")
            for i in range(len(parts)):
                sums[":".join(parts[: i + 1])] += amount

        def visible(name):
            """A line is shown for itself or for a line below it."""
            return any(
                self.within(other) and (sums[other] != 0 or self.show_empty)
                for other in sums
                if other == name or other.startswith(name + ":")
            )

        for name in sorted(sums):
            if self.within(name) and visible(name):
                level = name.count(":")
                yield sums[name], "  " * level + name.split(":")[-1]

    def within(self, name):
        return self.depth is None or name.count(":") < self.depth
