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
    build_parser.add_argument("--drafts", action="store_true", help="Build drafts as well")
    build_parser.add_argument("source", help="Folder with content/ and templates/")
    build_parser.add_argument("output", help="Folder to write the HTML files to")
    build_parser.set_defaults(handler=run_build)

    check_parser = subparsers.add_parser("check", help="Report every problem of the site")
    check_parser.add_argument("source", help="Folder with content/ and templates/")
    check_parser.set_defaults(handler=run_check)
    return parser


def run_build(args: argparse.Namespace) -> int:
    builder = SiteBuilder(args.source, args.output, include_drafts=args.drafts)
    sys.stdout.write(builder.build())
    return 0


def run_check(args: argparse.Namespace) -> int:
    messages = SiteBuilder(args.source).check()
    print("\n".join(messages) if messages else "ok")
    return 1 if messages else 0


def main() -> int:
    args = create_parser().parse_args()
    try:
        return args.handler(args)
    except SiteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
