"""HTTP without any knowledge of the store: requests in, JSON responses out."""

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote

MAX_BODY = 16384


class HttpError(Exception):
    """Becomes a response with an error object."""

    def __init__(self, status, code, message, headers=None, **members):
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.body = {"error": {"code": code, "message": message, **members}}


@dataclass
class Request:
    method: str
    segments: list  # of the path, decoded: "/kv/a" is ["kv", "a"]
    query: list  # pairs of name and value
    headers: object
    body: bytes
    too_large: bool

    def json(self):
        if self.too_large:
            raise HttpError(413, "too_large", f"the body has more than {MAX_BODY} bytes")
        try:
            return json.loads(self.body.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise HttpError(400, "invalid_json", f"the body is not JSON: {error}") from None


@dataclass
class Response:
    status: int
    body: object = None
    headers: dict = field(default_factory=dict)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


class Handler(BaseHTTPRequestHandler):
    api = None  # set by make_server
    server_version = "kvstore"

    def _serve(self):
        try:
            response = self.api.handle(self._read())
        except HttpError as error:
            response = Response(error.status, error.body, error.headers)
        except Exception:
            self._send(Response(500, {"error": {"code": "internal", "message": "internal error"}}))
            raise
        self._send(response)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve

    def _read(self):
        try:
            length = max(0, int(self.headers.get("Content-Length") or 0))
        except ValueError:
            length = 0
        too_large = length > MAX_BODY
        body = b""
        if too_large:
            while length > 0:
                chunk = self.rfile.read(min(length, 65536))
                if not chunk:
                    break
                length -= len(chunk)
        else:
            body = self.rfile.read(length)
        path, _, query = self.path.partition("?")
        return Request(
            method=self.command,
            segments=[unquote(segment) for segment in path.split("/")[1:]],
            query=parse_qsl(query, keep_blank_values=True),
            headers=self.headers,
            body=body,
            too_large=too_large,
        )

    def _send(self, response):
        data = b""
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.status != 204:
            data = json.dumps(response.body).encode("utf-8")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def make_server(port, api):
    handler = type("ApiHandler", (Handler,), {"api": api})
    return Server(("127.0.0.1", port), handler)
