#!/usr/bin/env python3
"""Command-line entry point of the ledger tool."""
import argparse
import sys

from errors import JournalError
from parser import JournalParser, to_date
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


def cmd_check(journal, args):
    count = sum(len(txn.postings) for txn in journal)
    yield f"ok: {len(journal)} transactions, {count} postings"


def cmd_accounts(journal, args):
    chosen = filter_transactions(journal, args)
    yield from sorted({p.account for txn in chosen for p in txn.postings})


def cmd_balance(journal, args):
    cls = TreeReport if args.tree else BalanceReport
    chosen = filter_transactions(journal, args)
    yield from cls(chosen, patterns=args.patterns, show_empty=args.empty, depth=args.depth).lines()


def cmd_register(journal, args):
    yield from RegisterReport(filter_transactions(journal, args), patterns=args.patterns).lines()


def build_arg_parser():
    ap = argparse.ArgumentParser(prog="ledger")
    sub = ap.add_subparsers(dest="command", required=True)

    def add(name, func, filters=True, patterns=False):
        p = sub.add_parser(name)
        p.add_argument("--file", required=True)
        if filters:
            p.add_argument("--begin", type=date_type)
            p.add_argument("--end", type=date_type)
            p.add_argument("--status", choices=["cleared", "pending", "unmarked"])
        if patterns:
            p.add_argument("patterns", nargs="*")
        p.set_defaults(func=func)
        return p

    add("check", cmd_check, filters=False)
    add("accounts", cmd_accounts)
    add("register", cmd_register, patterns=True)
    p = add("balance", cmd_balance, patterns=True)
    p.add_argument("--empty", action="store_true")
    p.add_argument("--depth", type=depth_type)
    p.add_argument("--tree", action="store_true")
    return ap


def main():
    args = build_arg_parser().parse_args()
    try:
        journal = JournalParser().parse_file(args.file)
    except JournalError as exc:
        sys.stderr.write(f"error: {exc}\n")
        sys.exit(1)
    for line in args.func(journal, args):
        print(line)


if __name__ == "__main__":
    main()
