"""A store of JSON documents over HTTP: python main.py --port PORT --data DIR"""

import argparse
import signal
import sys
from pathlib import Path

from api import Api
from documents import Documents
from journal import Journal
from web import make_server


def main(argv=None):
    parser = argparse.ArgumentParser(description="document store over HTTP")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="directory for the data")
    args = parser.parse_args(argv)

    args.data.mkdir(parents=True, exist_ok=True)
    store = Documents(Journal(args.data / "documents.jsonl"))
    server = make_server(args.port, Api(store))

    # The main thread only accepts connections: it can be interrupted anywhere.
    signal.signal(signal.SIGTERM, lambda signum, frame: sys.exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
