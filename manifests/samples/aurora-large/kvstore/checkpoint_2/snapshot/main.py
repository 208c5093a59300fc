#!/usr/bin/env python3
"""Entry point: parse the command line and run the HTTP server."""
from __future__ import annotations

import argparse
import os

from server import KVServer


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kvstore")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", required=True)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    os.makedirs(args.data, exist_ok=True)
    httpd = KVServer(("127.0.0.1", args.port), args.data)
    try:
        httpd.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        httpd.server_close()


if __name__ == "__main__":
    main()
