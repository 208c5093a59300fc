"""What a sandbox is: a place where one job runs apart from everything else.

`docker.py` and `local.py` are the implementations; both speak to the launcher in `engine/inside/`
over one stream of frames (`wire.py`), so that a job means the same in each.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from engine.environment import HideTests, Limits, Mode, Resources
from engine.results import Broken, Output


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A tar of files for the container: in memory, or in a file that the sender deletes afterwards."""

    name: Literal["submission", "tests", "assets", "inputs", "uv", "certificates"]
    data: bytes | Path


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """Something made once and brought, read-only, into every container that needs it."""

    kind: Literal["toolchain", "environment"]
    key: str
    # Exact versions of what was installed, by package.
    versions: Mapping[str, str] = {}
    # For a toolchain: the pytest plugins that its packages announce, as (name for `-p`, module).
    plugins: tuple[tuple[str, str], ...] = ()
    python: str = ""


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """A request to make something once: a test toolchain or a submission's environment."""

    kind: Literal["toolchain", "environment"]
    key: str
    image: str
    python: str
    runtime: str | None = None
    # For a toolchain.
    requirements: tuple[str, ...] = ()
    # For an environment.
    commands: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    # Lines of exact versions that the installation is held to.
    constraints: str = ""
    resources: Resources = Resources()
    timeout: float = 300.0
    # False: only tell whether it can be made.
    keep: bool = True


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of pytest against one submission, complete: nothing else is looked up while it runs."""

    evaluation_id: str
    image: str
    toolchain: Prepared
    environment: Prepared
    archives: tuple[Archive, ...]
    test_files: tuple[str, ...]
    # What the submission's uid must not read, as paths below tests/.
    hidden: tuple[str, ...]
    entrypoint: str
    checkpoint: str
    # Names of static assets, for SCBENCH_ASSET_{NAME}.
    assets: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    limits: Limits
    resources: Resources
    network: str = "none"
    runtime: str | None = None
    hide_tests: HideTests = "modules"
    mode: Mode = "prepared"
    # False where the tests import the submission into pytest's own process.
    sealed: bool = True
    # Only collect, without a submission, to learn which tests there are.
    collect_only: bool = False
    # Only these tests, by node id; all where there are none.
    only: tuple[str, ...] = ()
    # uvx mode only: what is passed as --with.
    requirements: tuple[str, ...] = ()


class CollectedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test as pytest announced it before any test ran."""

    nodeid: str
    markers: tuple[str, ...] = ()


class PhaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of one test, as it came over the channel while pytest ran."""

    nodeid: str
    when: Literal["setup", "call", "teardown"]
    # "rerun" is what plugins that repeat tests say of an attempt that does not count.
    outcome: Literal["passed", "failed", "skipped", "rerun"]
    duration: float
    wasxfail: bool = False
    message: str = ""


class End(msgspec.Struct, frozen=True, kw_only=True):
    """The launcher's last word, sent after everything else in the sandbox was dead."""

    exit_code: int | None
    # The exit code that pytest itself gave at the end of its session, after its reports were written.
    announced: int | None = None
    signal: int | None = None
    # "session" where that time limit fired, by pytest or by the launcher.
    limit: str | None = None
    # How often the limit of one command of a test fired.
    command_limits: int = 0
    oom_kills: int = 0
    disk_full: bool = False
    pids_exhausted: bool = False
    stopped: int = 0
    tampered: tuple[str, ...] = ()
    # Files of the submission that tests loaded into the grader's own process, which no seal survives.
    imported: tuple[str, ...] = ()
    # Connections that the network of this job still remembers.
    sockets: int = 0
    sealed: bool = False
    # Why the seal could not be shown to hold; there is no verdict then.
    seal_error: str | None = None
    timings: Mapping[str, float] = {}
    cpu: Mapping[str, float] = {}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of a sandbox. Without `end` nothing in it is proof of a verdict."""

    end: End | None = None
    # Why it ended otherwise than by itself, where the sandbox knows.
    broken: Broken | None = None
    collected: tuple[CollectedTest, ...] | None = None
    phases: tuple[PhaseReport, ...] = ()
    reports: Mapping[str, bytes] = {}
    stdout: Output = Output()
    stderr: Output = Output()
    timings: Mapping[str, float] = {}
    # CPU seconds that were used, held back by the limit, and waited for in vain.
    cpu: Mapping[str, float] = {}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A lossy glimpse of a running job, for people; never a source of results."""

    phase: str
    tests_done: int = 0
    tests_total: int | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A prepared thing that later runs would use."""

    name: str
    kind: str
    # Seconds since 1970.
    created: float


class Shell(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to do inside: look round, or run one command."""

    role: Literal["grader", "submission"] = "submission"
    command: tuple[str, ...] = ()


OnProgress = Callable[[Progress], None]


class Sandbox(Protocol):
    """A way to run jobs. Expected failures are in the returned value, never raised."""

    name: str

    async def image_digest(self, image: str, on_progress: OnProgress) -> str | Broken:
        """Make sure that the image is there, pulling it if need be, and tell its digest or id."""

    async def known_digest(self, image: str) -> str | None:
        """Tell the digest or id of an image that is already here."""

    async def prepare(self, preparation: Preparation) -> Prepared | Broken:
        """Return what was asked for, making it if it is not there yet."""

    async def run(self, job: Job, on_progress: OnProgress) -> Run:
        """Run one job in a fresh place and leave nothing behind."""

    async def shell(self, job: Job, shell: Shell) -> int | Broken:
        """Lay a job out as if it were to run, and hand the terminal over; return the exit code."""

    async def latency(self) -> float | None:
        """Tell how many seconds an answer takes just now; None when there is none."""

    async def sweep(self, *, dry_run: bool = False) -> int:
        """Remove what dead runs left behind; return how many things that were."""

    async def kept(self) -> tuple[Kept, ...]:
        """Tell what is kept for later runs."""

    async def remove(self, kept: Kept) -> None:
        """Remove something that was kept, unless it is in use."""
