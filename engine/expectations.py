"""Which tests a checkpoint has: collected without a submission, twice, and kept.

Python seeds its hashes at random in each process, so two collections that agree do not depend on them.
"""

import contextlib
import hashlib
import re
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from engine.integrity import expected_ids
from engine.locks import write_whole
from engine.results import Broken, BrokenKind, Fault
from engine.sandbox import Job, Progress, Run, Sandbox


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the tests of a checkpoint."""

    # None where collecting is unstable or impossible without a submission.
    ids: tuple[str, ...] | None = None
    # Collecting needs the submission: its code runs inside the grader, which no seal survives.
    needs_submission: bool = False
    # What pytest complained of when it could not collect without one.
    errors: tuple[str, ...] = ()

    def explains(self, run: Run, module: str) -> bool:
        """Tell whether a run failed as it does without any submission, and not for lack of its module."""
        missing = any(f"'{module}'" in line for line in self.errors)
        return bool(self.errors) and not missing and self.errors == errors_of(run)


def errors_of(run: Run) -> tuple[str, ...]:
    """Return what pytest complained of, without the folder that it ran in."""
    printed = run.stdout.text() + run.stderr.text()
    return tuple(_FOLDER.sub("tests/", line) for line in _COMPLAINT.findall(printed))


_COMPLAINT = re.compile(r"^(?:E  |INTERNALERROR>) +(.*)$", re.MULTILINE)
_FOLDER = re.compile(r"/\S*/tests/")

UNKNOWN = Expectation()
_DECODER = msgspec.json.Decoder(Expectation)


class Expectations:
    """The expectations of every checkpoint that was asked for, kept in a folder."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._known: dict[str, Expectation] = {}
        self._in_flight: dict[str, anyio.Lock] = {}

    async def of(self, collecting: Job) -> Expectation | Broken:
        """Return what to expect of a job's tests; the job itself must have no submission."""
        if collecting.mode == "uvx":
            return UNKNOWN
        key = _key(collecting)
        async with self._in_flight.setdefault(key, anyio.Lock()):
            if key not in self._known:
                kept = await anyio.to_thread.run_sync(self._read, key)
                found = kept or await self._collect(collecting, key)
                if isinstance(found, Broken) or found is UNKNOWN:
                    return found  # not kept: the next time may tell
                self._known[key] = found
        return self._known[key]

    async def _collect(self, job: Job, key: str) -> Expectation | Broken:
        runs = [await self._sandbox.run(job, _ignore) for _ in range(2)]
        for run in runs:
            if run.broken is not None and run.broken.kind is BrokenKind.DAEMON_ERROR:
                return run.broken  # a verdict without expectations would be a weaker one
        if any(_is_infrastructure(run) for run in runs):
            return UNKNOWN
        failed = all(run.end is not None and run.end.exit_code not in (0, 5) for run in runs)
        errors = errors_of(runs[0]) if failed else ()
        found = Expectation(ids=expected_ids(runs), needs_submission=failed, errors=errors)
        await anyio.to_thread.run_sync(self._write, key, found)
        return found

    def _read(self, key: str) -> Expectation | None:
        try:
            return _DECODER.decode((self._folder / f"{key}.json").read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None

    def _write(self, key: str, found: Expectation) -> None:
        # A full disk costs only that it is found out again.
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / f"{key}.json", msgspec.json.encode(found))


def _is_infrastructure(run: Run) -> bool:
    broken: Broken | None = run.broken
    if run.end is not None and run.end.seal_error is not None:
        return True
    return broken is not None and (broken.fault is Fault.INFRASTRUCTURE or broken.kind in _OURS)


# A collection without a submission that takes too long was starved.
_OURS = frozenset({BrokenKind.EVALUATION_TIMEOUT, BrokenKind.SESSION_TIMEOUT})


def _key(job: Job) -> str:
    hasher = hashlib.sha256()
    parts = (job.image, job.toolchain.key, job.test_files, job.entrypoint, job.checkpoint, job.env)
    hasher.update(msgspec.json.encode(parts))
    for archive in job.archives:
        hasher.update(archive.data if isinstance(archive.data, bytes) else archive.data.read_bytes())
    return hasher.hexdigest()


def _ignore(_progress: Progress) -> None:
    pass
