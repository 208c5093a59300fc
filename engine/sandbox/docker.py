"""Docker: a fresh container for each job, one attached stream, nothing left behind.

The only file that knows aiodocker. Expected failures of the daemon become `Broken` values here. Prepared
things are kept as named volumes, which every container that needs them mounts read-only.
"""

import contextlib
import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO

import aiodocker
import aiohttp
import anyio
import anyio.abc
import msgspec
from aiodocker.volumes import DockerVolume

from engine import owner
from engine.errors import SandboxUnavailable
from engine.results import Broken, BrokenKind
from engine.sandbox import Archive, Job, Kept, OnProgress, Preparation, Prepared, Progress, Run, Shell
from engine.sandbox.containers import (
    PATHS,
    Config,
    evaluation_config,
    keeper_config,
    preparation_config,
    volume_filler_config,
    volume_name,
)
from engine.sandbox.launch import (
    Identity,
    certificate_archives,
    evaluation_header,
    preparation_header,
    prepared_of,
    run_of,
)
from engine.sandbox.probe import DaemonFacts, Held, held_of, probe_config
from engine.sandbox.shell import PROGRAM, attend, docker_exec
from engine.sandbox.uvprogram import uv_programs
from engine.sandbox.wire import Transcript, TransportClosed, converse

DAEMON_ERRORS = (aiodocker.DockerError, aiohttp.ClientError, OSError, TimeoutError)
FIRST_UID = 100_000
GRADER_OFFSET = 2_000_000
# How long one request may take; what a daemon made after that is removed at the end.
PATIENCE = 120.0
NO_PROGRAM = re.compile(r"executable file not found|no such file or directory", re.IGNORECASE)


class Slot:
    """A place for one container at a time: a uid of its own, and perhaps a network that is ready."""

    def __init__(self, uid: int) -> None:
        self.who = Identity(isolate=True, uid=uid, gid=uid, grader_gid=uid + GRADER_OFFSET)
        self.keeper: Any = None
        # The keeper's standard input: it ends with it.
        self.lifeline: Any = None


class DockerSandbox:
    """Runs jobs in containers of one Docker daemon; use it within `open`."""

    name = "docker"

    def __init__(self, client: aiodocker.Docker, run_id: str, background: anyio.abc.TaskGroup) -> None:
        self._client = client
        self._run_id = run_id
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
        async with _connected() as client, contextlib.AsyncExitStack() as stack:
            # Slots are closed after the last container was removed: until then they come back one by one.
            background = anyio.create_task_group()
            sandbox = cls(client, run_id, background)
            stack.push_async_callback(sandbox._remove_own)
            stack.push_async_callback(sandbox._close_slots)
            await stack.enter_async_context(background)
            yield sandbox

    async def image_digest(self, image: str) -> str | Broken:
        """Make sure that the image is there, pulling it if need be, and tell its digest or id."""
        async with self._image_lock:
            if image not in self._images:
                try:
                    self._images[image] = await self._inspect_or_pull(image)
                except DAEMON_ERRORS as error:
                    return _image_failure(image, error)
        return _digest(self._images[image])

    async def known_digest(self, image: str) -> str | None:
        """Tell the digest or id of an image that is already here."""
        try:
            return _digest(await self._client.images.inspect(image))
        except DAEMON_ERRORS:
            return None

    async def _inspect_or_pull(self, image: str) -> dict[str, Any]:
        try:
            return await self._client.images.inspect(image)
        except aiodocker.DockerError as error:
            if error.status != 404:
                raise
        async for line in self._client.images.pull(image, stream=True):
            if "error" in line:
                raise aiodocker.DockerError(404, line["error"])
        return await self._client.images.inspect(image)

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
        await self._wait_for_filler(volume)
        try:
            shown = await DockerVolume(self._client, volume).show()
        except aiodocker.DockerError as error:
            if error.status == 404:
                return None
            raise
        record = (shown.get("Labels") or {}).get("scbench.record")
        if record and volume not in self._torn:
            return msgspec.json.decode(record, type=Prepared)
        await self._remove_volume(volume)
        self._torn.discard(volume)
        return None

    async def _wait_for_filler(self, volume: str) -> None:
        """Wait while another engine fills a volume; what a dead one left half full is removed."""
        filters = json.dumps({"label": [f"scbench.fills={volume}"]})
        with anyio.move_on_after(300):
            while fillers := await self._client.containers.list(all=True, filters=filters):
                if all(owner.is_dead(one["Labels"]["scbench.owner"]) for one in fillers):
                    await self._sweep()
                await anyio.sleep(0.1)

    async def _remove_volume(self, volume: str) -> None:
        """Remove a volume as soon as the containers that still use it are gone."""
        with anyio.move_on_after(20, shield=True):
            while True:
                try:
                    await DockerVolume(self._client, volume).delete()
                except aiodocker.DockerError as error:
                    if error.status != 409:
                        return
                else:
                    return
                await anyio.sleep(0.1)

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
                        await self._fill_volume(volume, preparation, made, packed)
                    return made
            if transcript.outcome is None or not _uv_did_not_run(transcript.outcome.output):
                return made
        return made

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

    async def _fill_volume(
        self, volume: str, preparation: Preparation, made: Prepared, packed: BinaryIO
    ) -> None:
        record = {"scbench.kind": preparation.kind, "scbench.record": msgspec.json.encode(made).decode()}
        filled = False
        # Makes the volume, too: there is none that is being filled without this container.
        config = volume_filler_config(preparation.image, volume, self._labels() | record)
        container = await self._create(config, {"scbench.fills": volume})
        try:
            await container.put_archive("/prepared", packed)
            filled = True
        finally:
            await self._delete(container)
            if not filled:
                await self._remove_volume(volume)

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
                        broken = await self._killed_for_memory(transport.container_id)
            if scope.cancelled_caught:
                detail = f"the limit of {job.limits.evaluation:g} s for the whole evaluation"
                broken = Broken.of(BrokenKind.EVALUATION_TIMEOUT, detail)
        except DAEMON_ERRORS as error:
            if _is_about_keeper(error, network):
                # It went with a daemon that was restarted. Nothing has run yet, and the slot has none now.
                return await self.run(job, on_progress)
            broken = Broken.of(BrokenKind.DAEMON_ERROR, _reason(error))
            if NO_PROGRAM.search(_reason(error)):
                self._torn.add(volume_name("toolchain", job.toolchain.key))
        return self._conclude(job, transcript, broken)

    async def _killed_for_memory(self, container_id: str) -> Broken | None:
        """Ask the daemon whether a launcher that fell silent was killed for lack of memory."""
        wanted = json.dumps({"container": [container_id], "event": ["oom"]})
        params = {"since": "0", "until": str(int(time.time()) + 1), "filters": wanted}
        with anyio.move_on_after(5), contextlib.suppress(*DAEMON_ERRORS):
            async with self._client._query("events", params=params) as response:
                if b'"oom"' in await response.read():
                    detail = "the container ran out of memory, and the launcher was killed for it"
                    return Broken.of(BrokenKind.OUT_OF_MEMORY, detail)
        return None

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
            return Broken.of(BrokenKind.DAEMON_ERROR, _reason(error))

    async def facts(self) -> DaemonFacts:
        """Tell what the daemon says of itself."""
        return msgspec.convert(await self._client.system.info(), DaemonFacts, strict=False)

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
            await self._delete(container)
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
            keeper = await self._create(keeper_config(image, "python3"))
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
            await self._delete(keeper)

    async def _close_slots(self) -> None:
        with anyio.move_on_after(30, shield=True):
            async with anyio.create_task_group() as group:
                for slot in self._free:
                    group.start_soon(self._close_slot, slot)

    async def _remove_own(self) -> None:
        """Remove what a slow daemon made after nobody waited for it any more."""
        wanted = json.dumps({"label": [f"scbench.owner={owner.current()}", f"scbench.run={self._run_id}"]})
        with anyio.move_on_after(30, shield=True), contextlib.suppress(*DAEMON_ERRORS):
            for container in await self._client.containers.list(all=True, filters=wanted):
                await self._delete(container)

    # Containers

    @contextlib.asynccontextmanager
    async def _container(
        self, config: Config, slot: Slot, transcript: Transcript | None = None
    ) -> AsyncIterator["AttachedStream"]:
        try:
            container = await self._create(config)
        except BaseException:
            self._free.append(slot)
            raise
        container.image = config["Image"]
        try:
            # Attached before it starts: attaching to a container that has ended waits for ever.
            async with container.attach(stdin=True, stdout=True, stderr=True) as stream:
                with anyio.fail_after(PATIENCE, shield=True):
                    await container.start()
                yield AttachedStream(stream, str(container.id))
        finally:
            self._background.start_soon(self._give_back, container, slot, transcript)

    async def _create(self, config: Config, labels: Mapping[str, str] | None = None) -> Any:
        labelled: Any = config | {"Labels": {**self._labels(), **(labels or {})}}
        # A cancelled request may still make the container, so it runs to its end.
        name = f"scbench-{uuid.uuid4().hex[:16]}"
        with anyio.fail_after(PATIENCE, shield=True):
            return await self._client.containers.create(labelled, name=name)

    async def _delete(self, container: Any) -> None:
        """Remove a container, waiting a while for a daemon that is being restarted."""
        with anyio.move_on_after(30, shield=True):
            while True:
                try:
                    await container.delete(force=True, v=False)
                except aiodocker.DockerError:
                    return  # it is gone, or it cannot go: either way the daemon has answered
                except DAEMON_ERRORS:
                    await anyio.sleep(0.5)
                else:
                    return

    def _labels(self) -> dict[str, str]:
        return {"scbench.run": self._run_id, "scbench.owner": owner.current()}

    async def latency(self) -> float | None:
        """Tell how many seconds the daemon takes to answer; None when it does not."""
        started = time.monotonic()
        try:
            await self._client.version()
        except DAEMON_ERRORS:
            return None
        return time.monotonic() - started

    async def sweep(self, *, dry_run: bool = False) -> int:
        """Remove the containers of engines that are dead; return how many there were."""
        try:
            return await self._sweep(dry_run=dry_run)
        except DAEMON_ERRORS as error:
            raise SandboxUnavailable(
                f"the Docker daemon does not tell what dead runs left ({_reason(error)})\nTry again later."
            ) from error

    async def _sweep(self, *, dry_run: bool = False) -> int:
        with anyio.fail_after(PATIENCE):
            labelled = json.dumps({"label": ["scbench.owner"]})
            found = await self._client.containers.list(all=True, filters=labelled)
        dead = [one for one in found if owner.is_dead(one["Labels"]["scbench.owner"])]
        for container in [] if dry_run else dead:
            await self._delete(container)
            if half_full := container["Labels"].get("scbench.fills"):
                await self._remove_volume(half_full)
        return len(dead)

    async def kept(self) -> tuple[Kept, ...]:
        """Tell which volumes with prepared things there are."""
        found = await self._client.volumes.list(filters={"label": ["scbench.kind"]})
        return tuple(
            Kept(
                name=one["Name"],
                kind=one["Labels"]["scbench.kind"],
                created=datetime.fromisoformat(one["CreatedAt"]).timestamp(),
            )
            for one in found["Volumes"] or ()
        )

    async def remove(self, kept: Kept) -> None:
        """Remove a volume; the daemon refuses while a container uses it."""
        with contextlib.suppress(*DAEMON_ERRORS):
            await DockerVolume(self._client, kept.name).delete()


class AttachedStream:
    """The stream to one container, as frames want it; its standard error is the launcher's own trouble."""

    def __init__(self, stream: Any, container_id: str) -> None:
        self._stream = stream
        self.container_id = container_id

    async def send(self, data: bytes) -> None:
        """Send bytes to the launcher."""
        try:
            await self._stream.write_in(data)
        except (*DAEMON_ERRORS, RuntimeError, AssertionError) as error:
            raise TransportClosed from error

    async def receive(self) -> bytes:
        """Return what the launcher said next, nothing at the end."""
        while (message := await self._stream.read_out()) is not None:
            if message.stream == 1:
                return bytes(message.data)
        return b""


@contextlib.asynccontextmanager
async def _connected() -> AsyncIterator[aiodocker.Docker]:
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    async with contextlib.AsyncExitStack() as stack:
        try:
            connector = _connector(host)
            if connector is not None:
                stack.push_async_callback(connector.close)
            url = "unix://localhost" if host.startswith("unix://") else None
            client = await stack.enter_async_context(aiodocker.Docker(url=url, connector=connector))
            with anyio.fail_after(10):
                await client.version()
        except (*DAEMON_ERRORS, ValueError) as error:
            raise SandboxUnavailable(
                f"no Docker daemon answers at {host} ({_reason(error)})\n"
                "Start one, set DOCKER_HOST, or use --sandbox local, which does not isolate."
            ) from error
        yield client


def _connector(host: str) -> aiohttp.BaseConnector | None:
    # No limit: a full pool of attached streams would starve every other call.
    if host.startswith("unix://"):
        return aiohttp.UnixConnector(host.removeprefix("unix://"), limit=0)
    return None


def _digest(found: dict[str, Any]) -> str:
    return str((found.get("RepoDigests") or [found["Id"]])[0])


def _is_about_keeper(error: Exception, network: str) -> bool:
    """Tell whether a container did not start because the one that keeps its network is gone."""
    kind, _, keeper = network.partition(":")
    return kind == "container" and isinstance(error, aiodocker.DockerError) and keeper in str(error.message)


def _uv_did_not_run(output: str) -> bool:
    """Tell whether the uv program itself could not be started: made for another libc or processor."""
    return "No such file or directory: 'uv'" in output or "Exec format error" in output


def _preparation_failure(preparation: Preparation, error: Exception) -> Broken:
    if isinstance(error, aiodocker.DockerError) and NO_PROGRAM.search(str(error.message)):
        detail = f"image {preparation.image} has no {preparation.python}; choose one with Python in it"
        return Broken.of(BrokenKind.NO_PYTHON, detail)
    return Broken.of(BrokenKind.DAEMON_ERROR, f"while preparing: {_reason(error)}")


def _image_failure(image: str, error: Exception) -> Broken:
    if isinstance(error, aiodocker.DockerError):
        detail = f"there is no image {image} here and it cannot be pulled: {error.message}"
        return Broken.of(BrokenKind.IMAGE_MISSING, detail)
    return Broken.of(BrokenKind.DAEMON_ERROR, f"while looking for image {image}: {_reason(error)}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
