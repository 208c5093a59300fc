import argparse
import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlparse, parse_qs, unquote

COLLECTIONS = {}
DATA_FILE = None


def load():
    global COLLECTIONS
    if os.path.exists(DATA_FILE):
        with open(DATA_FILE) as f:
            COLLECTIONS = json.load(f)


def save():
    with open(DATA_FILE, "w") as f:
        json.dump(COLLECTIONS, f)


def save_and_exit(signum, frame):
    save()
    sys.exit(0)


class Handler(BaseHTTPRequestHandler):

    def reply(self, status, obj=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if obj is not None:
            self.wfile.write(json.dumps(obj).encode())

    def fail(self, status, code, message, **extra):
        self.reply(status, {"error": {"code": code, "message": message, **extra}})

    def read_json(self):
        length = int(self.headers["Content-Length"])
        return json.loads(self.rfile.read(length))

    def parts(self):
        path = urlparse(self.path).path
        if path.startswith("/kv") or path == "/batch":
            self.fail(410, "gone", "Use /v2")
            return None
        parts = [unquote(p) for p in path.strip("/").split("/")]
        if parts[:2] != ["v2", "collections"]:
            self.fail(404, "unknown_path", "Unknown path")
            return None
        return parts[2:]

    def show_collection(self, name):
        return {"name": name, "count": len(COLLECTIONS[name]["docs"])}

    def show_doc(self, name, doc_id):
        entry = COLLECTIONS[name]["docs"][doc_id]
        return {"id": doc_id, "revision": entry["revision"], "doc": entry["doc"]}

    def do_GET(self):
        if self.path == "/health":
            self.reply(200, {"status": "ok", "api": 2})
            return
        parts = self.parts()
        if parts is None:
            return
        if len(parts) == 0:
            self.reply(200, {"collections": [self.show_collection(n) for n in sorted(COLLECTIONS)]})
        elif parts[0] not in COLLECTIONS:
            self.fail(404, "not_found", "No such collection")
        elif len(parts) == 1:
            self.reply(200, self.show_collection(parts[0]))
        elif len(parts) == 2:
            self.query(parts[0])
        else:
            self.reply(200, self.show_doc(parts[0], parts[2]))

    def query(self, name):
        params = parse_qs(urlparse(self.path).query)
        docs = [self.show_doc(name, i) for i in COLLECTIONS[name]["docs"]]
        for where in params.get("where", []):
            field, value = where.split(":")
            docs = [d for d in docs if d["doc"].get(field) == json.loads(value)]
        if "sort" in params:
            field = params["sort"][0]
            docs.sort(key=lambda d: d["doc"][field.lstrip("-")], reverse=field.startswith("-"))
        total = len(docs)
        offset = int(params.get("offset", ["0"])[0])
        limit = int(params.get("limit", ["100"])[0])
        self.reply(200, {"total": total, "docs": docs[offset:offset + limit]})

    def do_PUT(self):
        parts = self.parts()
        if parts is None:
            return
        if len(parts) == 1:
            status = 200 if parts[0] in COLLECTIONS else 201
            COLLECTIONS.setdefault(parts[0], {"next": 1, "docs": {}})
            self.reply(status, self.show_collection(parts[0]))
            return
        entry = COLLECTIONS[parts[0]]["docs"][parts[2]]
        entry["doc"] = self.read_json()
        entry["revision"] += 1
        self.reply(200, self.show_doc(parts[0], parts[2]))

    def do_POST(self):
        parts = self.parts()
        if parts is None:
            return
        doc = self.read_json()
        col = COLLECTIONS[parts[0]]
        doc_id = "d" + str(col["next"])
        col["next"] += 1
        col["docs"][doc_id] = {"revision": 1, "doc": doc}
        self.reply(201, self.show_doc(parts[0], doc_id))

    def do_DELETE(self):
        parts = self.parts()
        if parts is None:
            return
        if len(parts) == 1:
            del COLLECTIONS[parts[0]]
        else:
            del COLLECTIONS[parts[0]]["docs"][parts[2]]
        self.reply(204)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", required=True)
    args = parser.parse_args()
    if not os.path.exists(args.data):
        os.makedirs(args.data)
    DATA_FILE = os.path.join(args.data, "collections.json")
    load()
    signal.signal(signal.SIGTERM, save_and_exit)
    print("Starting server on port", args.port)
    HTTPServer(("127.0.0.1", args.port), Handler).serve_forever()
```

I have rewritten `main.py` for the new `/v2` API. The old `/kv` endpoints now return 410.
