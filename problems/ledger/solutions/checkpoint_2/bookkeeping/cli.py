"""The command line."""

from __future__ import annotations

import argparse
import datetime as dt
import sys

from . import reports
from .journal import parse_date, read_journal
from .model import LedgerError


def date_argument(text: str) -> dt.date:
    date = parse_date(text)
    if date is None:
        raise argparse.ArgumentTypeError(f"not a date: {text!r}")
    return date


def depth_argument(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"not a whole number of at least 1: {text!r}")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    common.add_argument("--file", required=True, metavar="PATH", help="the journal")

    filters = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    filters.add_argument("--begin", type=date_argument, metavar="DATE", help="on or after this date")
    filters.add_argument("--end", type=date_argument, metavar="DATE", help="before this date")
    filters.add_argument("--status", choices=sorted(reports.STATUSES))

    parser = argparse.ArgumentParser(prog="ledger", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", parents=[common], allow_abbrev=False, help="check the journal")
    commands.add_parser("accounts", parents=[common, filters], allow_abbrev=False, help="list the accounts")
    balance = commands.add_parser("balance", parents=[common, filters], allow_abbrev=False, help="show balances")
    balance.add_argument("--empty", action="store_true", help="show balances of zero too")
    balance.add_argument("--depth", type=depth_argument, metavar="N", help="only the first N parts")
    balance.add_argument("--tree", action="store_true", help="show the accounts as a tree")
    balance.add_argument("patterns", nargs="*", metavar="PATTERN")
    register = commands.add_parser("register", parents=[common, filters], allow_abbrev=False, help="list postings")
    register.add_argument("patterns", nargs="*", metavar="PATTERN")
    return parser


def report(args: argparse.Namespace) -> list[str]:
    transactions = read_journal(args.file)
    if args.command == "check":
        return list(reports.check(transactions))
    chosen = reports.Filters(args.begin, args.end, args.status).apply(transactions)
    if args.command == "accounts":
        return reports.accounts(chosen)
    if args.command == "register":
        return list(reports.register(chosen, args.patterns))
    lines = reports.balance(chosen, args.patterns, empty=args.empty, depth=args.depth, tree=args.tree)
    return list(lines)


def main(argv: list[str]) -> int:
    args = build_parser().parse_args(argv)
    try:
        lines = report(args)
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
