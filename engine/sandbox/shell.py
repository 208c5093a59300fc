"""A terminal inside a sandbox: the launcher lays everything out, then a command takes the terminal."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping

import anyio

from engine.errors import SandboxUnavailable
from engine.results import Broken, BrokenKind
from engine.sandbox import Archive, Shell
from engine.sandbox.wire import Transcript, Transport, converse

PROGRAM = "debug/shell"


def docker_exec(container: str, user: str, program: str, shell: Shell) -> list[str]:
    """Return the command that lets a terminal, or a pipe, into a container."""
    if shutil.which("docker") is None:
        raise SandboxUnavailable("a shell in a container needs the docker client, and there is none here")
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    options = ["--interactive", *terminal, "--user", user]
    # The client may have another daemon in mind.
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    return ["docker", "--host", host, "exec", *options, container, "/bin/sh", program, *shell.command]


async def attend(
    transport: Transport, header: Mapping[str, object], archives: Iterable[Archive], command: list[str]
) -> int | Broken:
    """Have everything laid out, hand the terminal to a command, and return its exit code."""
    ready = anyio.Event()
    transcript = Transcript(str(header["nonce"]), lambda progress: _notice(progress.phase, ready))
    codes: list[int] = []
    async with anyio.create_task_group() as group:

        async def listen() -> None:
            await converse(transport, header, archives, transcript)
            group.cancel_scope.cancel()

        group.start_soon(listen)
        await ready.wait()
        codes.append(await _run(command))
        group.cancel_scope.cancel()
    if codes:
        return codes[0]
    outcome = transcript.outcome
    said = (outcome.error or outcome.unprepared) if outcome else None
    return Broken.of(BrokenKind.DAEMON_ERROR, said or "the container ended before it was laid out")


def _notice(phase: str, ready: anyio.Event) -> None:
    if phase == "shell":
        ready.set()


async def _run(command: list[str]) -> int:
    async with await anyio.open_process(command, stdin=None, stdout=None, stderr=None) as process:
        return await process.wait()
