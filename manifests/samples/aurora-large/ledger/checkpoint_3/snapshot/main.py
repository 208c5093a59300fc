#!/usr/bin/env python3
"""Command-line entry point of the ledger tool."""
import argparse
import re
import sys

from errors import JournalError
from market import quotes_at
from parser import JournalParser, PriceFileParser, to_date
from report import BalanceReport, RegisterReport, TreeReport, filter_transactions


def date_type(text):
    value = to_date(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"invalid date: {text}")
    return value


def depth_type(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("depth must be at least 1")
    return value


def commodity_type(text):
    if not re.fullmatch("[A-Za-z]+", text):
        raise argparse.ArgumentTypeError(f"invalid commodity: {text}")
    return text


def cmd_check(journal, args):
    count = sum(len(txn.postings) for txn in journal.transactions)
    yield f"ok: {len(journal.transactions)} transactions, {count} postings"


def cmd_accounts(journal, args):
    chosen = filter_transactions(journal.transactions, args)
    yield from sorted({p.account for txn in chosen for p in txn.postings})


def cmd_balance(journal, args):
    cls = TreeReport if args.tree else BalanceReport
    chosen = filter_transactions(journal.transactions, args)
    report = cls(chosen, journal.style, patterns=args.patterns, show_empty=args.empty, depth=args.depth)
    if args.value:
        report.convert(quotes_at(journal, args.at), args.value)
    yield from report.lines()


def cmd_register(journal, args):
    chosen = filter_transactions(journal.transactions, args)
    yield from RegisterReport(chosen, journal.style, patterns=args.patterns).lines()


def cmd_prices(journal, args):
    for commodity, price in sorted(quotes_at(journal, args.at).items()):
        yield f"1 {commodity} = {price.digits} {price.target} ({price.date})"


def build_arg_parser():
    ap = argparse.ArgumentParser(prog="ledger")
    sub = ap.add_subparsers(dest="command", required=True)

    def add(name, func, filters=True, patterns=False, prices=False):
        p = sub.add_parser(name)
        p.add_argument("--file", required=True)
        if filters:
            p.add_argument("--begin", type=date_type)
            p.add_argument("--end", type=date_type)
            p.add_argument("--status", choices=["cleared", "pending", "unmarked"])
        if prices:
            p.add_argument("--at", type=date_type)
            p.add_argument("--prices")
        if patterns:
            p.add_argument("patterns", nargs="*")
        p.set_defaults(func=func)
        return p

    add("check", cmd_check, filters=False)
    add("accounts", cmd_accounts)
    add("register", cmd_register, patterns=True)
    add("prices", cmd_prices, filters=False, prices=True)
    p = add("balance", cmd_balance, patterns=True, prices=True)
    p.add_argument("--empty", action="store_true")
    p.add_argument("--depth", type=depth_type)
    p.add_argument("--tree", action="store_true")
    p.add_argument("--value", type=commodity_type)
    return ap


def main():
    args = build_arg_parser().parse_args()
    try:
        journal = JournalParser().parse_file(args.file)
        if getattr(args, "prices", None):
            PriceFileParser(journal, args.prices).parse_file(args.prices)
    except JournalError as exc:
        sys.stderr.write(f"error: {exc}\n")
        sys.exit(1)
    for line in args.func(journal, args):
        print(line)


if __name__ == "__main__":
    main()
