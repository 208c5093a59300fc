"""Events and results as JSON lines, through structlog, to files and standard output.

A sink has `write` and `aclose`; another one is a class with these two and a line in `batch.py`. Processors
of structlog's own kind can be put in front, to add or to take away fields. A reader that goes away
(`| head`) is no error: `write` says False, and the batch drains. A disk that is full is one.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import anyio
import anyio.to_thread
import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from engine.errors import OutputUnwritable
from engine.events import EvaluationFinished, Event, Level, ResultLine, without_surrogates

Content = Literal["events", "results"]

_ENCODER = msgspec.json.Encoder()
_LEVELS: Mapping[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# POSIX: a pipe that is ready takes this much without blocking.
_PIPE_CHUNK = 4096
_READER_GONE = (BrokenPipeError, ConnectionResetError)


class Sink(Protocol):
    """Where events go."""

    async def write(self, events: Sequence[Event]) -> bool:
        """Write events in order; False once nobody reads any more."""

    async def aclose(self) -> None:
        """Write what is left and let go."""


class LineOutput(Protocol):
    """Where lines go."""

    async def write(self, data: bytes) -> bool:
        """Write whole lines; False once nobody reads any more."""

    async def aclose(self) -> None:
        """Let go of it."""


class JsonLinesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is written, and in which form."""

    content: Content = "events"
    level: Level = "info"
    # Run before a line is rendered, as in structlog; raising structlog.DropEvent leaves a line out.
    processors: tuple[Processor, ...] = ()


class JsonLines:
    """A sink that writes one JSON document a line."""

    def __init__(self, output: LineOutput, settings: JsonLinesSettings) -> None:
        self._output = output
        self._settings = settings
        self._lines = _Lines()
        logger = structlog.wrap_logger(
            self._lines,
            processors=[*settings.processors, _render_event if settings.content == "events" else _render],
            wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[settings.level]),
            context_class=dict,
        )
        self._log_at: Mapping[Level, Callable[..., object]] = {
            "debug": logger.debug,
            "info": logger.info,
            "warning": logger.warning,
            "error": logger.error,
        }

    async def write(self, events: Sequence[Event]) -> bool:
        """Write events in order; False once nobody reads any more."""
        for event in events:
            self._log(event)
        data = self._lines.take()
        return await self._output.write(data) if data else True

    async def aclose(self) -> None:
        """Let go of the output."""
        await self._output.aclose()

    def _log(self, event: Event) -> None:
        name = str(event.__struct_config__.tag)
        if self._settings.content == "events":
            self._log_at[event.level](name, **_fields(event))
        elif isinstance(event, EvaluationFinished):
            # A result is written whatever the level.
            self._log_at["error"](name, **_fields(event.result))


class Stream:
    """Standard output or another open descriptor. Waiting for a slow reader can be cancelled."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self._open = True
        mode = os.fstat(descriptor).st_mode
        # Others are always ready and cannot be waited for.
        self._waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)

    async def write(self, data: bytes) -> bool:
        """Write whole lines; False once nobody reads any more."""
        try:
            if self._open:
                await (self._write_when_ready(data) if self._waits else self._write_in_thread(data))
        except _READER_GONE:
            self._open = False
        except OSError as error:
            raise OutputUnwritable(self._name, error) from error
        return self._open

    async def aclose(self) -> None:
        """Stop writing; the descriptor stays open, as it belongs to others, too."""
        self._open = False

    async def _write_when_ready(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            await anyio.wait_writable(self._descriptor)
            # BlockingIOError: whoever shares the descriptor has filled it first.
            with suppress(BlockingIOError):
                rest = rest[os.write(self._descriptor, rest[:_PIPE_CHUNK]) :]

    async def _write_in_thread(self, data: bytes) -> None:
        await anyio.to_thread.run_sync(write_all, self._descriptor, data)


class RotatingFile:
    """A file that makes room when it is full: PATH is the newest, PATH.1 the one before, and so on."""

    def __init__(self, path: Path, *, rotate_at: int | None = None, keep: int = 5) -> None:
        self._path = path
        self._rotate_at = rotate_at
        self._keep = keep
        self._descriptor: int | None = None
        self._size = 0

    async def write(self, data: bytes) -> bool:
        """Write whole lines; they are never divided between two files."""
        try:
            await anyio.to_thread.run_sync(self._write, data)
        except OSError as error:
            raise OutputUnwritable(str(self._path), error) from error
        return True

    async def aclose(self) -> None:
        """Close the file."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    def _write(self, data: bytes) -> None:
        for part in self._parts(data):
            if self._descriptor is None:
                self._open()
            if self._size and self._is_full(len(part)):
                self._rotate()
                self._open()
            if self._descriptor is not None:
                write_all(self._descriptor, part)
            self._size += len(part)

    def _parts(self, data: bytes) -> list[bytes]:
        return [data] if self._rotate_at is None else data.splitlines(keepends=True)

    def _is_full(self, added: int) -> bool:
        return self._rotate_at is not None and self._size + added > self._rotate_at

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o644)
        self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        self._close()
        for number in range(self._keep, 0, -1):
            older = self._path if number == 1 else Path(f"{self._path}.{number - 1}")
            with suppress(FileNotFoundError):
                older.replace(f"{self._path}.{number}")

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


async def open_output(target: str, *, rotate_at: int | None = None) -> LineOutput:
    """Open what `--jsonl` names: `-` for standard output, a pipe or device, or a file."""
    if target == "-":
        return Stream(sys.stdout.fileno(), "standard output")
    path = Path(target)
    mode = await anyio.to_thread.run_sync(_mode, path)
    if mode is not None and not stat.S_ISREG(mode):
        return Stream(await _open_stream(path, is_pipe=stat.S_ISFIFO(mode)), target)
    return RotatingFile(path, rotate_at=rotate_at)


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything, however many calls it takes. Blocks."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Lines:
    """What structlog writes to: rendered lines, until they are taken."""

    def __init__(self) -> None:
        self._data = bytearray()

    def msg(self, line: bytes) -> None:
        self._data += line
        self._data += b"\n"

    debug = info = warning = error = msg

    def take(self) -> bytes:
        data = bytes(self._data)
        self._data.clear()
        return data


def _fields(value: Event | ResultLine) -> dict[str, object]:
    fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return {name: field for name, field in fields if field is not msgspec.UNSET}


def _render_event(logger: WrappedLogger, method: str, fields: EventDict) -> bytes:
    return _render(logger, method, {"event": fields["event"], **fields}, keep_event=True)


def _render(_logger: WrappedLogger, _method: str, fields: EventDict, *, keep_event: bool = False) -> bytes:
    if not keep_event:
        fields.pop("event")
    try:
        return _ENCODER.encode(fields)
    except UnicodeEncodeError:
        return _ENCODER.encode(without_surrogates(msgspec.to_builtins(fields)))


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


async def _open_stream(path: Path, *, is_pipe: bool) -> int:
    """Open a pipe as soon as it has a reader: in a thread, the wait could not be ended."""
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            if not is_pipe or error.errno != errno.ENXIO:
                raise OutputUnwritable(str(path), error) from error
        await anyio.sleep(0.05)
