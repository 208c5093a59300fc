"""A JSON key-value store over HTTP: python main.py --port PORT --data DIR"""

import argparse
import signal
import sys
from pathlib import Path

from api import Api
from store import Store
from web import make_server


def main(argv=None):
    parser = argparse.ArgumentParser(description="JSON key-value store over HTTP")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="directory for the data")
    args = parser.parse_args(argv)

    args.data.mkdir(parents=True, exist_ok=True)
    server = make_server(args.port, Api(Store()))

    # The main thread only accepts connections: it can be interrupted anywhere.
    signal.signal(signal.SIGTERM, lambda signum, frame: sys.exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
