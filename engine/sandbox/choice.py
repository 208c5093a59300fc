"""Open the sandbox of a name: the one place that knows which there are."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import assert_never

from engine.environment import SandboxName
from engine.sandbox import Sandbox


@contextlib.asynccontextmanager
async def open_sandbox(name: SandboxName, run_id: str = "", *, sweep: bool = True) -> AsyncIterator[Sandbox]:
    """Open a sandbox, removing first what dead runs left in it."""
    async with _open(name, run_id or secrets.token_hex(8)) as sandbox:
        if sweep:
            await sandbox.sweep()
        yield sandbox


def _open(name: SandboxName, run_id: str) -> contextlib.AbstractAsyncContextManager[Sandbox]:
    match name:
        case "docker":
            from engine.sandbox.docker import DockerSandbox

            return DockerSandbox.open(run_id)
        case "local":
            from engine.sandbox.local import LocalSandbox

            return contextlib.nullcontext(LocalSandbox())
        case _:
            assert_never(name)
