"""Docker: a fresh container for each job, one attached stream, nothing left behind.

The only file that knows aiodocker. Expected failures of the daemon become `Broken` values here.
Prepared things are kept as named volumes, mounted read-only; see `engine/README.md` for why.
"""

import contextlib
import json
import os
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import aiodocker
import aiohttp
import anyio
import msgspec

from engine import owner
from engine.errors import SandboxUnavailable
from engine.results import Broken, BrokenKind
from engine.sandbox import Job, OnProgress, Preparation, Prepared, Progress, Run
from engine.sandbox.launch import (
    Identity,
    Paths,
    certificate_archives,
    evaluation_header,
    prepared_of,
    preparation_header,
    run_of,
)
from engine.sandbox.uvprogram import uv_programs
from engine.sandbox.wire import Transcript, TransportClosed, converse, launcher_command

PATHS = Paths(
    workspace="/workspace",
    environment="/workspace/.venv",
    temporary="/tmp",
    home="/tmp/home",
    scratch="/scbench",
    toolchain="/opt/scbench",
    uv="/opt/scbench/uv",
    certificates="/tmp/certificates",
)
DAEMON_ERRORS = (aiodocker.DockerError, aiohttp.ClientError, OSError, TimeoutError)
# The launcher makes the submission's files and processes, and ends the latter; it needs nothing else of root.
CAPABILITIES = ("CHOWN", "SETUID", "SETGID", "KILL")
FIRST_UID = 100_000
SCRATCH_SIZE = 1 << 30
TOOLCHAIN_SIZE = 4 << 30


class DockerSandbox:
    """Runs jobs in containers of one Docker daemon."""

    name = "docker"

    def __init__(self, client: aiodocker.Docker, connector: aiohttp.BaseConnector | None, run_id: str) -> None:
        self._client = client
        self._connector = connector
        self._run_id = run_id
        self._slots: set[int] = set()
        self._images: dict[str, dict[str, Any]] = {}
        self._image_lock = anyio.Lock()
        # Processes of different engines must not share a uid either: the kernel counts by uid.
        self._first_uid = FIRST_UID + (os.getpid() % 4096) * 256

    @classmethod
    async def connect(cls, run_id: str) -> "DockerSandbox":
        """Connect to the daemon that the environment names, or raise SandboxUnavailable."""
        host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        client = None
        connector = _connector(host)
        try:
            client = aiodocker.Docker(url=_url(host), connector=connector)
            with anyio.fail_after(10):
                await client.version()
        except (*DAEMON_ERRORS, ValueError) as error:
            await _close(client, connector)
            raise SandboxUnavailable(
                f"no Docker daemon answers at {host} ({_reason(error)}); start one, set DOCKER_HOST, "
                "or use --sandbox local, which does not isolate"
            ) from error
        return cls(client, connector, run_id)

    async def image_digest(self, image: str) -> str | Broken:
        """Make sure that the image is there, pulling it if need be, and tell its digest or id."""
        async with self._image_lock:
            if image not in self._images:
                try:
                    self._images[image] = await self._inspect_or_pull(image)
                except DAEMON_ERRORS as error:
                    return _image_failure(image, error)
        found = self._images[image]
        return str((found.get("RepoDigests") or [found["Id"]])[0])

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
        volume = f"scbench-{preparation.kind}-{preparation.key[:32]}"
        try:
            found = await self._find_prepared(volume)
            return found or await self._make(preparation, volume)
        except DAEMON_ERRORS as error:
            return Broken.of(BrokenKind.DAEMON_ERROR, f"while preparing: {_reason(error)}")

    async def _find_prepared(self, volume: str) -> Prepared | None:
        try:
            shown = await self._client._query_json(f"volumes/{volume}")
        except aiodocker.DockerError as error:
            if error.status == 404:
                return None
            raise
        record = (shown.get("Labels") or {}).get("scbench.record")
        return msgspec.json.decode(record, type=Prepared) if record else None

    async def _make(self, preparation: Preparation, volume: str) -> Prepared | Broken:
        image = self._images[preparation.image]
        made: Prepared | Broken = Broken.of(BrokenKind.DAEMON_ERROR, "uv does not run in this image")
        for uv in uv_programs(image.get("Architecture", "")):
            with tempfile.TemporaryFile(prefix="scbench-") as packed:
                transcript = await self._run_preparation(preparation, uv, packed)
                made = prepared_of(preparation, transcript)
                if isinstance(made, Prepared):
                    packed.seek(0)
                    await self._fill_volume(volume, preparation, made, packed)
                    return made
            if transcript.outcome is None or not uv_did_not_run(transcript.outcome.output):
                return made
        return made

    async def _run_preparation(self, preparation: Preparation, uv: Any, packed: BinaryIO) -> Transcript:
        async with self._slot() as who:
            header = preparation_header(
                preparation, PATHS, who, self._image_environment(preparation.image), send=True
            )
            config = preparation_config(preparation, who)
            transcript = Transcript(str(header["nonce"]), lambda _: None, packed)
            with anyio.move_on_after(preparation.timeout + 60):
                async with self._container(config) as transport:
                    archives = (uv, *certificate_archives(), *preparation.archives)
                    await converse(transport, header, archives, transcript)
            return transcript

    async def _fill_volume(
        self, volume: str, preparation: Preparation, made: Prepared, packed: BinaryIO
    ) -> None:
        labels = self._labels() | {
            "scbench.kind": preparation.kind,
            "scbench.record": msgspec.json.encode(made).decode(),
        }
        await self._client.volumes.create({"Name": volume, "Labels": labels})
        config = {
            "Image": preparation.image,
            "Entrypoint": ["/"],
            "Labels": self._labels(),
            "HostConfig": {"Mounts": [_volume(volume, "/prepared", read_only=False)], "NetworkMode": "none"},
        }
        container = await self._create(config)
        try:
            await container.put_archive("/prepared", packed)
        finally:
            await self._delete(container)

    async def run(self, job: Job, on_progress: OnProgress) -> Run:
        """Run one job in a fresh container and remove it, whatever happens."""
        async with self._slot() as who:
            header = evaluation_header(job, PATHS, who, self._image_environment(job.image))
            transcript = Transcript(str(header["nonce"]), on_progress)
            on_progress(Progress(phase="start"))
            broken: Broken | None = None
            try:
                with anyio.move_on_after(job.limits.evaluation) as scope:
                    async with self._container(evaluation_config(job, who, self._cpus())) as transport:
                        await converse(transport, header, job.archives, transcript)
                if scope.cancelled_caught:
                    detail = f"the limit of {job.limits.evaluation:g} s for the whole evaluation"
                    broken = Broken.of(BrokenKind.EVALUATION_TIMEOUT, detail)
            except DAEMON_ERRORS as error:
                broken = Broken.of(BrokenKind.DAEMON_ERROR, _reason(error))
        return await self._conclude(job, transcript, broken)

    async def _conclude(self, job: Job, transcript: Transcript, broken: Broken | None) -> Run:
        outcome = transcript.outcome
        if broken is None and outcome is not None and outcome.unprepared:
            await self._forget(job, outcome.unprepared)
            broken = Broken.of(BrokenKind.DAEMON_ERROR, f"{outcome.unprepared} was gone; it is made again")
        elif broken is None and transcript.end is None:
            said = outcome.error if outcome and outcome.error else "the container ended without its last word"
            broken = Broken.of(BrokenKind.DAEMON_ERROR, said)
        return msgspec.structs.replace(run_of(transcript), broken=broken)

    async def _forget(self, job: Job, path: str) -> None:
        prepared = job.toolchain if path == PATHS.toolchain else job.environment
        with contextlib.suppress(*DAEMON_ERRORS):
            name = f"scbench-{prepared.kind}-{prepared.key[:32]}"
            await self._client._query_json(f"volumes/{name}", method="DELETE")

    def _cpus(self) -> float:
        return float(os.cpu_count() or 1)

    @contextlib.asynccontextmanager
    async def _slot(self) -> AsyncIterator[Identity]:
        slot = next(number for number in range(len(self._slots) + 1) if number not in self._slots)
        self._slots.add(slot)
        uid = self._first_uid + slot
        try:
            yield Identity(isolate=True, uid=uid, gid=uid, grader_gid=uid + 2_000_000)
        finally:
            self._slots.discard(slot)

    @contextlib.asynccontextmanager
    async def _container(self, config: dict[str, Any]) -> AsyncIterator["AttachedStream"]:
        config["Labels"] = self._labels()
        container = await self._create(config)
        try:
            # Attached before it starts: attaching to a container that has ended waits for ever.
            async with container.attach(stdin=True, stdout=True, stderr=True) as stream:
                with anyio.CancelScope(shield=True):
                    await container.start()
                yield AttachedStream(stream, container)
        finally:
            await self._delete(container)

    async def _create(self, config: dict[str, Any]) -> Any:
        # A cancelled request may still make the container, so it runs to its end.
        name = f"scbench-{uuid.uuid4().hex[:16]}"
        with anyio.CancelScope(shield=True):
            return await self._client.containers.create(config, name=name)

    async def _delete(self, container: Any) -> None:
        with anyio.move_on_after(30, shield=True), contextlib.suppress(*DAEMON_ERRORS):
            await container.delete(force=True, v=False)

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

    async def sweep(self) -> int:
        """Remove the containers of engines that are dead; return how many there were."""
        found = await self._client.containers.list(all=True, filters=json.dumps({"label": ["scbench.owner"]}))
        dead = [c for c in found if owner.is_dead(c["Labels"]["scbench.owner"])]
        for container in dead:
            await self._delete(container)
        return len(dead)

    async def aclose(self) -> None:
        """Close the connections to the daemon."""
        await _close(self._client, self._connector)


class AttachedStream:
    """The stream to one container, as frames want it; its standard error is the launcher's own trouble."""

    def __init__(self, stream: Any, container: Any) -> None:
        self._stream = stream
        self._container = container
        self.trouble = b""

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
            self.trouble = (self.trouble + message.data)[-4096:]
        return b""


def evaluation_config(job: Job, who: Identity, cpus: float) -> dict[str, Any]:
    """Return the container of one evaluation."""
    resources = job.resources
    config = _base_config(job.image, PATHS.grader_python, job.runtime)
    config["HostConfig"] |= {
        "NetworkMode": "bridge" if job.mode == "uvx" else job.network,
        "Memory": resources.memory,
        "MemorySwap": resources.memory,
        "NanoCpus": int(min(resources.cpus, cpus) * 1e9),
        "PidsLimit": resources.pids,
        "ShmSize": resources.shared_memory,
        "Ulimits": [{"Name": "nofile", "Soft": resources.open_files, "Hard": resources.open_files}],
        "Tmpfs": {
            PATHS.workspace: _tmpfs(resources.disk, f"mode=755,uid={who.uid},gid={who.gid}"),
            PATHS.temporary: _tmpfs(resources.disk, "mode=1777"),
            PATHS.scratch: _tmpfs(SCRATCH_SIZE, "mode=711"),
        },
        "Mounts": [
            _volume(f"scbench-toolchain-{job.toolchain.key[:32]}", PATHS.toolchain),
            _volume(f"scbench-environment-{job.environment.key[:32]}", PATHS.environment),
        ],
    }
    return config


def preparation_config(preparation: Preparation, who: Identity) -> dict[str, Any]:
    """Return the container of one preparation: with a network, without tests or volumes."""
    resources = preparation.resources
    config = _base_config(preparation.image, preparation.python, preparation.runtime)
    size = TOOLCHAIN_SIZE if preparation.kind == "toolchain" else resources.disk
    memory = resources.memory + 2 * size  # files in a tmpfs count as memory
    config["HostConfig"] |= {
        "NetworkMode": "bridge",
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": max(resources.pids, 256),
        "ShmSize": resources.shared_memory,
        "Tmpfs": {
            PATHS.workspace: _tmpfs(size, f"mode=755,uid={who.uid},gid={who.gid}"),
            PATHS.temporary: _tmpfs(size, "mode=1777"),
            PATHS.toolchain: _tmpfs(TOOLCHAIN_SIZE, "mode=755"),
        },
    }
    return config


def _base_config(image: str, python: str, runtime: str | None) -> dict[str, Any]:
    return {
        "Image": image,
        "Entrypoint": launcher_command(python),
        "Cmd": [],
        "User": "0:0",
        "WorkingDir": "/",
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "AutoRemove": True,
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "CapAdd": list(CAPABILITIES),
            "SecurityOpt": ["no-new-privileges"],
            "LogConfig": {"Type": "none"},
            **({"Runtime": runtime} if runtime else {}),
        },
    }


def _tmpfs(size: int, options: str) -> str:
    return f"rw,exec,nosuid,nodev,size={size},nr_inodes={max(size // 4096, 4096)},{options}"


def _volume(name: str, target: str, *, read_only: bool = True) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": name,
        "Target": target,
        "ReadOnly": read_only,
        "VolumeOptions": {"NoCopy": True},
    }


def uv_did_not_run(output: str) -> bool:
    """Tell whether the uv program itself could not be started: made for another libc or processor."""
    return "No such file or directory: 'uv'" in output or "Exec format error" in output


def _url(host: str) -> str | None:
    return "unix://localhost" if host.startswith("unix://") else None


def _connector(host: str) -> aiohttp.BaseConnector | None:
    # No limit: a full pool of attached streams would starve every other call.
    if host.startswith("unix://"):
        return aiohttp.UnixConnector(host.removeprefix("unix://"), limit=0)
    return None


async def _close(client: aiodocker.Docker | None, connector: aiohttp.BaseConnector | None) -> None:
    if client is not None:
        await client.close()
    if connector is not None:
        await connector.close()


def _image_failure(image: str, error: Exception) -> Broken:
    if isinstance(error, aiodocker.DockerError):
        detail = f"there is no image {image} here and it cannot be pulled: {error.message}"
        return Broken.of(BrokenKind.IMAGE_MISSING, detail)
    return Broken.of(BrokenKind.DAEMON_ERROR, f"while looking for image {image}: {_reason(error)}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
