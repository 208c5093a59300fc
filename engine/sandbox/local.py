"""Local: child processes in a temporary folder, for development. It does not isolate.

The same launcher does the same work as in a container, without the seal: code under test runs with the
rights of whoever runs the engine.
"""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import anyio.abc
import anyio.to_thread
import msgspec

from engine import owner
from engine.paths import cache_folder
from engine.results import Broken, BrokenKind
from engine.sandbox import Archive, Job, Kept, OnProgress, Preparation, Prepared, Progress, Run, Shell
from engine.sandbox.launch import (
    Identity,
    Paths,
    certificate_archives,
    evaluation_header,
    preparation_header,
    prepared_of,
    run_of,
)
from engine.sandbox.shell import PROGRAM, attend
from engine.sandbox.uvprogram import own_uv
from engine.sandbox.wire import Transcript, TransportClosed, converse, launcher_command

NOBODY_ELSE = Identity(isolate=False)
# What child processes see of this machine's environment.
INHERITED = ("PATH", "LANG", "LC_ALL", "TZ")


class LocalSandbox:
    """Runs jobs as child processes of the engine."""

    name = "local"

    def __init__(self) -> None:
        self._base = cache_folder() / "local"
        self._runs = self._base / "runs"

    async def image_digest(self, image: str, on_progress: OnProgress) -> str | Broken:  # noqa: ARG002
        """Name this machine's Python instead of an image's."""
        return await self.known_digest(image)

    async def known_digest(self, image: str) -> str:  # noqa: ARG002
        """Name this machine's Python; the image does not matter."""
        return f"local-{platform.platform()}-{platform.python_version()}"

    async def prepare(self, preparation: Preparation) -> Prepared | Broken:
        """Return the folder with what was asked for, making it if it is not there yet."""
        folder = self._base / f"{preparation.kind}-{preparation.key[:32]}"
        record = folder / "record.json"
        if record.is_file():
            return msgspec.json.decode(record.read_bytes(), type=Prepared)
        await anyio.to_thread.run_sync(_start_afresh, folder)
        transcript = await self._run_preparation(preparation, folder)
        made = prepared_of(preparation, transcript)
        if isinstance(made, Prepared):
            record.write_bytes(msgspec.json.encode(made))
            await anyio.to_thread.run_sync(_remove, folder / "tmp" if preparation.keep else folder)
        return made

    async def _run_preparation(self, preparation: Preparation, folder: Path) -> Transcript:
        paths = _paths(folder, toolchain=folder, environment=folder / "workspace" / ".venv")
        header = preparation_header(preparation, paths, NOBODY_ELSE, _base_environment(), send=False)
        transcript = Transcript(str(header["nonce"]), lambda _: None)
        archives = (own_uv(), *certificate_archives(), *preparation.archives)
        with anyio.move_on_after(preparation.timeout + 60):
            await _launch(sys.executable, header, archives, transcript)
        return transcript

    async def run(self, job: Job, on_progress: OnProgress) -> Run:
        """Run one job in a fresh folder and remove it, whatever happens."""
        on_progress(Progress(phase="start"))
        broken: Broken | None = None
        async with self._folder(job) as paths:
            header = evaluation_header(job, paths, NOBODY_ELSE, _base_environment())
            transcript = Transcript(str(header["nonce"]), on_progress)
            with anyio.move_on_after(job.limits.evaluation) as scope:
                await _launch(paths.grader_python, header, job.archives, transcript)
        if scope.cancelled_caught:
            detail = f"the limit of {job.limits.evaluation:g} s for the whole evaluation"
            broken = Broken.of(BrokenKind.EVALUATION_TIMEOUT, detail)
        return run_of(transcript, broken)

    @contextlib.asynccontextmanager
    async def _folder(self, job: Job) -> AsyncIterator[Paths]:
        self._runs.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self._runs))
        toolchain = self._base / f"toolchain-{job.toolchain.key[:32]}"
        venv = self._base / f"environment-{job.environment.key[:32]}" / "workspace" / ".venv"
        try:
            (folder / "owner").write_text(owner.current())
            for name in ("workspace", "tmp", "scbench"):
                (folder / name).mkdir()
            (folder / "workspace" / ".venv").symlink_to(venv)
            yield _paths(folder, toolchain=toolchain, environment=venv)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_remove, folder)

    async def shell(self, job: Job, shell: Shell) -> int | Broken:
        """Lay a job out in a fresh folder and hand the terminal over; both roles are the user here."""
        async with self._folder(job) as paths:
            header = evaluation_header(job, paths, NOBODY_ELSE, _base_environment())
            debug = {**header, "task": "debug", "role": shell.role}
            command = ["/bin/sh", f"{paths.scratch}/{PROGRAM}", *shell.command]
            async with _launched(paths.grader_python) as transport:
                return await attend(transport, debug, job.archives, command)

    async def latency(self) -> float | None:
        """Nobody needs to be asked."""
        return 0.0

    async def sweep(self, *, dry_run: bool = False) -> int:
        """Remove the folders of engines that are dead; return how many there were."""
        dead = [
            path.parent
            for path in self._runs.glob("*/owner")
            if owner.is_dead(path.read_text(errors="replace"))
        ]
        for folder in [] if dry_run else dead:
            await anyio.to_thread.run_sync(_remove, folder)
        return len(dead)

    async def kept(self) -> tuple[Kept, ...]:
        """Tell which prepared folders there are."""
        records = self._base.glob("*-*/record.json")
        return tuple(
            Kept(name=one.parent.name, kind=one.parent.name.partition("-")[0], created=one.stat().st_mtime)
            for one in records
        )

    async def remove(self, kept: Kept) -> None:
        """Remove a prepared folder, unless anything runs here that might use it."""
        owners = self._runs.glob("*/owner")
        if all(owner.is_dead(path.read_text(errors="replace")) for path in owners):
            await anyio.to_thread.run_sync(_remove, self._base / kept.name)


async def _launch(
    python: str, header: Mapping[str, object], archives: Sequence[Archive], transcript: Transcript
) -> None:
    async with _launched(python) as transport:
        await converse(transport, header, archives, transcript)


@contextlib.asynccontextmanager
async def _launched(python: str) -> AsyncIterator["PipedStream"]:
    process = await anyio.open_process(
        launcher_command(python), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
    )
    try:
        if process.stdin is not None and process.stdout is not None:
            yield PipedStream(process.stdin, process.stdout)
    finally:
        with anyio.move_on_after(15, shield=True) as scope:
            # The end of its standard input makes the launcher kill everything below it, and go.
            if process.stdin is not None:
                await process.stdin.aclose()
            await process.wait()
        if scope.cancelled_caught:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


class PipedStream:
    """The pipes to a launcher that is a child process."""

    def __init__(self, stdin: anyio.abc.ByteSendStream, stdout: anyio.abc.ByteReceiveStream) -> None:
        self._stdin = stdin
        self._stdout = stdout

    async def send(self, data: bytes) -> None:
        """Send bytes to the launcher."""
        try:
            await self._stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise TransportClosed from error

    async def receive(self) -> bytes:
        """Return what the launcher said next, nothing at the end."""
        try:
            return await self._stdout.receive(1 << 18)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""


def _paths(folder: Path, *, toolchain: Path, environment: Path) -> Paths:
    return Paths(
        workspace=str(folder / "workspace"),
        environment=str(environment),
        temporary=str(folder / "tmp"),
        home=str(folder / "home"),
        scratch=str(folder / "scbench"),
        toolchain=str(toolchain),
        uv=str(toolchain / "uv"),
        certificates=str(folder / "tmp" / "certificates"),
    )


def _base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def _start_afresh(folder: Path) -> None:
    _remove(folder)
    folder.mkdir(parents=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
