import argparse
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse, parse_qs, unquote

DATA = {}


class Handler(BaseHTTPRequestHandler):

    def reply(self, status, obj=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if obj is not None:
            self.wfile.write(json.dumps(obj).encode())

    def fail(self, status, code, message):
        self.reply(status, {"error": {"code": code, "message": message}})

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

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/health":
            self.reply(200, {"status": "ok"})
            return
        if url.path == "/kv":
            params = parse_qs(url.query)
            prefix = params.get("prefix", [""])[0]
            keys = sorted([k for k in DATA if k.startswith(prefix)])
            self.reply(200, {"keys": keys, "count": len(keys)})
            return
        key = self.get_key()
        if key is None:
            return
        if key in DATA:
            self.reply(200, {"key": key, "value": DATA[key]})
        else:
            self.fail(404, "not_found", "Key not found")

    def do_PUT(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        key = self.get_key()
        if key is None:
            return
        value = json.loads(body)
        status = 200 if key in DATA else 201
        DATA[key] = value
        self.reply(status, {"key": key, "value": value})

    def do_DELETE(self):
        key = self.get_key()
        if key is None:
            return
        if key not in DATA:
            self.fail(404, "not_found", "Key not found")
            return
        del DATA[key]
        self.reply(204)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", required=True)
    args = parser.parse_args()
    if not os.path.exists(args.data):
        os.makedirs(args.data)
    print("Starting server on port", args.port)
    ThreadingHTTPServer(("127.0.0.1", args.port), Handler).serve_forever()
