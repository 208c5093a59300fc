"""HTTP layer of the key-value store."""
from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from storage import BatchError, Conflict, Missing, Storage

MAX_BODY_SIZE = 16384
KEY_PATTERN = re.compile(r"^[A-Za-z0-9._-]{1,64}$")


class ApiError(Exception):
    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None, **extra: Any):
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
        self.extra = extra


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
        self.storage = Storage(data_dir)

    def server_close(self) -> None:
        super().server_close()
        self.storage.close()


class KVHandler(BaseHTTPRequestHandler):
    server: KVServer

    # (regex, {method: handler name})
    ROUTES = [
        (re.compile(r"/health"), {"GET": "handle_health"}),
        (re.compile(r"/kv"), {"GET": "handle_list"}),
        (
            re.compile(r"/kv/([^/]*)"),
            {"GET": "handle_get", "PUT": "handle_put", "PATCH": "handle_patch", "DELETE": "handle_delete"},
        ),
        (re.compile(r"/batch"), {"POST": "handle_batch"}),
    ]

    def do_GET(self) -> None:
        self.dispatch("GET")

    def do_PUT(self) -> None:
        self.dispatch("PUT")

    def do_POST(self) -> None:
        self.dispatch("POST")

    def do_PATCH(self) -> None:
        self.dispatch("PATCH")

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
            self.send_error_object(exc)
        except Conflict as exc:
            self.send_error_object(ApiError(412, "revision_mismatch", str(exc), revision=exc.current))
        except Missing as exc:
            self.send_error_object(ApiError(404, "not_found", f"key {exc} not found"))
        except BatchError as exc:
            self.send_error_object(ApiError(409, "batch_failed", str(exc), index=exc.index))

    def send_error_object(self, exc: ApiError) -> None:
        self.send_json(exc.status, {"error": {"code": exc.code, "message": exc.message, **exc.extra}}, exc.headers)

    def if_match(self) -> int | None:
        text = self.headers.get("If-Match")
        if text is None:
            return None
        if not re.fullmatch("[0-9]+", text):
            raise ApiError(400, "invalid_revision", f"invalid If-Match header: {text!r}")
        return int(text)

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
        keys = self.server.storage.keys(self.query.get("prefix", [""])[0])
        self.send_json(200, {"keys": keys, "count": len(keys)})

    def handle_get(self, key: str) -> None:
        value, revision = self.server.storage.get(key)
        self.send_json(200, {"key": key, "value": value, "revision": revision})

    def handle_put(self, key: str) -> None:
        expected = self.if_match()
        value = self.json_body()
        revision = self.server.storage.put(key, value, expected)
        self.send_json(201 if revision == 1 else 200, {"key": key, "value": value, "revision": revision})

    def handle_patch(self, key: str) -> None:
        patch = self.json_body()
        if not isinstance(patch, dict):
            raise ApiError(400, "invalid_patch", "patch must be a JSON object")

        def apply(value: Any) -> Any:
            if not isinstance(value, dict):
                raise ApiError(409, "not_an_object", "stored value is not an object")
            return merge(value, patch)

        value, revision = self.server.storage.update(key, apply)
        self.send_json(200, {"key": key, "value": value, "revision": revision})

    def handle_delete(self, key: str) -> None:
        self.server.storage.delete(key, self.if_match())
        self.send_no_content()

    def handle_batch(self) -> None:
        body = self.json_body()
        if not isinstance(body, dict) or not isinstance(body.get("ops"), list):
            raise ApiError(400, "invalid_batch", "body must be an object with a list 'ops'")
        ops = body["ops"]
        if not 1 <= len(ops) <= 100:
            raise ApiError(400, "invalid_batch", "'ops' must have 1 to 100 entries")
        for op in ops:
            validate_op(op)
        self.send_json(200, {"revisions": self.server.storage.batch(ops)})


def validate_op(op: Any) -> None:
    if not isinstance(op, dict) or op.get("op") not in ("put", "delete"):
        raise ApiError(400, "invalid_batch", "each entry must be a put or a delete")
    key = op.get("key")
    if not isinstance(key, str) or not KEY_PATTERN.match(key):
        raise ApiError(400, "invalid_batch", f"invalid key {key!r}")
    if op["op"] == "put" and "value" not in op:
        raise ApiError(400, "invalid_batch", "put without a value")


def merge(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            base = result.get(name)
            result[name] = merge(base if isinstance(base, dict) else {}, value)
        else:
            result[name] = value
    return result
