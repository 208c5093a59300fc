"""Reports over parsed journals."""
from decimal import Decimal

CENT = Decimal("0.01")


def fmt(amount):
    """Format with two decimals; adding zero turns a negative zero into a plain one."""
    return str(amount.quantize(CENT) + 0)


def account_matches(account, patterns):
    if not patterns:
        return True
    name = account.lower()
    return any(p.lower() in name for p in patterns)


class BalanceReport:
    def __init__(self, journal, patterns=(), show_empty=False):
        self.show_empty = show_empty
        self.balances = {}
        for txn in journal:
            for posting in txn.postings:
                if account_matches(posting.account, patterns):
                    old = self.balances.get(posting.account, Decimal(0))
                    self.balances[posting.account] = old + posting.amount

    def lines(self):
        total = Decimal(0)
        for account in sorted(self.balances):
            amount = self.balances[account]
            if amount == 0 and not self.show_empty:
                continue
            total += amount
            yield f"{fmt(amount):>14}  {account}"
        yield "-" * 14
        yield f"{fmt(total):>14}"
