"""HTTP layer of the key-value store."""
from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

MAX_BODY_SIZE = 16384
KEY_PATTERN = re.compile(r"^[A-Za-z0-9._-]{1,64}$")


class ApiError(Exception):
    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}


def validate_key(key: str) -> str:
    if not KEY_PATTERN.match(key):
        raise ApiError(400, "invalid_key", f"invalid key: {key!r}")
    return key


def parse_json(raw: bytes) -> Any:
    def reject(token: str) -> None:
        raise ValueError(f"invalid constant {token}")

    if not raw:
        raise ApiError(400, "invalid_json", "request body is empty")
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=reject)
    except (UnicodeDecodeError, ValueError) as exc:
        raise ApiError(400, "invalid_json", f"request body is not valid JSON: {exc}") from exc


class KVServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], data_dir: str):
        super().__init__(address, KVHandler)
        self.data_dir = data_dir
        self.lock = threading.RLock()
        self.store: dict[str, Any] = {}


class KVHandler(BaseHTTPRequestHandler):
    server: KVServer

    # (regex, {method: handler name})
    ROUTES = [
        (re.compile(r"/health"), {"GET": "handle_health"}),
        (re.compile(r"/kv"), {"GET": "handle_list"}),
        (re.compile(r"/kv/([^/]*)"), {"GET": "handle_get", "PUT": "handle_put", "DELETE": "handle_delete"}),
    ]

    def do_GET(self) -> None:
        self.dispatch("GET")

    def do_PUT(self) -> None:
        self.dispatch("PUT")

    def do_POST(self) -> None:
        self.dispatch("POST")

    def do_DELETE(self) -> None:
        self.dispatch("DELETE")

    def dispatch(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.raw_body = self.rfile.read(length) if length else b""
        url = urlsplit(self.path)
        self.query = parse_qs(url.query, keep_blank_values=True)
        try:
            for pattern, methods in self.ROUTES:
                match = pattern.fullmatch(url.path)
                if match is None:
                    continue
                if method not in methods:
                    raise ApiError(
                        405,
                        "method_not_allowed",
                        f"{method} is not supported for {url.path}",
                        {"Allow": ", ".join(sorted(methods))},
                    )
                args = [validate_key(unquote(group)) for group in match.groups()]
                getattr(self, methods[method])(*args)
                return
            raise ApiError(404, "unknown_path", f"unknown path {url.path}")
        except ApiError as exc:
            self.send_json(exc.status, {"error": {"code": exc.code, "message": exc.message}}, exc.headers)

    def json_body(self) -> Any:
        if len(self.raw_body) > MAX_BODY_SIZE:
            raise ApiError(413, "too_large", f"body exceeds {MAX_BODY_SIZE} bytes")
        return parse_json(self.raw_body)

    def send_json(self, status: int, payload: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(payload, ensure_ascii=False).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def send_no_content(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    # handlers

    def handle_health(self) -> None:
        self.send_json(200, {"status": "ok"})

    def handle_list(self) -> None:
        prefix = self.query.get("prefix", [""])[0]
        with self.server.lock:
            keys = sorted(k for k in self.server.store if k.startswith(prefix))
        self.send_json(200, {"keys": keys, "count": len(keys)})

    def handle_get(self, key: str) -> None:
        with self.server.lock:
            if key not in self.server.store:
                raise ApiError(404, "not_found", f"key {key!r} not found")
            value = self.server.store[key]
        self.send_json(200, {"key": key, "value": value})

    def handle_put(self, key: str) -> None:
        value = self.json_body()
        with self.server.lock:
            created = key not in self.server.store
            self.server.store[key] = value
        self.send_json(201 if created else 200, {"key": key, "value": value})

    def handle_delete(self, key: str) -> None:
        with self.server.lock:
            if key not in self.server.store:
                raise ApiError(404, "not_found", f"key {key!r} not found")
            del self.server.store[key]
        self.send_no_content()
