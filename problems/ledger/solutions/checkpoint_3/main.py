"""Plain-text double-entry bookkeeping: entry point."""

import sys

from bookkeeping.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
