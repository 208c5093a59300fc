#!/usr/bin/env python3
"""pagemill - build a static site from Markdown pages and Jinja2 templates."""
import argparse
import sys

from generator import SiteBuilder
from problems import SiteError


def create_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="main.py",
        description="Build a static site from Markdown pages and Jinja2 templates.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    build_parser = subparsers.add_parser("build", help="Build the site")
    build_parser.add_argument("source", help="Folder with content/ and templates/")
    build_parser.add_argument("output", help="Folder to write the HTML files to")
    build_parser.set_defaults(handler=run_build)
    return parser


def run_build(args: argparse.Namespace) -> int:
    builder = SiteBuilder(args.source, args.output)
    summary = builder.build()
    sys.stdout.write(summary)
    return 0


def main() -> int:
    args = create_parser().parse_args()
    try:
        return args.handler(args)
    except SiteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
