"""Open the sandbox of a name: the one place that knows which there are."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import assert_never

from engine.environment import SandboxName
from engine.sandbox import Sandbox


@contextlib.asynccontextmanager
async def open_sandbox(name: SandboxName, run_id: str = "") -> AsyncIterator[Sandbox]:
    """Open a sandbox, removing first what dead runs left in it."""
    sandbox = await _open(name, run_id or secrets.token_hex(8))
    try:
        await sandbox.sweep()
        yield sandbox
    finally:
        await sandbox.aclose()


async def _open(name: SandboxName, run_id: str) -> Sandbox:
    match name:
        case "docker":
            from engine.sandbox.docker import DockerSandbox

            return await DockerSandbox.connect(run_id)
        case "local":
            from engine.sandbox.local import LocalSandbox

            return LocalSandbox()
        case _:
            assert_never(name)
