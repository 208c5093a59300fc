#!/usr/bin/env python3
"""Command-line entry point of the ledger tool."""
import argparse
import sys

from errors import JournalError
from parser import JournalParser
from report import BalanceReport


def cmd_check(journal, args):
    count = sum(len(txn.postings) for txn in journal)
    print(f"ok: {len(journal)} transactions, {count} postings")


def cmd_accounts(journal, args):
    names = set()
    for txn in journal:
        for posting in txn.postings:
            names.add(posting.account)
    for name in sorted(names):
        print(name)


def cmd_balance(journal, args):
    report = BalanceReport(journal, patterns=args.patterns, show_empty=args.empty)
    for line in report.lines():
        print(line)


def build_arg_parser():
    ap = argparse.ArgumentParser(prog="ledger")
    sub = ap.add_subparsers(dest="command", required=True)

    p = sub.add_parser("check", help="validate the journal")
    p.add_argument("--file", required=True)
    p.set_defaults(func=cmd_check)

    p = sub.add_parser("accounts", help="list accounts")
    p.add_argument("--file", required=True)
    p.set_defaults(func=cmd_accounts)

    p = sub.add_parser("balance", help="show account balances")
    p.add_argument("--file", required=True)
    p.add_argument("--empty", action="store_true")
    p.add_argument("patterns", nargs="*")
    p.set_defaults(func=cmd_balance)
    return ap


def main():
    args = build_arg_parser().parse_args()
    try:
        journal = JournalParser().parse_file(args.file)
    except JournalError as exc:
        sys.stderr.write(f"error: {exc}\n")
        sys.exit(1)
    args.func(journal, args)


if __name__ == "__main__":
    main()
