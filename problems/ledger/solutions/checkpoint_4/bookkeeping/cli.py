"""The command line."""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys

from . import formats, market, reports
from .journal import parse_date, read_journal
from .model import Formatter, LedgerError


def date_argument(text: str) -> dt.date:
    date = parse_date(text)
    if date is None:
        raise argparse.ArgumentTypeError(f"not a date: {text!r}")
    return date


def depth_argument(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"not a whole number of at least 1: {text!r}")
    return int(text)


def commodity_argument(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z]+", text):
        raise argparse.ArgumentTypeError(f"not a commodity: {text!r}")
    return text


def parent() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(add_help=False, allow_abbrev=False)


def build_parser() -> argparse.ArgumentParser:
    common = parent()
    common.add_argument("--file", required=True, metavar="PATH", help="the journal")

    filters = parent()
    filters.add_argument("--begin", type=date_argument, metavar="DATE", help="on or after this date")
    filters.add_argument("--end", type=date_argument, metavar="DATE", help="before this date")
    filters.add_argument("--status", choices=sorted(reports.STATUSES))

    quoted = parent()
    quoted.add_argument("--at", type=date_argument, metavar="DATE", help="the date of the quotes")
    quoted.add_argument("--prices", metavar="PATH", help="a file with more prices")

    formatted = parent()
    formatted.add_argument("--format", choices=["text", "csv", "json"], default="text")

    patterns = parent()
    patterns.add_argument("patterns", nargs="*", metavar="PATTERN")

    parser = argparse.ArgumentParser(prog="ledger", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return commands.add_parser(name, parents=[common, *parents], allow_abbrev=False, help=text)

    command("check", "check the journal")
    command("accounts", "list the accounts", filters)
    command("register", "list postings", filters, formatted, patterns)
    command("monthly", "show sums by month", filters, patterns)
    command("prices", "list quotes", quoted)
    balance = command("balance", "show balances", filters, quoted, formatted, patterns)
    balance.add_argument("--empty", action="store_true", help="show balances of zero too")
    balance.add_argument("--depth", type=depth_argument, metavar="N", help="only the first N parts")
    balance.add_argument("--tree", action="store_true", help="show the accounts as a tree")
    balance.add_argument("--value", type=commodity_argument, metavar="COMMODITY", help="convert into this")
    return parser


def report(args: argparse.Namespace) -> str:
    journal = read_journal(args.file, getattr(args, "prices", None))
    if args.command == "check":
        return formats.check(journal.transactions)
    if args.command == "prices":
        return formats.prices(market.quotes(journal, args.at or journal.last_date()))
    chosen = reports.Filters(args.begin, args.end, args.status).apply(journal.transactions)
    if args.command == "accounts":
        return formats.lines(reports.accounts(chosen))
    show = Formatter(journal.decimals)
    writer = formats.Writer(show)
    if args.command == "monthly":
        return writer.monthly(reports.monthly(reports.register(chosen, args.patterns)))
    if args.command == "register":
        write = {"text": writer.register_text, "csv": writer.register_csv, "json": writer.register_json}
        return write[args.format](reports.register(chosen, args.patterns))
    converter = None
    if args.value is not None:
        converter = market.Converter(market.quotes(journal, args.at or journal.last_date()), args.value)
    sums = reports.balances(chosen, args.patterns, converter)
    rows = reports.balance_rows(sums, reports.BalanceOptions(args.empty, args.depth, args.tree), show)
    write = {"text": writer.balance_text, "csv": writer.balance_csv, "json": writer.balance_json}
    return write[args.format](rows, reports.grand_total(sums))


def main(argv: list[str]) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.command == "balance" and args.tree and args.format != "text":
        parser.error(f"--tree cannot be used with --format {args.format}")
    try:
        output = report(args)
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(output)
    return 0
