"""What a job says, as the engine's `sandbox/launch.py` writes it and JSON brings it here."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing import Literal


class Paths(TypedDict):
    """Where things are in this container."""

    workspace: str
    environment: str
    temporary: str
    home: str
    scratch: str
    toolchain: str
    uv: str
    certificates: str


class Layout(Paths):
    """The same, and the folders and files of one evaluation."""

    root: str
    reports: str
    assets: str
    canary: str
    control: str
    basetemp: str


class Limits(TypedDict):
    """Those time limits, in seconds, that are kept in the container."""

    command: float | None
    test: float
    session: float


class Job(TypedDict):
    """What every job says; the ids mean nothing where `isolate` is false."""

    task: Literal["evaluate", "prepare", "debug"]
    nonce: str
    isolate: bool
    uid: int
    gid: int
    grader_gid: int
    paths: Paths
    env: dict[str, str]


class EvaluationJob(Job):
    """Run the tests against one submission."""

    mode: Literal["prepared", "uvx"]
    sealed: bool
    collect_only: bool
    test_files: list[str]
    only: list[str]
    hidden: list[str]
    entrypoint: str
    checkpoint: str
    assets: list[str]
    # Each is a name and the module behind it.
    plugins: list[list[str]]
    requirements: list[str]
    limits: Limits
    report_limit: int
    # uvx mode only: the variables by which it reaches a package index.
    index: dict[str, str]


class DebugJob(EvaluationJob):
    """Lay everything out as for an evaluation, for a person in this role."""

    role: Literal["grader", "submission"]


class PreparationJob(Job):
    """Make a toolchain or an environment."""

    kind: Literal["toolchain", "environment"]
    python: str
    requirements: list[str]
    commands: list[str]
    constraints: str
    timeout: float
    send: bool
