"""Reports over parsed journals."""
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


class RegisterReport:
    def __init__(self, transactions, style, patterns=()):
        self.transactions = sorted(transactions, key=lambda txn: txn.date)
        self.style = style
        self.patterns = patterns

    def lines(self):
        running = Bag()
        for txn in self.transactions:
            for posting in txn.postings:
                if not account_matches(posting.account, self.patterns):
                    continue
                for amount in posting.amounts:
                    running.add(amount.number, amount.commodity)
                    yield "{} {:<20} {:<26} {:>12} {:>12}".format(
                        txn.date,
                        txn.description[:20],
                        posting.account,
                        self.style.fmt(amount.number, amount.commodity),
                        self.style.fmt(running.numbers[amount.commodity], amount.commodity),
                    )


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
        total = Bag()
        for bag in self.balances.values():
            total.update(bag)
        for text in self.style.fmt_bag(total):
            yield f"{text:>14}"


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
