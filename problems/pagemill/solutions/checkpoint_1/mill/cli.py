"""Command line."""

from __future__ import annotations

import argparse
import sys

from .build import build
from .errors import MillError


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="pagemill")
    commands = top.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="turn SOURCE into HTML files in OUTPUT")
    command.add_argument("source", metavar="SOURCE")
    command.add_argument("output", metavar="OUTPUT")
    return top


def main(argv: list[str]) -> int:
    arguments = parser().parse_args(argv)
    try:
        lines = build(arguments.source, arguments.output)
    except MillError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0
