"""Entry point of pagemill."""

import sys

from mill.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
