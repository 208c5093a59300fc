"""Everything that happened, appended line by line: what `--resume` goes by and results are taken from.

`Journal` writes: events that must not be lost are on the disk before `append` returns. `replay` reads
what is there, however it ended, and `results` projects it onto one line an evaluation. An event of a new
kind needs nothing here unless a resume depends on it: then `_Replay` takes it in.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

import anyio
import anyio.to_thread
import msgspec

from engine.errors import OutputUnwritable, UserError
from engine.events import (
    EvaluationFinished,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    PlanCompleted,
    PlanExtended,
    ResultLine,
    RunFinished,
    RunStarted,
    decode,
    encode,
)
from engine.results import SCHEMA_VERSION, BrokenKind, Verdict

Rerun = Literal["broken", "failed", "all"]

# Outcomes that say "not done yet" rather than anything about the evaluation.
RESUMABLE = frozenset({BrokenKind.INTERRUPTED, BrokenKind.BATCH_TIMEOUT})
# The others only say what is going on; losing the last of them loses no outcome.
_DURABLE = (RunStarted, PlanCompleted, EvaluationFinished, RunFinished)


class ResultRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where the last result of an evaluation stands in the journal, and what it says."""

    offset: int
    attempt: int
    verdict: Verdict
    kind: BrokenKind | None = None


class JournalState(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal tells about a run so far. Small: results stay in the file."""

    run_id: str | None = None
    plan_hash: str | None = None
    policy: str = ""
    sessions: int = 0
    planned: tuple[str, ...] = ()
    plan_complete: bool = False
    records: Mapping[str, ResultRecord] = {}
    # The highest attempt that was begun, by evaluation.
    attempts: Mapping[str, int] = {}
    # The last line was cut off by a crash; lines elsewhere that cannot be read.
    torn: bool = False
    damaged: int = 0
    # How far complete lines reach, in bytes.
    size: int = 0

    def is_done(self, evaluation_id: str, rerun: Rerun | None = None) -> bool:
        """Tell whether an evaluation has an outcome that a resumed run keeps."""
        record = self.records.get(evaluation_id)
        if record is None or record.kind in RESUMABLE:
            return False
        return rerun != "all" and rerun != record.verdict.value


class Journal:
    """An open journal; only one process at a time has it."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._size = size

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a journal to append to, making it if need be, and cut off a torn last line. Blocks."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputUnwritable(str(path), error) from error
        try:
            _lock(path, descriptor)
            size = _complete_size(descriptor)
            os.ftruncate(descriptor, size)
            _sync_folder(path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, size)

    async def append(self, events: Sequence[Event]) -> None:
        """Write events; when this returns, outcomes among them survive a loss of power."""
        if events:
            data = b"".join(encode(event) + b"\n" for event in events)
            durable = any(isinstance(event, _DURABLE) for event in events)
            await anyio.to_thread.run_sync(self._write, data, durable)

    async def aclose(self) -> None:
        """Close the journal with everything on the disk."""
        # Also when the run is being cancelled, or nobody could go on with it before this process ends.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    def _write(self, data: bytes, durable: bool) -> None:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if durable:
                os.fsync(self._descriptor)
        except OSError as error:
            # Half a line must not stay: a later session would append to it.
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise OutputUnwritable(str(self._path), error) from error
        self._size += len(data)

    def _close(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise OutputUnwritable(str(self._path), error) from error
        finally:
            os.close(self._descriptor)


def replay(path: Path) -> JournalState:
    """Read what a run left behind; also while it is still being written."""
    replayed = _Replay()
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: there is no such journal\nGive a run that exists, or start one without --resume."
        ) from error
    with file:
        for line in file:
            replayed.read(path, line)
    return replayed.state()


def results(path: Path, state: JournalState) -> Iterator[ResultLine]:
    """Read the last result of every evaluation, in the order in which they came."""
    with path.open("rb") as file:
        for record in sorted(state.records.values(), key=lambda record: record.offset):
            file.seek(record.offset)
            event = decode(file.readline())
            if isinstance(event, EvaluationFinished):
                yield event.result


def write_results(journal: Path, state: JournalState, target: Path) -> int:
    """Write one line an evaluation, complete or not at all; return how many there are."""
    temporary = target.with_name(f"{target.name}.partial")
    try:
        with temporary.open("wb") as file:
            file.writelines(encode(line) + b"\n" for line in results(journal, state))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise OutputUnwritable(str(target), error) from error
    return len(state.records)


class _Replay:
    """A journal being read."""

    def __init__(self) -> None:
        self._state = JournalState()
        self._planned: list[str] = []
        self._plan_is_old = False
        self._records: dict[str, ResultRecord] = {}
        self._attempts: dict[str, int] = {}
        self._offset = 0
        self._size = 0
        self._damaged = 0

    def read(self, path: Path, line: bytes) -> None:
        """Take in the next line."""
        event = _decoded(path, line) if line.endswith(b"\n") else None
        if event is not None:
            self._apply(event)
        else:
            self._damaged += 1
        self._offset += len(line)
        if line.endswith(b"\n"):
            self._size = self._offset

    def state(self) -> JournalState:
        """Tell what was read."""
        torn = self._size != self._offset
        return msgspec.structs.replace(
            self._state,
            planned=tuple(self._planned),
            records=self._records,
            attempts=self._attempts,
            torn=torn,
            damaged=self._damaged - torn,
            size=self._size,
        )

    def _apply(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._begin_session(event)
            case PlanExtended(ids=ids):
                self._extend_plan(ids)
            case PlanCompleted():
                self._state = msgspec.structs.replace(self._state, plan_complete=True)
            case EvaluationStarted(evaluation_id=str(name), attempt=attempt):
                self._count(name, attempt)
            case EvaluationRetried(evaluation_id=str(name), attempt=attempt):
                self._count(name, attempt)
            case EvaluationFinished(result=result):
                self._record(result)
            case _:
                pass

    def _begin_session(self, event: RunStarted) -> None:
        self._plan_is_old = True
        self._state = msgspec.structs.replace(
            self._state,
            run_id=event.run_id,
            plan_hash=event.plan_hash or self._state.plan_hash,
            policy=event.policy,
            sessions=self._state.sessions + 1,
        )

    def _extend_plan(self, ids: tuple[str, ...]) -> None:
        if self._plan_is_old:
            # A session that tells its plan tells it from the beginning.
            self._plan_is_old = False
            self._planned.clear()
            self._state = msgspec.structs.replace(self._state, plan_complete=False)
        self._planned.extend(ids)

    def _count(self, name: str, attempt: int) -> None:
        self._attempts[name] = max(attempt, self._attempts.get(name, 0))

    def _record(self, result: ResultLine) -> None:
        self._count(result.id, result.attempts)
        self._records[result.id] = ResultRecord(
            offset=self._offset,
            attempt=result.attempt,
            verdict=result.verdict,
            kind=result.broken.kind if result.broken else None,
        )


class _Version(msgspec.Struct):
    schema_version: int = 0


def _decoded(path: Path, line: bytes) -> Event | None:
    try:
        return decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        version = msgspec.json.decode(line, type=_Version).schema_version
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if version > SCHEMA_VERSION:
        raise UserError(
            f"{path}: written by a newer version (schema {version}, this one reads {SCHEMA_VERSION})\n"
            "Use the version that wrote it, or start a new run."
        )
    return None


def _complete_size(descriptor: int) -> int:
    """Find the end of the last complete line, reading backwards."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - 65536)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _lock(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(
            f"{path}: another process is at work on this run\nWait until it is done, or stop it first."
        ) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
