"""A sandbox that judges by what a submission says of itself: for everything around containers."""

import contextlib
import io
import json
import tarfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio.lowlevel
import pytest

from engine import batch
from engine.results import Broken, Status
from engine.sandbox import (
    CollectedTest,
    End,
    Job,
    Kept,
    OnProgress,
    PhaseReport,
    Preparation,
    Prepared,
    Progress,
    Run,
    Sandbox,
    Shell,
)

TESTS = ("tests/test_checkpoint_1.py::test_first", "tests/test_checkpoint_1.py::test_greets")


def run_of(status: Status, only: tuple[str, ...] = ()) -> Run:
    """Return a run in which the last test has this status and all witnesses say so."""
    statuses: dict[str, Status] = {TESTS[0]: "passed", TESTS[1]: status}
    statuses = {name: statuses[name] for name in only or TESTS}
    phases = [
        PhaseReport(
            nodeid=nodeid,
            when=when,
            outcome="failed" if when == "call" and outcome == "failed" else "passed",
            duration=0.1,
        )
        for nodeid, outcome in statuses.items()
        for when in ("setup", "call", "teardown")
    ]
    tests = [
        {"nodeid": nodeid, "outcome": outcome}
        | {said.when: {"outcome": said.outcome, "duration": 0.1} for said in phases if said.nodeid == nodeid}
        for nodeid, outcome in statuses.items()
    ]
    code = int(status == "failed")
    report = {"exitcode": code, "tests": tests, "summary": {"total": len(tests), "collected": len(tests)}}
    listed = [{"name": nodeid, "status": outcome, "duration": 1} for nodeid, outcome in statuses.items()]
    ctrf = {"results": {"tests": listed, "summary": {"tests": len(listed)}}}
    return Run(
        end=End(exit_code=code, sealed=True),
        collected=tuple(CollectedTest(nodeid=nodeid) for nodeid in statuses),
        phases=tuple(phases),
        reports={
            "pytest-report.json": json.dumps(report).encode(),
            "ctrf-report.json": json.dumps(ctrf).encode(),
        },
    )


class FakeSandbox:
    """Counts what it is asked for; `on_run` and `on_prepare` are awaited in the middle of it."""

    name = "docker"

    def __init__(self) -> None:
        # Evaluations that ran, by the name that a submission has in its main.py.
        self.ran: list[str] = []
        self.now: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()
        self.answer: Callable[[str, Job], Run] = _honest
        self.on_run: Callable[[str], Awaitable[None]] = _nothing
        self.on_prepare: Callable[[Preparation], Awaitable[None]] = _nothing

    async def image_digest(self, image: str, on_progress: OnProgress) -> str | Broken:
        """Name an image that is always there."""
        return f"{image}@digest"

    async def known_digest(self, image: str) -> str | None:
        """Name it without waiting."""
        return f"{image}@digest"

    async def prepare(self, preparation: Preparation) -> Prepared | Broken:
        """Pretend to install."""
        with self._counted("prepare"):
            await self.on_prepare(preparation)
        locked = dict(line.split("==") for line in preparation.constraints.split())
        return Prepared(kind=preparation.kind, key=preparation.key, versions=locked, python="3.12")

    async def run(self, job: Job, on_progress: OnProgress) -> Run:
        """Read the submission's main.py and answer by it."""
        if job.collect_only:
            return run_of("passed")
        said = _main_of(job)
        on_progress(Progress(phase="run", tests_done=1, tests_total=2))
        self.ran.append(said)
        with contextlib.ExitStack() as stack:
            for word in ("run", *said.split()):
                stack.enter_context(self._counted(word))
            await self.on_run(said)
        return self.answer(said, job)

    @contextlib.contextmanager
    def _counted(self, word: str) -> Iterator[None]:
        self.now[word] += 1
        self.peak[word] = max(self.peak[word], self.now[word])
        try:
            yield
        finally:
            self.now[word] -= 1

    async def shell(self, job: Job, shell: Shell) -> int | Broken:
        """Nobody asks for one."""
        raise NotImplementedError

    async def latency(self) -> float | None:
        """Answer at once."""
        return 0.0

    async def sweep(self, *, dry_run: bool = False) -> int:
        """Leave nothing behind that could be swept."""
        return 0

    async def kept(self) -> tuple[Kept, ...]:
        """Keep nothing."""
        return ()

    async def remove(self, kept: Kept) -> None:
        """Keep nothing."""


def _honest(said: str, job: Job) -> Run:
    return run_of("failed" if "wrong" in said else "passed", job.only)


async def _nothing(_about: str | Preparation) -> None:
    await anyio.lowlevel.checkpoint()


def _main_of(job: Job) -> str:
    for archive in job.archives:
        if archive.name == "submission":
            data = archive.data if isinstance(archive.data, bytes) else archive.data.read_bytes()
            with tarfile.open(fileobj=io.BytesIO(data)) as files:
                main = files.extractfile("main.py")
                return main.read().decode().strip() if main else ""
    return ""


def install(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every batch of this process run in this sandbox."""

    @contextlib.asynccontextmanager
    async def open_sandbox(_name: str, _run_id: str) -> AsyncIterator[Sandbox]:
        yield sandbox

    monkeypatch.setattr(batch, "open_sandbox", open_sandbox)
