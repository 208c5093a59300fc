"""Environments made once per content and reused: test toolchains and submissions' own.

The key of a thing covers all that it depends on. Whoever needs the same key at the same time waits for
one preparation; different ones run side by side, up to a limit.
"""

import hashlib
import os
import platform
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from engine.environment import EnvironmentSpec, SetupCommand
from engine.locks import Locks, constraints
from engine.results import Broken, BrokenKind, Fault
from engine.sandbox import Archive, Preparation, Prepared, Sandbox
from engine.sandbox.uvprogram import version as uv_version
from engine.setupinputs import input_files
from engine.treehash import TreeHasher
from engine.workspace import discard, inputs_archive, submission_archive

# What is always there for tests.
TEST_PACKAGES = ("pytest-json-ctrf", "pytest-json-report", "pytest-timeout", "jsonschema", "deepdiff")
# Raise this when what a preparation leaves behind changes its shape.
LAYOUT = 2
# What installers say when the index cannot be reached; whether it is true is found out by asking ourselves.
UNREACHABLE = re.compile(
    r"dns error|failed to lookup|error sending request|connection (refused|reset)|timed out|failed to fetch"
    r"|network is unreachable|temporary failure in name resolution|invalid peer certificate|tunnel|proxy",
    re.IGNORECASE,
)
ASK_THE_INDEX = "uv pip install --dry-run --no-cache --quiet pip"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be prepared: its key at once, the files that it is made from only when it must be made."""

    key: str
    build: Callable[[], Preparation | Broken]


class Preparer:
    """Hands out prepared things, making each at most once."""

    def __init__(self, sandbox: Sandbox, locks: Locks, at_once: int = 2) -> None:
        self._sandbox = sandbox
        self.locks = locks
        self._limiter = anyio.CapacityLimiter(at_once)
        self._known: dict[str, Prepared | Broken] = {}
        self._in_flight: dict[str, anyio.Lock] = {}

    async def get(self, wanted: Wanted) -> Prepared | Broken:
        """Return what is wanted, waiting for whoever makes it already."""
        key = wanted.key
        async with self._in_flight.setdefault(key, anyio.Lock()):
            if key not in self._known:
                made = await self._make(wanted)
                if isinstance(made, Broken) and made.fault is Fault.INFRASTRUCTURE:
                    return made  # the next who asks may have more luck
                self._known[key] = made
        return self._known[key]

    async def _make(self, wanted: Wanted) -> Prepared | Broken:
        preparation = await anyio.to_thread.run_sync(wanted.build)
        if isinstance(preparation, Broken):
            return preparation
        recorded = self.locks.read(wanted.key)
        if recorded is not None and not preparation.constraints:
            preparation = msgspec.structs.replace(preparation, constraints=constraints(recorded))
        try:
            async with self._limiter:
                made = await self._sandbox.prepare(preparation)
                if isinstance(made, Broken) and made.kind is BrokenKind.SETUP_FAILED:
                    made = await self._with_true_fault(preparation, made)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(discard, preparation.archives)
        if isinstance(made, Prepared):
            self.locks.write(made)
        return made

    async def _with_true_fault(self, failed: Preparation, broken: Broken) -> Broken:
        """Ask the index ourselves before a submission is blamed, or believed, for not reaching it."""
        if not UNREACHABLE.search(broken.detail):
            return broken
        question = msgspec.structs.replace(
            failed,
            key=f"question-{os.urandom(8).hex()}",
            commands=(ASK_THE_INDEX,),
            archives=(),
            timeout=60.0,
        )
        answer = await self._sandbox.prepare(msgspec.structs.replace(question, keep=False))
        if isinstance(answer, Prepared):
            return broken
        return Broken.of(BrokenKind.INDEX_UNREACHABLE, broken.detail)

    def forget(self, prepared: Prepared) -> None:
        """Look again for something that turned out to be gone."""
        self._known.pop(prepared.key, None)


def wanted_toolchain(environment: EnvironmentSpec, digest: str, dependencies: tuple[str, ...]) -> Wanted:
    """Want the test toolchain for an image and a problem's own test dependencies."""
    requirements = (*TEST_PACKAGES, *dependencies)
    pinned = _pinned(environment)
    key = _key("toolchain", environment, digest, (sorted(requirements), pinned))
    preparation = Preparation(
        kind="toolchain",
        key=key,
        image=environment.image,
        python=environment.python,
        runtime=environment.runtime,
        requirements=requirements,
        constraints=pinned,
        timeout=600.0,
    )
    return Wanted(key=key, build=lambda: preparation)


def wanted_environment(
    environment: EnvironmentSpec,
    digest: str,
    submission: Path,
    timeout: float,
    hasher: TreeHasher | None = None,
) -> Wanted:
    """Want the environment that a submission's set-up makes from the files it depends on. Blocks."""
    setup = _setup(environment, submission)
    names = _input_names(setup, submission)
    content = _whole(submission, hasher) if names is None else tuple(_described(submission, names))
    commands = tuple(command.run for command in setup)
    pinned = _pinned(environment)
    key = _key("environment", environment, digest, (commands, environment.env, pinned, content))

    def build() -> Preparation | Broken:
        archives = _inputs(environment, submission, names)
        if isinstance(archives, Broken):
            return archives
        return Preparation(
            kind="environment",
            key=key,
            image=environment.image,
            python=environment.python,
            runtime=environment.runtime,
            commands=commands,
            archives=archives,
            env=environment.env,
            constraints=pinned,
            resources=environment.resources,
            timeout=timeout,
        )

    return Wanted(key=key, build=build)


def _setup(environment: EnvironmentSpec, submission: Path) -> tuple[SetupCommand, ...]:
    """Return the set-up commands, with what `uv run` would install at its first start in a project."""
    project = submission / "pyproject.toml"
    if not environment.setup or not environment.entrypoint.startswith("uv run") or not project.is_file():
        return environment.setup
    inputs = input_files(SetupCommand(run="uv sync"), submission)
    # Where it fails, `uv run` would fail too, and the tests say so.
    return (*environment.setup, SetupCommand(run="uv sync --inexact --quiet || true", inputs=inputs))


def _input_names(setup: tuple[SetupCommand, ...], submission: Path) -> tuple[str, ...] | None:
    """Name the files that set-up depends on; None where that may be any."""
    names: set[str] = set()
    for command in setup:
        found = input_files(command, submission)
        if found is None:
            return None
        names.update(found)
    return tuple(sorted(names))


def _described(submission: Path, names: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
    """Yield name, mode and content of each input that is there, without following a link."""
    for name in names:
        try:
            status = (submission / name).lstat()
        except OSError:
            continue
        if stat.S_ISLNK(status.st_mode):
            yield name, 0, (submission / name).readlink().as_posix()
        elif stat.S_ISREG(status.st_mode):
            yield name, status.st_mode & 0o111, _file_hash(submission / name)


def _whole(submission: Path, hasher: TreeHasher | None) -> str:
    return (hasher or TreeHasher()).digest(submission)


def _inputs(
    environment: EnvironmentSpec, submission: Path, names: tuple[str, ...] | None
) -> tuple[Archive, ...] | Broken:
    """Pack what set-up may see: the files it depends on, or all where that is not known."""
    room = environment.resources.disk
    if names is None:
        packed = submission_archive(submission, room, keep_times=False)
    elif names:
        packed = inputs_archive(submission, names, room)
    else:
        return ()
    return packed if isinstance(packed, Broken) else (packed,)


def _key(kind: str, environment: EnvironmentSpec, digest: str, parts: object) -> str:
    ground = (LAYOUT, kind, environment.sandbox, digest, environment.python, environment.runtime)
    encoded = msgspec.json.encode((ground, parts, uv_version(), platform.machine()))
    return hashlib.sha256(encoded).hexdigest()


def _file_hash(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _pinned(environment: EnvironmentSpec) -> str:
    return Path(environment.lock).read_text("utf-8") if environment.lock else ""
