"""What a batch of real problems costs against the same pytest runs in ready environments on this machine.

    python -m benchmarks.bench_batch [ROUNDS]

The reference solutions of every checkpoint in `problems/`, two at a time, in turn: pytest with the same
plugins and report files in a virtual environment that is ready, and this engine in Docker, warm, without
answers from the store. The rule is at most 1.10 times as long.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from engine.batch import Batch, BatchOptions
from engine.environment import EnvironmentSpec, SetupCommand
from engine.locks import Locks
from engine.manifest import load_manifests
from engine.paths import cache_folder, state_folder
from engine.prepare import Preparer, wanted_environment, wanted_toolchain
from engine.problem import ProblemConfig, load_problem
from engine.sandbox import Prepared
from engine.sandbox.choice import open_sandbox

PROBLEMS = Path(__file__).parents[1] / "problems"
AT_ONCE = 2
SETUP = "uv pip install -r requirements.txt"


class Bare(msgspec.Struct, frozen=True, kw_only=True):
    """One pytest run on this machine, ready to start."""

    command: tuple[str, ...]
    folder: Path
    path: str


async def make_ready(problems: list[ProblemConfig]) -> list[Bare]:
    """Prepare virtual environments on this machine and build the commands."""
    environment = EnvironmentSpec(
        sandbox="local", setup=(SetupCommand(run=SETUP, inputs=("requirements.txt",)),)
    )
    base = cache_folder() / "local"
    ready = []
    async with open_sandbox("local") as sandbox:
        preparer = Preparer(sandbox, Locks(state_folder() / "locks"))
        digest = str(await sandbox.image_digest("", lambda _: None))
        for problem in problems:
            toolchain = await preparer.get(wanted_toolchain(environment, digest, problem.test_dependencies))
            assert isinstance(toolchain, Prepared), toolchain
            python = base / f"toolchain-{toolchain.key[:32]}" / "tools/pytest/bin/python"
            for checkpoint in problem.checkpoints:
                folder = problem.path / "solutions" / checkpoint.name
                own = await preparer.get(wanted_environment(environment, digest, folder, 300.0))
                assert isinstance(own, Prepared), own
                venv = base / f"environment-{own.key[:32]}" / "workspace/.venv/bin"
                files = [str(problem.tests / name) for name in problem.test_modules(checkpoint.name)]
                command = (str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=60")
                command += ("--entrypoint=python main.py", f"--checkpoint={checkpoint.name}", "--json-report")
                ready.append(Bare(command=(*command, *files), folder=folder, path=str(venv)))
    return ready


def run_bare(one: Bare) -> None:
    """Run one pytest."""
    with tempfile.TemporaryDirectory() as reports:
        command = [*one.command, f"--json-report-file={reports}/report.json", f"--ctrf={reports}/ctrf.json"]
        env = {**os.environ, "PATH": f"{one.path}:{os.environ['PATH']}"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, cwd=one.folder, check=True, stdout=subprocess.DEVNULL, env=env)


async def bare(ready: list[Bare]) -> None:
    """Run them all, so many at a time."""
    limiter = anyio.CapacityLimiter(AT_ONCE)
    async with anyio.create_task_group() as group:
        for one in ready:
            group.start_soon(_limited, one, limiter)


async def _limited(one: Bare, limiter: anyio.CapacityLimiter) -> None:
    await anyio.to_thread.run_sync(run_bare, one, limiter=limiter)


async def ours(manifest: Path) -> None:
    """Run them all with the engine."""
    summary = await Batch(load_manifests([manifest]), BatchOptions(use_cache=False)).run()
    assert summary.counts.failed == summary.counts.broken == 0, summary


def write_manifest(folder: Path, image: str) -> Path:
    """Write the manifest of the batch."""
    manifest = folder / "manifest.json"
    document = {
        "version": 1,
        "problems": {"path": str(PROBLEMS)},
        "environment": {"image": image, "setup": [{"run": SETUP, "inputs": ["requirements.txt"]}]},
        "submissions": [{"path": f"{PROBLEMS}/{{problem}}/solutions/{{checkpoint}}"}],
        "output": "runs",
        "concurrency": AT_ONCE,
    }
    manifest.write_bytes(msgspec.json.encode(document))
    return manifest


async def measure(rounds: int, image: str) -> dict[str, list[float]]:
    """Run both in turn."""
    problems = [load_problem(path.parent) for path in sorted(PROBLEMS.glob("*/config.yaml"))]
    times: dict[str, list[float]] = {"bare pytest": [], "scbench": []}
    with tempfile.TemporaryDirectory(prefix="scbench-bench-") as name:
        manifest = write_manifest(Path(name), image)
        ready = await make_ready(problems)
        await ours(manifest)  # prepares
        for _ in range(rounds):
            for label, way in (("bare pytest", bare(ready)), ("scbench", ours(manifest))):
                started = time.monotonic()
                await way
                times[label].append(time.monotonic() - started)
    return times


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    times = anyio.run(measure, rounds, os.environ["SCBENCH_IMAGE"])
    base = statistics.median(times["bare pytest"])
    print(f"every reference solution, {AT_ONCE} at a time, median of {rounds} rounds")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"  {name:<12} {middle:6.1f} s   {middle / base:5.2f} x")


if __name__ == "__main__":
    main()
