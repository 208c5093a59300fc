"""Problems of a few lines and submissions of one file, and a bench that runs them in a real sandbox."""

import functools
import itertools
import json
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from subprocess import STDOUT

import anyio
import msgspec

from engine.environment import EnvironmentSpec, Limits, Resources, SandboxName
from engine.problem import ProblemConfig, load_problem
from engine.results import Broken, BrokenKind, CorrectnessResults, Fault
from engine.runner import Evaluated, PytestRunner, Workshop
from engine.sandbox import OnProgress, Progress

CONFTEST = """
import shlex
import subprocess

import pytest


def pytest_addoption(parser):
    parser.addoption("--entrypoint", required=True)
    parser.addoption("--checkpoint", required=True)


@pytest.fixture
def entrypoint(request):
    return request.config.getoption("--entrypoint")


@pytest.fixture
def start(entrypoint):
    def start(*arguments, **options):
        command = [*shlex.split(entrypoint), *arguments]
        return subprocess.run(command, capture_output=True, text=True, **options)

    return start
"""
# One test passes and then comes whatever a case is about.
FIRST = "def test_first():\n    pass\n\n"
HELLO = "print('hello')\n"
HANGS = "import time\nprint('started', flush=True)\ntime.sleep(1000)\n"
GREETS = "def test_greets(start):\n    assert start().stdout == 'hello\\n'\n"
SMALL = Resources(memory=256 << 20, disk=64 << 20, pids=64)
QUICK = Limits(test=20.0, session=60.0, setup=60.0, evaluation=120.0)


def ignore(_progress: Progress) -> None:
    """Show no progress."""


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files of text below a folder; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
    return folder


def write_problem(folder: Path, tests: str, files: Mapping[str, str] | None = None, **config: object) -> Path:
    """Write a problem with one checkpoint; `config` goes into its config.yaml."""
    settings = {"name": folder.name, "entry_file": "main", "checkpoints": {"checkpoint_1": {"version": 1}}}
    written = {
        "config.yaml": json.dumps(settings | config),
        "tests/conftest.py": CONFTEST,
        "tests/test_checkpoint_1.py": tests,
    }
    return write_files(folder, written | dict(files or {}))


class Bench:
    """A workshop, the image to use in it, and a folder for what is evaluated."""

    def __init__(
        self,
        workshop: Workshop,
        image: str,
        folder: Path,
        sandbox: SandboxName = "docker",
        *,
        run_id: str = "",
    ) -> None:
        self.run_id = run_id
        self.workshop = workshop
        self.folder = folder
        self.environment = EnvironmentSpec(image=image, sandbox=sandbox, resources=SMALL)
        self._numbers = itertools.count()

    def problem(self, tests: str, files: Mapping[str, str] | None = None, **config: object) -> ProblemConfig:
        """Make a problem with one checkpoint."""
        return load_problem(
            write_problem(self.folder / f"problem{next(self._numbers)}", tests, files, **config)
        )

    def submission(self, files: Mapping[str, str] | str = HELLO) -> Path:
        """Make a submission: its files, or the text of its main.py."""
        written = {"main.py": files} if isinstance(files, str) else files
        return write_files(self.folder / f"submission{next(self._numbers)}", written)

    def runner(
        self,
        problem: ProblemConfig,
        submission: Path,
        limits: Limits = QUICK,
        environment: EnvironmentSpec | None = None,
    ) -> PytestRunner:
        """Make the runner of one evaluation."""
        return PytestRunner(
            problem, problem.checkpoints[-1], environment or self.environment, submission, limits
        )

    async def evaluate(
        self,
        tests: str | ProblemConfig = GREETS,
        submission: Path | str = HELLO,
        limits: Limits = QUICK,
        environment: EnvironmentSpec | None = None,
        on_progress: OnProgress = ignore,
    ) -> Evaluated:
        """Evaluate one submission against the text of a test module, or against a problem."""
        problem = self.problem(tests) if isinstance(tests, str) else tests
        path = self.submission(submission) if isinstance(submission, str) else submission
        return await self.runner(problem, path, limits, environment).evaluate(self.workshop, on_progress)


def statuses(results: CorrectnessResults) -> dict[str, str]:
    """Return the status of each test by its id."""
    return {test.id: test.status for test in results.tests}


def broken_as(results: CorrectnessResults, kind: BrokenKind, fault: Fault) -> Broken:
    """Return why there is no verdict, having checked that it is this."""
    assert results.broken is not None, statuses(results)
    assert (results.broken.kind, results.broken.fault) == (kind, fault), results.broken.detail
    return results.broken


async def labelled(run_id: str, *command: str) -> list[str]:
    """Return what `docker` lists under a command, as far as a run made it."""
    done = await anyio.run_process(["docker", *command, "--filter", f"label=scbench.run={run_id}"])
    return done.stdout.decode().split()


async def containers(run_id: str) -> list[str]:
    """Return the containers of a run, whether they are running or not."""
    return await labelled(run_id, "ps", "--all", "--quiet", "--no-trunc")


async def volumes(run_id: str) -> list[str]:
    """Return the volumes that a run has made."""
    return await labelled(run_id, "volume", "ls", "--quiet")


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 10.0) -> None:
    """Wait for a condition, or fail."""
    with anyio.fail_after(seconds):
        while not await condition():  # noqa: ASYNC110 - what is waited for is outside of this process
            await anyio.sleep(0.05)


async def remove_volumes(run_id: str) -> None:
    """Remove the volumes of a run, once its containers are gone."""
    for volume in await volumes(run_id):
        await until(functools.partial(_is_removed, volume))


async def _is_removed(volume: str) -> bool:
    done = await anyio.run_process(["docker", "volume", "rm", volume], check=False, stderr=STDOUT)
    return done.returncode == 0 or b"No such volume" in done.stdout


def write_batch(folder: Path, image: str, submissions: Mapping[str, str], **settings: object) -> Path:
    """Write a manifest for one problem and submissions by name, given as their main.py."""
    write_problem(folder / "problems" / "tiny", FIRST + GREETS)
    for name, main in submissions.items():
        write_files(folder / "samples" / name, {"main.py": main})
    evaluation = {"problem": "tiny", "checkpoint": "checkpoint_1"}
    document = {
        "version": 1,
        "problems": "problems",
        "environment": {"image": image},
        "evaluations": [
            {**evaluation, "submission": f"samples/{name}", "labels": {"model": name}} for name in submissions
        ],
        "concurrency": 1,
        "output": "runs",
        **settings,
    }
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(document))
    return manifest


class Line(msgspec.Struct, kw_only=True):
    """A line of results.jsonl, as far as it matters here."""

    id: str
    problem_name: str
    checkpoint_name: str
    labels: dict[str, str]
    verdict: str
    broken: Broken | None
    pass_counts: dict[str, int]
    total_counts: dict[str, int]
    cached: bool


def decode_lines(data: bytes) -> list[Line]:
    """Decode lines of results."""
    return [msgspec.json.decode(line, type=Line) for line in data.splitlines()]


def read_lines(path: Path) -> dict[str, Line]:
    """Return the results of a run by model, of which each has one."""
    lines = decode_lines(path.read_bytes())
    found = {line.labels["model"]: line for line in lines}
    assert len(found) == len(lines)
    return found


def processes_of_uids(first: int, count: int) -> list[str]:
    """Return the processes of this machine that belong to one of so many users."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if first <= process.stat().st_uid < first + count:
                found.append((process / "cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found
