"""What one evaluation costs beyond its tests.

    python -m benchmarks.bench_overhead [ROUNDS]

Three ways to run the same four tests of a trivial program, in turn, in one run: pytest in a ready virtual
environment on this machine; this engine, warm; and `docker run` with uvx each time.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.to_thread
from uv import find_uv_bin

from engine.environment import EnvironmentSpec
from engine.locks import Locks
from engine.paths import cache_folder, state_folder
from engine.prepare import TEST_PACKAGES, Preparer, wanted_toolchain
from engine.problem import load_problem
from engine.runner import PytestRunner, Workshop
from engine.sandbox import Prepared
from engine.sandbox.choice import open_sandbox
from engine.sandbox.launch import certificate_bundle

PROBLEM = {
    "config.yaml": "name: trivial\nentry_file: main.py\ncheckpoints: {checkpoint_1: {version: 1}}\n",
    "tests/conftest.py": (
        "import shlex, pytest\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--entrypoint', default='python main.py')\n"
        "    parser.addoption('--checkpoint')\n"
        "@pytest.fixture\n"
        "def entry(request):\n"
        "    return shlex.split(request.config.getoption('--entrypoint'))\n"
    ),
    "tests/test_checkpoint_1.py": (
        "import subprocess, pytest\n"
        "@pytest.mark.parametrize('word', ['a', 'b', 'c', 'd'])\n"
        "def test_says(entry, word):\n"
        "    told = subprocess.run([*entry, word], capture_output=True, text=True, timeout=10)\n"
        "    assert told.stdout == f'hello {word}\\n'\n"
    ),
    "submission/main.py": "import sys\nprint('hello', sys.argv[1])\n",
}


def lay_out(folder: Path) -> None:
    """Write the problem and its submission."""
    for name, text in PROBLEM.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def local_toolchain(image: str) -> Path:
    """Return the Python of a ready virtual environment on this machine with the same packages."""
    environment = EnvironmentSpec(sandbox="local", image=image)
    async with open_sandbox("local") as sandbox:
        digest = await sandbox.image_digest(image, lambda _: None)
        wanted = wanted_toolchain(environment, str(digest), ())
        made = await Preparer(sandbox, Locks(state_folder() / "locks")).get(wanted)
        assert isinstance(made, Prepared), made
        return cache_folder() / "local" / f"toolchain-{wanted.key[:32]}" / "tools/pytest/bin/python"


def bare(folder: Path, python: Path) -> None:
    """Run pytest in a ready virtual environment on this machine."""
    with tempfile.TemporaryDirectory() as reports:
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=30"]
        command += [
            f"--ctrf={reports}/ctrf.json",
            "--json-report",
            f"--json-report-file={reports}/report.json",
        ]
        # The interpreter itself: what is called python3 may be a slow wrapper around it.
        command += [f"--entrypoint={python} main.py", f"{folder}/tests/test_checkpoint_1.py"]
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run(command, cwd=folder / "submission", check=True, stdout=subprocess.DEVNULL, env=env)


def uvx(folder: Path, image: str) -> None:
    """Run a fresh container that installs pytest with uvx, as the plain way has it."""
    command = ["docker", "run", "--rm", "-v", f"{folder}/submission:/workspace", "-w", "/workspace"]
    command += ["-v", f"{folder}/tests:/workspace/tests:ro", "-v", f"{Path(find_uv_bin()).parent}:/uv:ro"]
    bundle = certificate_bundle()
    if bundle is not None:
        command += ["-v", f"{bundle}:/certificates.pem:ro", "-e", "SSL_CERT_FILE=/certificates.pem"]
    packages = [f"--with={name}" for name in TEST_PACKAGES]
    command += [image, "/uv/uvx", "--quiet", *packages, "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--timeout=30", "--entrypoint=python3 main.py", "tests"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


async def measure(rounds: int, image: str) -> dict[str, list[float]]:
    """Run the three ways in turn."""
    times: dict[str, list[float]] = {"bare pytest": [], "scbench": [], "docker run with uvx": []}
    with tempfile.TemporaryDirectory(prefix="scbench-bench-") as name:
        folder = Path(name)
        lay_out(folder)
        python = await local_toolchain(image)
        problem = load_problem(folder)
        runner = PytestRunner(
            problem, problem.checkpoints[0], EnvironmentSpec(image=image), folder / "submission"
        )
        async with open_sandbox("docker") as sandbox:
            workshop = Workshop.of(sandbox)

            async def ours() -> None:
                results = await runner.run(workshop)
                assert results.broken is None, results.broken
                assert all(test.status == "passed" for test in results.tests)

            async def theirs() -> None:
                await anyio.to_thread.run_sync(uvx, folder, image)

            async def plain() -> None:
                await anyio.to_thread.run_sync(bare, folder, python)

            ways: tuple[Callable[[], Awaitable[None]], ...] = (plain, ours, theirs)
            await ours()  # prepares
            for _ in range(rounds):
                for name, way in zip(times, ways, strict=True):
                    started = time.monotonic()
                    await way()
                    times[name].append(time.monotonic() - started)
    return times


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    image = os.environ["SCBENCH_IMAGE"]
    times = anyio.run(measure, rounds, image)
    base = statistics.median(times["bare pytest"])
    print(f"four tests of a trivial program, median of {rounds} rounds")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"  {name:<20} {middle:6.2f} s   {middle - base:+6.2f} s   {middle / base:5.1f} x")


if __name__ == "__main__":
    main()
