"""The collection: every folder below `cases/`, and how its submission is put together.

A case is a folder with `case.yaml` and `snapshot/`. To add one, add a folder; `README.md` is made from
them by `python -m tests.hostile.table`.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from ruamel.yaml import YAML

from engine.environment import HideTests, Limits, Resources, SetupCommand
from engine.results import BrokenKind, Verdict
from tests.hostile.builders import BUILDERS

HERE = Path(__file__).parent
CASES = HERE / "cases"
HONEST = HERE / "honest"
# What the hidden files of the problem hold, for the eyes of nobody.
SECRETS = (
    "nobody-may-read-module-0a6fd27b41",
    "nobody-may-read-conftest-93c4d1a8e6",
    "nobody-may-read-data-5b1e77c20f",
)


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an honest grader says."""

    # One of these.
    verdict: Verdict | tuple[Verdict, ...]
    # One of these, where the verdict is broken; always by the submission's fault.
    kind: BrokenKind | tuple[BrokenKind, ...] = ()
    # A warning that must go along with the verdict.
    warning: str | None = None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that fit."""
        return (self.verdict,) if isinstance(self.verdict, Verdict) else self.verdict

    @property
    def kinds(self) -> tuple[BrokenKind, ...]:
        """The kinds that fit."""
        return (self.kind,) if isinstance(self.kind, BrokenKind) else self.kind


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One submission that cheats or attacks."""

    name: str
    tries: str
    stopped_by: str
    expect: Expected
    # `wins`, or why that cannot be shown against a runner in the seeds' way.
    plain: str
    # What it wins there: a verdict, an escape from being counted, a secret, time, a file of the host.
    gains: Literal["passed", "escaped", "spoils", "hung", "host_file"] = "passed"
    # The problem that it is a submission to.
    problem: Literal["problem", "handing", "importing", "importing_undeclared"] = "problem"
    # Whether `solution.py`, an honest solution, lies beside what it ships.
    with_solution: bool = False
    # What makes those parts of it that no repository can hold.
    builder: str | None = None
    setup: tuple[SetupCommand, ...] = ()
    hide_tests: HideTests = "modules"
    limits: Limits = Limits(test=10.0, session=40.0, setup=60.0, evaluation=90.0)
    resources: Resources = Resources(memory=512 << 20, disk=64 << 20, pids=96)
    # Why it still gets what it wants; its test then expects to fail.
    open_hole: str | None = None

    @property
    def wins_against_plain(self) -> bool:
        """Whether a runner in the seeds' way falls for it."""
        return self.plain == "wins"

    def assemble(self, folder: Path) -> Path:
        """Put the submission together in a folder that does not exist yet, and return it."""
        snapshot = CASES / self.name / "snapshot"
        if snapshot.is_dir():
            shutil.copytree(snapshot, folder, symlinks=True)
        else:
            folder.mkdir(parents=True)
        if self.with_solution:
            shutil.copy(HONEST / "main.py", folder / "solution.py")
        if self.builder is not None:
            BUILDERS[self.builder](folder)
        return folder


def honest() -> Case:
    """Return the honest control, in the same setting as every case."""
    return _control("honest")


def demanding() -> Case:
    """Return the honest neighbour, which notices when somebody takes what the kernel counts by user."""
    return _control("demanding")


def _control(name: str) -> Case:
    expect = Expected(verdict=Verdict.PASSED)
    return Case(name=name, tries="nothing", stopped_by="nothing", expect=expect, plain="passes", builder=name)


def load(folder: Path) -> Case:
    """Read one case."""
    written: Mapping[str, object] = YAML(typ="safe").load(folder / "case.yaml")
    return msgspec.convert({"name": folder.name, **written}, Case)


def load_all() -> tuple[Case, ...]:
    """Read the whole collection, in the order of names."""
    return tuple(load(folder) for folder in sorted(CASES.iterdir()) if (folder / "case.yaml").is_file())
