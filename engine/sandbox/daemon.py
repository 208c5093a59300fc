"""The Docker daemon, as far as the sandbox needs it. The only file that knows aiodocker.

Foreign errors leave it as one of `DAEMON_ERRORS`; whoever calls turns them into `Broken` values.
"""

import contextlib
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO

import aiodocker
import aiohttp
import anyio
import msgspec
from aiodocker.volumes import DockerVolume

from engine import owner
from engine.errors import SandboxUnavailable
from engine.results import Broken, BrokenKind
from engine.sandbox import Kept, OnProgress, Progress
from engine.sandbox.containers import Config
from engine.sandbox.probe import DaemonFacts
from engine.sandbox.wire import TransportClosed

DaemonRefused = aiodocker.DockerError
DAEMON_ERRORS = (aiodocker.DockerError, aiohttp.ClientError, OSError, TimeoutError)
# How long one request may take; what a daemon made after that is removed at the end.
PATIENCE = 120.0


class Daemon:
    """One connection to a daemon, on behalf of one run."""

    def __init__(self, client: aiodocker.Docker, run_id: str) -> None:
        self._client = client
        self._run_id = run_id

    def labels(self) -> dict[str, str]:
        """Tell whose containers and volumes these are."""
        return {"scbench.run": self._run_id, "scbench.owner": owner.current()}

    async def latency(self) -> float | None:
        """Tell how many seconds the daemon takes to answer; None when it does not."""
        started = time.monotonic()
        try:
            await self._client.version()
        except DAEMON_ERRORS:
            return None
        return time.monotonic() - started

    async def facts(self) -> DaemonFacts:
        """Tell what the daemon says of itself."""
        return msgspec.convert(await self._client.system.info(), DaemonFacts, strict=False)

    # Images

    async def inspect(self, image: str) -> dict[str, Any]:
        """Tell everything about an image that is here."""
        return await self._client.images.inspect(image)

    async def inspect_or_pull(self, image: str, on_progress: OnProgress) -> dict[str, Any]:
        """Tell everything about an image, pulling it, layer by layer, if it is not here."""
        try:
            return await self._client.images.inspect(image)
        except aiodocker.DockerError as error:
            if error.status != 404:
                raise
        layers: dict[str, bool] = {}
        async for line in self._client.images.pull(image, stream=True):
            if "error" in line:
                raise aiodocker.DockerError(404, line["error"])
            if "progressDetail" in line:
                layers[line["id"]] = line["status"] in ("Pull complete", "Already exists")
                on_progress(Progress(phase=f"pull {sum(layers.values())}/{len(layers)} layers"))
        return await self._client.images.inspect(image)

    # Containers

    async def create(self, config: Config, labels: Mapping[str, str] | None = None) -> Any:
        """Make a container that carries the name of its owner."""
        labelled: Any = config | {"Labels": {**self.labels(), **(labels or {})}}
        # A cancelled request may still make the container, so it runs to its end.
        name = f"scbench-{uuid.uuid4().hex[:16]}"
        with anyio.fail_after(PATIENCE, shield=True):
            return await self._client.containers.create(labelled, name=name)

    async def delete(self, container: Any) -> None:
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

    @contextlib.asynccontextmanager
    async def started(self, container: Any) -> AsyncIterator["AttachedStream"]:
        """Start a container with a stream to it."""
        # Attached before it starts: attaching to a container that has ended waits for ever.
        async with container.attach(stdin=True, stdout=True, stderr=True) as stream:
            with anyio.fail_after(PATIENCE, shield=True):
                await container.start()
            yield AttachedStream(stream, str(container.id))

    async def killed_for_memory(self, container_id: str) -> Broken | None:
        """Ask the daemon whether a launcher that fell silent was killed for lack of memory."""
        wanted = json.dumps({"container": [container_id], "event": ["oom"]})
        params = {"since": "0", "until": str(int(time.time()) + 1), "filters": wanted}
        with anyio.move_on_after(5), contextlib.suppress(*DAEMON_ERRORS):
            async with self._client._query("events", params=params) as response:
                if b'"oom"' in await response.read():
                    detail = "the container ran out of memory, and the launcher was killed for it"
                    return Broken.of(BrokenKind.OUT_OF_MEMORY, detail)
        return None

    async def remove_own(self) -> None:
        """Remove what a slow daemon made after nobody waited for it any more."""
        wanted = json.dumps({"label": [f"scbench.owner={owner.current()}", f"scbench.run={self._run_id}"]})
        with anyio.move_on_after(30, shield=True), contextlib.suppress(*DAEMON_ERRORS):
            for container in await self._client.containers.list(all=True, filters=wanted):
                await self.delete(container)

    async def sweep(self, *, dry_run: bool = False) -> int:
        """Remove the containers of engines that are dead; return how many there were."""
        try:
            return await self._sweep(dry_run=dry_run)
        except DAEMON_ERRORS as error:
            raise SandboxUnavailable(
                f"the Docker daemon does not tell what dead runs left ({reason(error)})\nTry again later."
            ) from error

    async def _sweep(self, *, dry_run: bool = False) -> int:
        with anyio.fail_after(PATIENCE):
            labelled = json.dumps({"label": ["scbench.owner"]})
            found = await self._client.containers.list(all=True, filters=labelled)
        dead = [one for one in found if owner.is_dead(one["Labels"]["scbench.owner"])]
        for container in [] if dry_run else dead:
            await self.delete(container)
            if half_full := container["Labels"].get("scbench.fills"):
                await self.remove_volume(half_full)
        return len(dead)

    # Volumes

    async def volume_labels(self, volume: str) -> Mapping[str, str] | None:
        """Tell the labels of a volume; None where there is none."""
        try:
            shown = await DockerVolume(self._client, volume).show()
        except aiodocker.DockerError as error:
            if error.status == 404:
                return None
            raise
        return shown.get("Labels") or {}

    async def fill_volume(self, filler: Config, volume: str, packed: BinaryIO) -> None:
        """Make a volume and unpack an archive into it, completely or not at all."""
        filled = False
        # Makes the volume, too: there is none that is being filled without this container.
        container = await self.create(filler, {"scbench.fills": volume})
        try:
            await container.put_archive("/prepared", packed)
            filled = True
        finally:
            await self.delete(container)
            if not filled:
                await self.remove_volume(volume)

    async def wait_for_filler(self, volume: str) -> None:
        """Wait while another engine fills a volume; what a dead one left half full is removed."""
        filters = json.dumps({"label": [f"scbench.fills={volume}"]})
        with anyio.move_on_after(300):
            while fillers := await self._client.containers.list(all=True, filters=filters):
                if all(owner.is_dead(one["Labels"]["scbench.owner"]) for one in fillers):
                    await self._sweep()
                await anyio.sleep(0.1)

    async def remove_volume(self, volume: str) -> None:
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
async def connected() -> AsyncIterator[aiodocker.Docker]:
    """Connect to the daemon that the environment names, or raise SandboxUnavailable."""
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
                f"no Docker daemon answers at {host} ({reason(error)})\n"
                "Start one, set DOCKER_HOST, or use --sandbox local, which does not isolate."
            ) from error
        yield client


def _connector(host: str) -> aiohttp.BaseConnector | None:
    # No limit: a full pool of attached streams would starve every other call.
    if host.startswith("unix://"):
        return aiohttp.UnixConnector(host.removeprefix("unix://"), limit=0)
    return None


def reason(error: Exception) -> str:
    """Say what went wrong."""
    return str(error) or type(error).__name__
