"""The engine's end of the stream to a launcher: frames in and out, and what they add up to."""

import functools
import hashlib
import json
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import BinaryIO, Protocol

import anyio
import msgspec

from engine.inside import MODULES, frames
from engine.results import Output
from engine.sandbox import Archive, CollectedTest, End, PhaseReport, Progress

# What a launcher may say in all before it is no longer listened to.
TRANSCRIPT_LIMIT = 1 << 30
REPORT_LIMIT = 256 << 20

BOOT = """\
import json,os,struct,sys,types,zlib
def read(size):
    data=b''
    while len(data)<size:
        part=os.read(0,size-len(data))
        if not part: os._exit(90)
        data+=part
    return data
package=sys.modules['inside']=types.ModuleType('inside')
package.__path__=[]
for name,source in json.loads(zlib.decompress(read(struct.unpack('>I',read(4))[0]))):
    module=types.ModuleType('inside.'+name)
    module.__package__='inside'
    sys.modules[module.__name__]=module
    setattr(package,name,module)
    exec(compile(source,'<inside.'+name+'>','exec'),module.__dict__)
sys.modules['inside.launcher'].main()
"""


@functools.cache
def bundle() -> bytes:
    """Return the launcher's modules as the bytes that `BOOT` reads first."""
    folder = resources.files("engine.inside")
    sources = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in MODULES]
    data = zlib.compress(json.dumps(sources).encode())
    return struct.pack(">I", len(data)) + data


@functools.cache
def grader_version() -> str:
    """Name the grader by what it does: a change of its code makes stored results stale."""
    return hashlib.sha256(bundle()).hexdigest()[:16]


def launcher_command(python: str) -> list[str]:
    """Return the command that loads the launcher from its standard input."""
    return [python, "-I", "-c", BOOT]


class Transport(Protocol):
    """A stream of bytes to and from one launcher."""

    async def send(self, data: bytes) -> None:
        """Send bytes; raise `TransportClosed` when the other side is gone."""

    async def receive(self) -> bytes:
        """Return some bytes, none at the end."""


class TransportClosed(Exception):
    """The launcher's side of the stream is closed."""


class LauncherEnd(End, frozen=True, kw_only=True):
    """The end frame as it travels."""

    nonce: str
    omitted: Mapping[str, int] = {}
    tails: Mapping[str, str] = {}


class ReportHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What precedes the bytes of a report file."""

    name: str
    too_large: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a launcher says of a preparation, or of its own failure."""

    versions: Mapping[str, str] = {}
    plugins: tuple[tuple[str, str], ...] = ()
    python: str = ""
    failed: str | None = None
    outcome: str = ""
    output: str = ""
    unprepared: str | None = None
    error: str | None = None


_collected = msgspec.json.Decoder(list[tuple[str, list[str]]])
_phase = msgspec.json.Decoder(PhaseReport)
_end = msgspec.json.Decoder(LauncherEnd)
_report = msgspec.json.Decoder(ReportHeader)
_pulse = msgspec.json.Decoder(dict[str, float])
_outcome = msgspec.json.Decoder(Outcome)


class Transcript:
    """Everything that a launcher has said so far."""

    def __init__(self, nonce: str, on_progress: Callable[[Progress], None], packed: BinaryIO | None = None):
        self.nonce = nonce
        self.on_progress = on_progress
        self.packed = packed
        self.phase = "start"
        self.collected: tuple[CollectedTest, ...] | None = None
        self.phases: list[PhaseReport] = []
        self.reports: dict[str, bytes] = {}
        self.too_large: dict[str, int] = {}
        self.outputs: dict[bytes, list[bytes]] = {frames.STDOUT: [], frames.STDERR: []}
        self.outcome: Outcome | None = None
        self.end: LauncherEnd | None = None
        self.cpu: Mapping[str, float] = {}
        self._report: str | None = None
        self._pieces: list[bytes] = []
        self._tests_done = 0
        self.garbled: str | None = None
        self._hearers: Mapping[bytes, Callable[[bytes], object]] = {
            frames.PHASE: self._begin_phase,
            frames.COLLECTED: self._take_collected,
            frames.TEST: self._take_phase,
            frames.STDOUT: self.outputs[frames.STDOUT].append,
            frames.STDERR: self.outputs[frames.STDERR].append,
            frames.REPORT: self._begin_report,
            frames.BYTES: self._take_bytes,
            frames.BYTES_END: self._end_bytes,
            frames.PULSE: self._take_pulse,
            frames.RESULT: self._take_outcome,
            frames.END: self._take_end,
        }

    def take(self, kind: bytes, payload: bytes) -> None:
        """Take one frame; one that no grader or launcher of ours would send ends the conversation."""
        hear = self._hearers.get(kind)
        try:
            if hear is not None:
                hear(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.garbled = f"a frame {kind!r} that cannot be read: {error}"

    def _take_collected(self, payload: bytes) -> None:
        tests = _collected.decode(payload)
        self.collected = tuple(CollectedTest(nodeid=nodeid, markers=tuple(marks)) for nodeid, marks in tests)
        self._tell()

    def _begin_phase(self, payload: bytes) -> None:
        self.phase = msgspec.json.decode(payload, type=str)
        self._tell()

    def _take_pulse(self, payload: bytes) -> None:
        self.cpu = _pulse.decode(payload)

    def _take_outcome(self, payload: bytes) -> None:
        self.outcome = _outcome.decode(payload)

    def _take_end(self, payload: bytes) -> None:
        end = _end.decode(payload)
        self.end = end if end.nonce == self.nonce else None

    @property
    def is_over(self) -> bool:
        """Whether the launcher has said its last word, good or bad."""
        failed = self.outcome is not None and (self.outcome.error or self.outcome.unprepared)
        return self.end is not None or self.garbled is not None or bool(failed)

    def _take_phase(self, payload: bytes) -> None:
        phase = _phase.decode(payload)
        self.phases.append(phase)
        if phase.when == "teardown":
            self._tests_done += 1
            self._tell()

    def _tell(self) -> None:
        total = None if self.collected is None else len(self.collected)
        self.on_progress(Progress(phase=self.phase, tests_done=self._tests_done, tests_total=total))

    def _begin_report(self, payload: bytes) -> None:
        header = _report.decode(payload)
        if header.too_large:
            self.too_large[header.name] = header.too_large
        else:
            self._report = header.name

    def _take_bytes(self, payload: bytes) -> None:
        if self._report is not None:
            self._pieces.append(payload)
        elif self.packed is not None:
            self.packed.write(payload)

    def _end_bytes(self, _payload: bytes) -> None:
        if self._report is not None:
            self.reports[self._report] = b"".join(self._pieces)
            self._report, self._pieces = None, []

    def output(self, kind: bytes) -> Output:
        """Return one output stream of the grader, as much of it as was kept."""
        head = b"".join(self.outputs[kind])
        if self.end is None:
            return Output(head=head)
        letter = kind.decode()
        tail = self.end.tails.get(letter, "").encode("latin-1")
        return Output(head=head, tail=tail, omitted=self.end.omitted.get(letter, 0))


async def converse(
    transport: Transport, header: Mapping[str, object], archives: Iterable[Archive], transcript: Transcript
) -> None:
    """Send a job and its archives, and listen until the launcher has nothing more to say."""
    async with anyio.create_task_group() as group:
        group.start_soon(_send_job, transport, header, archives)
        async for kind, payload in _receive_frames(transport):
            transcript.take(kind, payload)
            if transcript.is_over:
                break
        group.cancel_scope.cancel()


async def _send_job(transport: Transport, header: Mapping[str, object], archives: Iterable[Archive]) -> None:
    try:
        await transport.send(bundle() + pack_frame(frames.JOB, msgspec.json.encode(header)))
        for archive in archives:
            await transport.send(pack_frame(frames.ARCHIVE, archive.name.encode()))
            async for piece in _pieces(archive.data):
                await transport.send(pack_frame(frames.DATA, piece))
            await transport.send(pack_frame(frames.ARCHIVE_END, b""))
        await transport.send(pack_frame(frames.JOB, b""))
    except TransportClosed:
        pass  # the launcher said why before it went; the receiving side knows


async def _pieces(data: bytes | Path) -> AsyncIterator[bytes]:
    if isinstance(data, bytes):
        for start in range(0, len(data), frames.CHUNK):
            yield data[start : start + frames.CHUNK]
        return
    async with await anyio.open_file(data, "rb") as source:
        while piece := await source.read(frames.CHUNK):
            yield piece


def pack_frame(kind: bytes, payload: bytes) -> bytes:
    """Return one frame as it travels."""
    return frames.HEADER.pack(kind, len(payload)) + payload


async def _receive_frames(transport: Transport) -> AsyncIterator[tuple[bytes, bytes]]:
    buffer = bytearray()
    received = 0
    while data := await transport.receive():
        received += len(data)
        if received > TRANSCRIPT_LIMIT:
            return
        buffer += data
        start = 0
        while len(buffer) - start >= frames.HEADER.size:
            kind, size = frames.HEADER.unpack_from(buffer, start)
            end = start + frames.HEADER.size + size
            if len(buffer) < end:
                break
            yield kind, bytes(buffer[start + frames.HEADER.size : end])
            start = end
        del buffer[:start]
