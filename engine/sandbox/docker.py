"""Docker: a fresh container for each job, one attached stream, nothing left behind.

Expected failures of the daemon become `Broken` values here. Prepared things are kept as named volumes,
which every container that needs them mounts read-only. `daemon.py` does the talking to the daemon.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import anyio
import anyio.abc
import msgspec

from engine.results import Broken, BrokenKind
from engine.sandbox import Archive, Job, OnProgress, Preparation, Prepared, Progress, Run, Shell
from engine.sandbox.containers import (
    PATHS,
    Config,
    evaluation_config,
    keeper_config,
    preparation_config,
    volume_filler_config,
    volume_name,
)
from engine.sandbox.daemon import DAEMON_ERRORS, AttachedStream, Daemon, DaemonRefused, connected, reason
from engine.sandbox.launch import (
    Identity,
    certificate_archives,
    evaluation_header,
    preparation_header,
    prepared_of,
    run_of,
)
from engine.sandbox.probe import Held, held_of, probe_config
from engine.sandbox.shell import PROGRAM, attend, docker_exec
from engine.sandbox.uvprogram import uv_programs
from engine.sandbox.wire import Transcript, converse

FIRST_UID = 100_000
GRADER_OFFSET = 2_000_000
NO_PROGRAM = re.compile(r"executable file not found|no such file or directory", re.IGNORECASE)


class Slot:
    """A place for one container at a time: a uid of its own, and perhaps a network that is ready."""

    def __init__(self, uid: int) -> None:
        self.who = Identity(isolate=True, uid=uid, gid=uid, grader_gid=uid + GRADER_OFFSET)
        self.keeper: Any = None
        # The keeper's standard input: it ends with it.
        self.lifeline: Any = None


class DockerSandbox(Daemon):
    """Runs jobs in containers of one Docker daemon; use it within `open`."""

    name = "docker"

    def __init__(self, client: Any, run_id: str, background: anyio.abc.TaskGroup) -> None:
        super().__init__(client, run_id)
        # Removes containers while their results are already on their way.
        self._background = background
        self._images: dict[str, dict[str, Any]] = {}
        self._image_lock = anyio.Lock()
        # Processes of different engines must not share a uid either: the kernel counts by uid.
        self._next_uid = FIRST_UID + (os.getpid() % 4096) * 256
        self._free: list[Slot] = []
        # Volumes that turned out not to be whole; they are made again when next asked for.
        self._torn: set[str] = set()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, run_id: str) -> AsyncIterator["DockerSandbox"]:
        """Connect to the daemon that the environment names, or raise SandboxUnavailable."""
        async with connected() as client, contextlib.AsyncExitStack() as stack:
            # Slots are closed after the last container was removed: until then they come back one by one.
            background = anyio.create_task_group()
            sandbox = cls(client, run_id, background)
            stack.push_async_callback(sandbox.remove_own)
            stack.push_async_callback(sandbox._close_slots)
            await stack.enter_async_context(background)
            yield sandbox

    async def image_digest(self, image: str, on_progress: OnProgress) -> str | Broken:
        """Make sure that the image is there, pulling it if need be, and tell its digest or id."""
        async with self._image_lock:
            if image not in self._images:
                try:
                    self._images[image] = await self.inspect_or_pull(image, on_progress)
                except DAEMON_ERRORS as error:
                    return _image_failure(image, error)
        return _digest(self._images[image])

    async def known_digest(self, image: str) -> str | None:
        """Tell the digest or id of an image that is already here."""
        try:
            return _digest(await self.inspect(image))
        except DAEMON_ERRORS:
            return None

    def _image_environment(self, image: str) -> dict[str, str]:
        lines = self._images[image]["Config"].get("Env") or []
        return dict(line.split("=", 1) for line in lines if "=" in line)

    async def prepare(self, preparation: Preparation) -> Prepared | Broken:
        """Return the volume with what was asked for, making it if it is not there yet."""
        volume = volume_name(preparation.kind, preparation.key)
        try:
            return await self._find_prepared(volume) or await self._make(preparation, volume)
        except DAEMON_ERRORS as error:
            return _preparation_failure(preparation, error)

    async def _find_prepared(self, volume: str) -> Prepared | None:
        await self.wait_for_filler(volume)
        labels = await self.volume_labels(volume)
        if labels is None:
            return None
        record = labels.get("scbench.record")
        if record and volume not in self._torn:
            return msgspec.json.decode(record, type=Prepared)
        await self.remove_volume(volume)
        self._torn.discard(volume)
        return None

    async def _make(self, preparation: Preparation, volume: str) -> Prepared | Broken:
        architecture = str(self._images[preparation.image].get("Architecture", ""))
        made: Prepared | Broken = Broken.of(
            BrokenKind.TOOLCHAIN_UNRESOLVABLE, "uv does not run in this image"
        )
        for uv in uv_programs(architecture):
            with tempfile.TemporaryFile(prefix="scbench-") as packed:
                transcript = await self._run_preparation(preparation, uv, packed)
                made = prepared_of(preparation, transcript)
                if isinstance(made, Prepared):
                    packed.seek(0)
                    if preparation.keep:
                        await self.fill_volume(self._filler(volume, preparation, made), volume, packed)
                    return made
            if transcript.outcome is None or not _uv_did_not_run(transcript.outcome.output):
                return made
        return made

    def _filler(self, volume: str, preparation: Preparation, made: Prepared) -> Config:
        record = {"scbench.kind": preparation.kind, "scbench.record": msgspec.json.encode(made).decode()}
        return volume_filler_config(preparation.image, volume, self.labels() | record)

    async def _run_preparation(self, preparation: Preparation, uv: Archive, packed: BinaryIO) -> Transcript:
        slot = self._take_slot()
        base = self._image_environment(preparation.image)
        header = preparation_header(preparation, PATHS, slot.who, base, send=True)
        transcript = Transcript(str(header["nonce"]), lambda _: None, packed)
        archives = (uv, *certificate_archives(), *preparation.archives)
        with anyio.move_on_after(preparation.timeout + 60):
            async with self._container(preparation_config(preparation, slot.who), slot) as transport:
                await converse(transport, header, archives, transcript)
        return transcript

    async def run(self, job: Job, on_progress: OnProgress) -> Run:
        """Run one job in a fresh container and remove it, whatever happens."""
        slot = self._take_slot()
        header = evaluation_header(job, PATHS, slot.who, self._image_environment(job.image))
        transcript = Transcript(str(header["nonce"]), on_progress)
        on_progress(Progress(phase="start"))
        network = self._network(job, slot)
        config = evaluation_config(job, slot.who, network, float(os.cpu_count() or 1))
        broken: Broken | None = None
        try:
            with anyio.move_on_after(job.limits.evaluation) as scope:
                async with self._container(config, slot, transcript) as transport:
                    await converse(transport, header, job.archives, transcript)
                    if not transcript.is_over:
                        broken = await self.killed_for_memory(transport.container_id)
            if scope.cancelled_caught:
                detail = f"the limit of {job.limits.evaluation:g} s for the whole evaluation"
                broken = Broken.of(BrokenKind.EVALUATION_TIMEOUT, detail)
        except DAEMON_ERRORS as error:
            if _is_about_keeper(error, network):
                # It went with a daemon that was restarted. Nothing has run yet, and the slot has none now.
                return await self.run(job, on_progress)
            broken = Broken.of(BrokenKind.DAEMON_ERROR, reason(error))
            if NO_PROGRAM.search(reason(error)):
                self._torn.add(volume_name("toolchain", job.toolchain.key))
        return self._conclude(job, transcript, broken)

    def _conclude(self, job: Job, transcript: Transcript, broken: Broken | None) -> Run:
        outcome = transcript.outcome
        if broken is None and outcome is not None and outcome.unprepared:
            prepared = job.toolchain if outcome.unprepared == PATHS.toolchain else job.environment
            self._torn.add(volume_name(prepared.kind, prepared.key))
            broken = Broken.of(BrokenKind.DAEMON_ERROR, f"{outcome.unprepared} was gone; it is made again")
        return run_of(transcript, broken)

    async def shell(self, job: Job, shell: Shell) -> int | Broken:
        """Lay a job out in a fresh container and hand the terminal over; return the exit code."""
        slot = self._take_slot()
        who = slot.who
        header = evaluation_header(job, PATHS, who, self._image_environment(job.image))
        debug = {**header, "task": "debug", "role": shell.role}
        config = evaluation_config(job, who, self._network(job, slot), float(os.cpu_count() or 1))
        user = f"{who.uid}:{who.grader_gid if shell.role == 'grader' else who.gid}"
        try:
            async with self._container(config, slot) as transport:
                program = f"{PATHS.scratch}/{PROGRAM}"
                command = docker_exec(transport.container_id, user, program, shell)
                return await attend(transport, debug, job.archives, command)
        except DAEMON_ERRORS as error:
            return Broken.of(BrokenKind.DAEMON_ERROR, reason(error))

    async def probe(self, image: str, python: str) -> Held | None:
        """Tell which limits hold in a real container; None where that could not be found out."""
        said = b""
        with contextlib.suppress(*DAEMON_ERRORS):
            async with self._container(probe_config(image, python), self._take_slot()) as transport:
                while data := await transport.receive():
                    said += data
        return held_of(said)

    # Slots and networks

    def _take_slot(self) -> Slot:
        if self._free:
            return self._free.pop()
        self._next_uid += 1
        return Slot(self._next_uid - 1)

    def _network(self, job: Job, slot: Slot) -> str:
        if job.mode == "uvx":
            return "bridge"
        if job.network == "none" and slot.keeper is not None:
            return f"container:{slot.keeper.id}"
        return job.network

    async def _give_back(self, container: Any, slot: Slot, transcript: Transcript | None) -> None:
        """Remove a container, then see to the slot's network, then let others have the slot."""
        with anyio.CancelScope(shield=True):
            await self.delete(container)
            # A network that remembers connections would let one evaluation disturb the next.
            clean = transcript is not None and transcript.end is not None and not transcript.end.sockets
            if not clean:
                await self._close_slot(slot)
            elif slot.keeper is None:
                await self._open_keeper(container, slot)
            self._free.append(slot)

    async def _open_keeper(self, container: Any, slot: Slot) -> None:
        with anyio.move_on_after(20), contextlib.suppress(*DAEMON_ERRORS):
            image = container.image
            keeper = await self.create(keeper_config(image, "python3"))
            slot.keeper = keeper
            slot.lifeline = keeper.attach(stdin=True, stdout=True, stderr=True)
            await slot.lifeline.__aenter__()
            await keeper.start()
            return
        await self._close_slot(slot)

    async def _close_slot(self, slot: Slot) -> None:
        keeper, lifeline = slot.keeper, slot.lifeline
        slot.keeper = slot.lifeline = None
        if lifeline is not None:
            with contextlib.suppress(*DAEMON_ERRORS):
                await lifeline.close()
        if keeper is not None:
            await self.delete(keeper)

    async def _close_slots(self) -> None:
        with anyio.move_on_after(30, shield=True):
            async with anyio.create_task_group() as group:
                for slot in self._free:
                    group.start_soon(self._close_slot, slot)

    # Containers

    @contextlib.asynccontextmanager
    async def _container(
        self, config: Config, slot: Slot, transcript: Transcript | None = None
    ) -> AsyncIterator[AttachedStream]:
        try:
            container = await self.create(config)
        except BaseException:
            self._free.append(slot)
            raise
        container.image = config["Image"]
        try:
            async with self.started(container) as stream:
                yield stream
        finally:
            self._background.start_soon(self._give_back, container, slot, transcript)


def _digest(found: dict[str, Any]) -> str:
    return str((found.get("RepoDigests") or [found["Id"]])[0])


def _is_about_keeper(error: Exception, network: str) -> bool:
    """Tell whether a container did not start because the one that keeps its network is gone."""
    kind, _, keeper = network.partition(":")
    return kind == "container" and isinstance(error, DaemonRefused) and keeper in str(error.message)


def _uv_did_not_run(output: str) -> bool:
    """Tell whether the uv program itself could not be started: made for another libc or processor."""
    return "No such file or directory: 'uv'" in output or "Exec format error" in output


def _preparation_failure(preparation: Preparation, error: Exception) -> Broken:
    if isinstance(error, DaemonRefused) and NO_PROGRAM.search(str(error.message)):
        detail = f"image {preparation.image} has no {preparation.python}; choose one with Python in it"
        return Broken.of(BrokenKind.NO_PYTHON, detail)
    return Broken.of(BrokenKind.DAEMON_ERROR, f"while preparing: {reason(error)}")


def _image_failure(image: str, error: Exception) -> Broken:
    if isinstance(error, DaemonRefused):
        detail = f"there is no image {image} here and it cannot be pulled: {error.message}"
        return Broken.of(BrokenKind.IMAGE_MISSING, detail)
    return Broken.of(BrokenKind.DAEMON_ERROR, f"while looking for image {image}: {reason(error)}")
