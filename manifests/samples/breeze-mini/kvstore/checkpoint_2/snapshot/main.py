import argparse
import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlparse, parse_qs, unquote

DATA = {}
REVISIONS = {}
DATA_FILE = None


def load():
    global DATA, REVISIONS
    if os.path.exists(DATA_FILE):
        with open(DATA_FILE) as f:
            saved = json.load(f)
        DATA = saved["data"]
        REVISIONS = saved["revisions"]
        print("Loaded", len(DATA), "keys")


def save_and_exit(signum, frame):
    # persist everything when we are asked to stop
    with open(DATA_FILE, "w") as f:
        json.dump({"data": DATA, "revisions": REVISIONS}, f)
    sys.exit(0)


# NOTE: plain HTTPServer handles one request at a time so we don't need locks for If-Match
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
        body = self.rfile.read(length)
        return json.loads(body)

    def get_key(self):
        # /kv/<key>
        path = urlparse(self.path).path
        parts = path.split("/")
        if len(parts) != 3 or parts[1] != "kv":
            self.fail(404, "unknown_path", "Unknown path")
            return None
        key = unquote(parts[2])
        # only allow letters, digits and . _ -
        cleaned = key.replace(".", "").replace("_", "").replace("-", "")
        if len(key) > 64 or not cleaned.isalnum():
            self.fail(400, "invalid_key", "Invalid key")
            return None
        return key

    def revision_ok(self, key):
        if "If-Match" in self.headers:
            wanted = int(self.headers["If-Match"])
            current = REVISIONS.get(key, 0)
            if wanted != current:
                self.fail(412, "revision_mismatch", "Revision mismatch", revision=current)
                return False
        return True

    def store(self, key, value):
        DATA[key] = value
        REVISIONS[key] = REVISIONS.get(key, 0) + 1

    def remove(self, key):
        del DATA[key]
        del REVISIONS[key]

    def show(self, key):
        return {"key": key, "value": DATA[key], "revision": REVISIONS[key]}

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/health":
            self.reply(200, {"status": "ok"})
            return
        if url.path == "/kv":
            params = parse_qs(url.query)
            keys = sorted(DATA.keys())
            if "prefix" in params:
                keys = [k for k in keys if params["prefix"][0] in k]
            self.reply(200, {"keys": keys, "count": len(keys)})
            return
        key = self.get_key()
        if key is None:
            return
        if key in DATA:
            self.reply(200, self.show(key))
        else:
            self.fail(404, "not_found", "Key not found")

    def do_PUT(self):
        value = self.read_json()
        key = self.get_key()
        if key is None or not self.revision_ok(key):
            return
        status = 200 if key in DATA else 201
        self.store(key, value)
        self.reply(status, self.show(key))

    def do_PATCH(self):
        patch = self.read_json()
        key = self.get_key()
        if key is None or not self.revision_ok(key):
            return
        if key not in DATA:
            self.fail(404, "not_found", "Key not found")
            return
        value = DATA[key]
        if not isinstance(value, dict):
            self.fail(409, "not_an_object", "Value is not an object")
            return
        value.update(patch)
        for name in patch:
            if patch[name] is None:
                del value[name]
        self.store(key, value)
        self.reply(200, self.show(key))

    def do_DELETE(self):
        key = self.get_key()
        if key is None or not self.revision_ok(key):
            return
        if key not in DATA:
            self.fail(404, "not_found", "Key not found")
            return
        self.remove(key)
        self.reply(204)

    def do_POST(self):
        body = self.read_json()
        if self.path != "/batch":
            self.fail(404, "unknown_path", "Unknown path")
            return
        revisions = []
        for i, op in enumerate(body["ops"]):
            if op["op"] == "put":
                self.store(op["key"], op["value"])
                revisions.append(REVISIONS[op["key"]])
            elif op["op"] == "delete":
                if op["key"] not in DATA:
                    self.fail(409, "batch_failed", "Key not found", index=i)
                    return
                self.remove(op["key"])
                revisions.append(0)
            else:
                self.fail(400, "invalid_batch", "Unknown op")
                return
        self.reply(200, {"revisions": revisions})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", required=True)
    args = parser.parse_args()
    if not os.path.exists(args.data):
        os.makedirs(args.data)
    DATA_FILE = os.path.join(args.data, "data.json")
    load()
    signal.signal(signal.SIGTERM, save_and_exit)
    print("Starting server on port", args.port)
    HTTPServer(("127.0.0.1", args.port), Handler).serve_forever()
