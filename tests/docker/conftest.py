"""Benches on a real Docker Engine."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.environment import SandboxName
from engine.runner import Workshop
from engine.sandbox.choice import open_sandbox
from tests.docker.tiny import Bench


@pytest.fixture
def anyio_backend() -> str:
    """aiodocker needs asyncio."""
    return "asyncio"


@pytest.fixture
def sandbox_name() -> SandboxName:
    """The sandbox of the bench."""
    return "docker"


@pytest.fixture
async def bench(
    anyio_backend: str, sandbox_name: SandboxName, image: str, tmp_path: Path
) -> AsyncIterator[Bench]:
    """Where evaluations run."""
    run_id = f"test-{secrets.token_hex(8)}"
    async with open_sandbox(sandbox_name, run_id) as sandbox:
        yield Bench(Workshop.of(sandbox), image, tmp_path, sandbox_name, run_id=run_id)
