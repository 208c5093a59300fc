"""A socket in front of the Docker daemon that can behave like a daemon in trouble."""

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1 << 16


def real_address() -> str:
    """Return the path of the real daemon's socket."""
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    assert host.startswith("unix://"), "the daemon must be reached by a Unix socket"
    return host.removeprefix("unix://")


class DaemonProxy:
    """Passes everything on, until it is told to hang, to refuse or to drop; threads do the work."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self.address = f"unix://{path}"
        # How many connections were made so far.
        self.connections = 0
        self._target = target
        self._flowing = threading.Event()
        self._flowing.set()
        self._lock = threading.Lock()
        self._clients: set[socket.socket] = set()
        self._daemons: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    def hang(self) -> None:
        """Accept connections and pass on nothing, in neither direction."""
        self._flowing.clear()

    def go_on(self) -> None:
        """Pass on what has piled up."""
        self._flowing.set()

    def refuse(self) -> None:
        """Refuse new connections, as the socket of a dead daemon does."""
        if self._listener is not None:
            # Wakes the thread that accepts; closing alone would not.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None

    def accept(self) -> None:
        """Accept connections."""
        self.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(256)
        self._listener = listener
        threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def drop(self, *, live_restore: bool) -> None:
        """Cut all connections at once; with live-restore the containers do not notice."""
        with self._lock:
            cut, self._clients = self._clients, set()
            if not live_restore:
                cut, self._daemons = cut | self._daemons, set()
        for one in cut:
            _shut(one)

    def close(self) -> None:
        """Cut everything and listen no more."""
        self.refuse()
        self.go_on()
        self.drop(live_restore=False)
        self.path.unlink(missing_ok=True)

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(self._target)
            with self._lock:
                self.connections += 1
                self._clients.add(client)
                self._daemons.add(daemon)
            threading.Thread(target=self._carry, args=(client, daemon), daemon=True).start()

    def _carry(self, client: socket.socket, daemon: socket.socket) -> None:
        with client, daemon:
            back = threading.Thread(target=self._pump, args=(daemon, client), daemon=True)
            back.start()
            self._pump(client, daemon)
            back.join()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        heard = True
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._flowing.wait()
                # A container goes on though nobody listens.
                heard = heard and _sent(target, data)
        # What was cut off by `drop` is told to nobody else.
        with self._lock:
            told = source in self._clients or source in self._daemons
            self._clients.discard(source)
            self._daemons.discard(source)
        if told:
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)


def _sent(target: socket.socket, data: bytes) -> bool:
    try:
        target.sendall(data)
    except OSError:
        return False
    return True


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def daemon_proxy() -> Iterator[DaemonProxy]:
    """Stand in front of the real daemon for a while."""
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="scbench-") as folder:
        proxy = DaemonProxy(Path(folder) / "docker.sock", real_address())
        proxy.accept()
        try:
            yield proxy
        finally:
            proxy.close()
