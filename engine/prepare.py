"""Environments made once per content and reused: test toolchains and submissions' own.

The key of a thing covers all that it depends on. Whoever needs the same key at the same time waits for
one preparation; different ones run side by side, up to a limit.
"""

import hashlib
import platform
from pathlib import Path

import anyio
import msgspec

from engine.environment import EnvironmentSpec
from engine.locks import Locks, constraints
from engine.results import Broken, Fault
from engine.sandbox import Archive, Preparation, Prepared, Sandbox
from engine.sandbox.uvprogram import version as uv_version
from engine.setupinputs import input_files
from engine.workspace import inputs_archive, submission_archive

# What is always there for tests.
TEST_PACKAGES = ("pytest-json-ctrf", "pytest-json-report", "pytest-timeout", "jsonschema", "deepdiff")
# Raise this when what a preparation leaves behind changes its shape.
LAYOUT = 1


class Preparer:
    """Hands out prepared things, making each at most once."""

    def __init__(self, sandbox: Sandbox, locks: Locks, at_once: int = 2) -> None:
        self._sandbox = sandbox
        self.locks = locks
        self._limiter = anyio.CapacityLimiter(at_once)
        self._known: dict[str, Prepared | Broken] = {}
        self._in_flight: dict[str, anyio.Lock] = {}

    async def get(self, preparation: Preparation) -> Prepared | Broken:
        """Return what is asked for, waiting for whoever makes it already."""
        key = preparation.key
        async with self._in_flight.setdefault(key, anyio.Lock()):
            if key not in self._known:
                made = await self._make(preparation)
                if isinstance(made, Broken) and made.fault is Fault.INFRASTRUCTURE:
                    return made  # the next who asks may have more luck
                self._known[key] = made
        return self._known[key]

    async def _make(self, preparation: Preparation) -> Prepared | Broken:
        recorded = self.locks.read(preparation.key)
        if recorded is not None and not preparation.constraints:
            preparation = msgspec.structs.replace(preparation, constraints=constraints(recorded))
        async with self._limiter:
            made = await self._sandbox.prepare(preparation)
        if isinstance(made, Prepared):
            self.locks.write(made)
        return made

    def forget(self, prepared: Prepared) -> None:
        """Look again for something that turned out to be gone."""
        self._known.pop(prepared.key, None)


def toolchain_preparation(
    environment: EnvironmentSpec, digest: str, dependencies: tuple[str, ...]
) -> Preparation:
    """Ask for the test toolchain for an image and a problem's own test dependencies."""
    return _keyed(
        Preparation(
            kind="toolchain",
            key="",
            image=environment.image,
            python=environment.python,
            runtime=environment.runtime,
            requirements=(*TEST_PACKAGES, *dependencies),
            constraints=_pinned(environment),
            timeout=600.0,
        ),
        f"{environment.sandbox} {digest}",
    )


def environment_preparation(
    environment: EnvironmentSpec, digest: str, submission: Path, timeout: float
) -> Preparation | Broken:
    """Ask for the environment that a submission's set-up makes from the files it depends on. Blocks."""
    inputs = setup_inputs(environment, submission)
    if isinstance(inputs, Broken):
        return inputs
    return _keyed(
        Preparation(
            kind="environment",
            key="",
            image=environment.image,
            python=environment.python,
            runtime=environment.runtime,
            commands=tuple(command.run for command in environment.setup),
            archives=inputs,
            env=environment.env,
            constraints=_pinned(environment),
            resources=environment.resources,
            timeout=timeout,
        ),
        f"{environment.sandbox} {digest}",
    )


def setup_inputs(environment: EnvironmentSpec, submission: Path) -> tuple[Archive, ...] | Broken:
    """Pack what set-up may see: the files it depends on, or all where that is not known."""
    if not environment.setup:
        return ()
    names: set[str] = set()
    for command in environment.setup:
        found = input_files(command, submission)
        if found is None:
            return _only(submission_archive(submission, environment.resources.disk, keep_times=False))
        names.update(found)
    return _only(inputs_archive(submission, sorted(names), environment.resources.disk))


def _only(packed: Archive | Broken) -> tuple[Archive, ...] | Broken:
    return packed if isinstance(packed, Broken) else (packed,)


def _keyed(preparation: Preparation, ground: str) -> Preparation:
    """Give a preparation the key that covers all that it depends on."""
    hasher = hashlib.sha256()
    parts = (
        *(LAYOUT, ground, preparation.kind, preparation.python, preparation.runtime),
        *(sorted(preparation.requirements), preparation.commands, preparation.env, preparation.constraints),
        *(uv_version(), platform.machine()),
    )
    hasher.update(msgspec.json.encode(parts))
    for archive in preparation.archives:
        hasher.update(archive.data if isinstance(archive.data, bytes) else _file_hash(archive.data))
    return msgspec.structs.replace(preparation, key=hasher.hexdigest())


def _file_hash(path: Path) -> bytes:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").digest()


def _pinned(environment: EnvironmentSpec) -> str:
    return Path(environment.lock).read_text("utf-8") if environment.lock else ""
