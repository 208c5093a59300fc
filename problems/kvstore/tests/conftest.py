"""Starts the submission as a server on a free port of 127.0.0.1 and talks to it with urllib."""

import contextlib
import http.client
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

READY_WITHIN = 15.0  # seconds from the start of the process to the first 200 of /health
STOP_WITHIN = 5.0  # seconds from SIGTERM to the end of the process
ANSWER_WITHIN = 10.0  # seconds for one request
OUTPUT_SHOWN = 4000  # characters of the server's output in a failure

MARKERS = {
    "error": "error handling",
    "functionality": "beyond the core",
    "regression": "must not break again",
    "durability": "state that must survive a restart or a kill of the server",
    "concurrency": "several clients at the same time",
}


def pytest_addoption(parser):
    parser.addoption("--entrypoint", default="python main.py", help="command that runs the submission")
    parser.addoption("--checkpoint", default="checkpoint_1", help="checkpoint that is being judged")


def pytest_configure(config):
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for server in getattr(item, "servers", []):
            report.sections.append((f"server output ({server.url})", server.output()))


# ---------------------------------------------------------------- requests

# No proxy, whatever the environment says.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        __tracebackhide__ = True
        kind = self.headers.get_content_type()
        assert kind == "application/json", f"Content-Type is {kind}, body {self.body[:300]!r}"
        return json.loads(self.body.decode("utf-8"))

    def expect(self, status):
        """The JSON body (None if there is none), after a check of the status."""
        __tracebackhide__ = True
        assert self.status == status, f"status {self.status}, expected {status}; body {self.body[:300]!r}"
        if status == 204:
            assert self.body == b""
            return None
        return self.json()

    def error(self, status, code):
        """The error object, after a check of the status and of the error's form."""
        __tracebackhide__ = True
        body = self.expect(status)
        assert isinstance(body, dict), f"not an object: {body!r}"
        error = body.get("error")
        assert isinstance(error, dict), f"no error object: {body!r}"
        assert error.get("code") == code, f"code {error.get('code')!r}, expected {code!r}"
        assert isinstance(error.get("message"), str), f"no message: {error!r}"
        assert error["message"], "the message is empty"
        return error


class Client:
    """Requests to one server. `json` is encoded, `data` (bytes) is sent as it is."""

    NOTHING = object()

    def __init__(self, url):
        self.url = url

    def request(self, method, path, json=NOTHING, data=None, headers=None, timeout=ANSWER_WITHIN):
        __tracebackhide__ = True
        if json is not self.NOTHING:
            data = _encode(json)
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers or {})
        try:
            with OPENER.open(request, timeout=timeout) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())
        except (OSError, http.client.HTTPException) as error:
            problem = f"no answer to {method} {path}: {error!r}"
        # Outside the handler: the frames of urllib say nothing that the message does not.
        raise AssertionError(problem)

    def get(self, path, query=None, **kw):
        __tracebackhide__ = True
        if query is not None:
            path += "?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        return self.request("GET", path, **kw)

    def put(self, path, json=NOTHING, **kw):
        __tracebackhide__ = True
        return self.request("PUT", path, json, **kw)

    def post(self, path, json=NOTHING, **kw):
        __tracebackhide__ = True
        return self.request("POST", path, json, **kw)

    def patch(self, path, json=NOTHING, **kw):
        __tracebackhide__ = True
        return self.request("PATCH", path, json, **kw)

    def delete(self, path, **kw):
        __tracebackhide__ = True
        return self.request("DELETE", path, **kw)


def _encode(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


# ---------------------------------------------------------------- the process


def free_port():
    """A port that nobody listens on, outside the range from which systems take ports for clients."""
    for _ in range(200):
        port = random.SystemRandom().randrange(16000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port on 127.0.0.1")


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


class Server(Client):
    """The submission as a process. `start` waits until it is ready or fails the test."""

    def __init__(self, entrypoint, data, log):
        super().__init__("")
        self.entrypoint = entrypoint
        self.data = Path(data)
        self.log = Path(log)
        self.process = None

    def start(self):
        for attempt in range(3):
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            command = [*shlex.split(self.entrypoint), "--port", str(port), "--data", str(self.data)]
            with self.log.open("ab") as log:
                # A group of its own, so that `stop` also reaches what a wrapper command has started.
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                    start_new_session=True,
                )
            problem = self._wait_until_ready()
            if problem is None:
                return self
            # Somebody else took the port between our look at it and the start of the server.
            taken = self.process.poll() is not None and not is_free(port)
            self.stop()
            if not taken or attempt == 2:
                pytest.fail(f"{problem}\n--- output of {shlex.join(command)}\n{self.output()}", pytrace=False)
        return self

    def _wait_until_ready(self):
        deadline = time.monotonic() + READY_WITHIN
        last = "no request was made"
        while True:
            status = self.process.poll()
            if status is not None:
                return f"the server ended with status {status} before it was ready"
            left = deadline - time.monotonic()
            if left <= 0:
                return f"the server was not ready after {READY_WITHIN:.0f} s; GET /health: {last}"
            try:
                answer = self.request("GET", "/health", timeout=min(5.0, max(0.1, left)))
            except AssertionError as error:
                last = str(error)
            else:
                if answer.status == 200 and self.process.poll() is None:
                    return None
                last = f"status {answer.status}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.02)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def stop(self):
        """SIGTERM, then SIGKILL if that was not enough. True if SIGTERM was enough."""
        if self.process is None:
            return True
        in_time = True
        if self.process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                in_time = False
        self.kill()
        return in_time

    def kill(self):
        self._signal(signal.SIGKILL)
        self.process.wait(10)

    def restart(self, kill=False):
        if kill:
            self.kill()
        else:
            assert self.stop(), f"the server was still running {STOP_WITHIN:.0f} s after SIGTERM"
        return self.start()

    def output(self):
        try:
            text = self.log.read_text("utf-8", "replace")
        except OSError:
            return "(no output)"
        return text[-OUTPUT_SHOWN:] or "(no output)"


# ---------------------------------------------------------------- fixtures


@pytest.fixture(scope="session")
def entrypoint(request):
    return request.config.getoption("--entrypoint")


def _note(request, server):
    """Remember a server, so that its output is shown if the test fails."""
    request.node.servers = [*getattr(request.node, "servers", []), server]


@pytest.fixture
def make_server(request, entrypoint, tmp_path):
    """Starts servers, each on `tmp_path / name` (which the server has to create)."""
    servers = []

    def make(name="data"):
        server = Server(entrypoint, tmp_path / name, tmp_path / f"server-{len(servers)}.log")
        servers.append(server)
        _note(request, server)
        return server.start()

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def server(make_server):
    """A server of this test's own, with an empty store."""
    return make_server()


@pytest.fixture(scope="module")
def _shared(entrypoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    server = Server(entrypoint, folder / "data", folder / "server.log")
    yield server.start()
    server.stop()


@pytest.fixture
def shared(request, _shared):
    """A server that tests of one module share: for tests that use keys of their own only."""
    _note(request, _shared)
    if not _shared.running():
        _shared.start()
    return _shared


@pytest.fixture
def run_entry(entrypoint):
    """Runs the entry command with arguments that must make it end by itself."""

    def run(*args):
        return subprocess.run(
            [*shlex.split(entrypoint), *map(str, args)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_WITHIN,
            check=False,
        )

    return run
