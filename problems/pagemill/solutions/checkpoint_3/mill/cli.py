"""Command line."""

from __future__ import annotations

import argparse
import sys

from .build import build, check
from .errors import MillError


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="pagemill")
    commands = top.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="turn SOURCE into HTML files in OUTPUT")
    command.add_argument("--drafts", action="store_true", help="treat drafts like all other pages")
    command.add_argument("source", metavar="SOURCE")
    command.add_argument("output", metavar="OUTPUT")
    command = commands.add_parser("check", help="report all problems of SOURCE")
    command.add_argument("source", metavar="SOURCE")
    return top


def main(argv: list[str]) -> int:
    arguments = parser().parse_args(argv)
    if arguments.command == "check":
        problems = check(arguments.source)
        print("\n".join(problems or ["ok"]))
        return 1 if problems else 0
    try:
        lines = build(arguments.source, arguments.output, arguments.drafts)
    except MillError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0
