"""The command line."""

from __future__ import annotations

import argparse
import sys

from . import reports
from .journal import read_journal
from .model import LedgerError


def build_parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    common.add_argument("--file", required=True, metavar="PATH", help="the journal")

    parser = argparse.ArgumentParser(prog="ledger", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", parents=[common], allow_abbrev=False, help="check the journal")
    commands.add_parser("accounts", parents=[common], allow_abbrev=False, help="list the accounts")
    balance = commands.add_parser("balance", parents=[common], allow_abbrev=False, help="show balances")
    balance.add_argument("--empty", action="store_true", help="show balances of zero too")
    balance.add_argument("patterns", nargs="*", metavar="PATTERN")
    return parser


def report(args: argparse.Namespace) -> list[str]:
    transactions = read_journal(args.file)
    if args.command == "check":
        return list(reports.check(transactions))
    if args.command == "accounts":
        return reports.accounts(transactions)
    return list(reports.balance(transactions, args.patterns, empty=args.empty))


def main(argv: list[str]) -> int:
    args = build_parser().parse_args(argv)
    try:
        lines = report(args)
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
