"""HTTP layer of the document store (API version 2)."""
from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from query import QueryError, parse_query, run_query
from storage import Conflict, Missing, Storage

MAX_BODY_SIZE = 16384
NAME_PATTERN = re.compile(r"^[A-Za-z0-9._-]{1,64}$")


class ApiError(Exception):
    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None, **extra: Any):
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
        self.extra = extra


def validate_name(name: str) -> str:
    if not NAME_PATTERN.match(name):
        raise ApiError(400, "invalid_name", f"invalid collection name: {name!r}")
    return name


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
        (re.compile(r"/v2/collections"), {"GET": "list_collections"}),
        (
            re.compile(r"/v2/collections/([^/]*)"),
            {"GET": "get_collection", "PUT": "put_collection", "DELETE": "delete_collection"},
        ),
        (re.compile(r"/v2/collections/([^/]*)/docs"), {"GET": "query_docs", "POST": "add_doc"}),
        (
            re.compile(r"/v2/collections/([^/]*)/docs/([^/]*)"),
            {"GET": "get_doc", "PUT": "put_doc", "DELETE": "delete_doc"},
        ),
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
            if url.path in ("/kv", "/batch") or url.path.startswith("/kv/"):
                raise ApiError(410, "gone", "the key-value API has been replaced by /v2")
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
                args = [unquote(group) for group in match.groups()]
                if args:
                    validate_name(args[0])
                getattr(self, methods[method])(*args)
                return
            raise ApiError(404, "unknown_path", f"unknown path {url.path}")
        except ApiError as exc:
            self.send_error_object(exc)
        except Conflict as exc:
            self.send_error_object(ApiError(412, "revision_mismatch", str(exc), revision=exc.current))
        except Missing as exc:
            self.send_error_object(ApiError(404, "not_found", str(exc)))
        except QueryError as exc:
            self.send_error_object(ApiError(400, "invalid_query", str(exc)))

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
        self.send_json(200, {"status": "ok", "api": 2})

    def list_collections(self) -> None:
        self.send_json(200, {"collections": self.server.storage.collections()})

    def get_collection(self, name: str) -> None:
        self.send_json(200, self.server.storage.collection(name))

    def put_collection(self, name: str) -> None:
        created = self.server.storage.create_collection(name)
        self.send_json(201 if created else 200, self.server.storage.collection(name))

    def delete_collection(self, name: str) -> None:
        self.server.storage.delete_collection(name)
        self.send_no_content()

    def query_docs(self, name: str) -> None:
        query = parse_query(self.query)
        total, docs = run_query(query, self.server.storage.documents(name))
        self.send_json(200, {"total": total, "docs": docs})

    def add_doc(self, name: str) -> None:
        doc = self.server.storage.add(name, self.document_body())
        self.send_json(201, doc, {"Location": f"/v2/collections/{name}/docs/{doc['id']}"})

    def get_doc(self, name: str, doc_id: str) -> None:
        self.send_json(200, self.server.storage.get(name, doc_id))

    def put_doc(self, name: str, doc_id: str) -> None:
        expected = self.if_match()
        self.send_json(200, self.server.storage.replace(name, doc_id, self.document_body(), expected))

    def delete_doc(self, name: str, doc_id: str) -> None:
        self.server.storage.delete(name, doc_id, self.if_match())
        self.send_no_content()

    def document_body(self) -> dict[str, Any]:
        doc = self.json_body()
        if not isinstance(doc, dict):
            raise ApiError(400, "invalid_document", "a document must be a JSON object")
        return doc
