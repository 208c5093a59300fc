"""Every way in which an evaluation can end without a verdict, brought about for real, with whose fault it is.

All of them run at the same time, beside honest evaluations that must not notice.
"""

import json
import os
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
import pytest

from engine.environment import EnvironmentSpec, SetupCommand
from engine.results import BrokenKind, CorrectnessResults, Fault
from engine.runner import Workshop
from engine.sandbox import wire
from engine.sandbox.choice import open_sandbox
from tests.docker.tiny import (
    CONFTEST,
    FIRST,
    GREETS,
    QUICK,
    Bench,
    broken_as,
    containers,
    remove_volumes,
    statuses,
    volumes,
    write_files,
)

pytestmark = pytest.mark.docker

STARTS = FIRST + "def test_starts(start):\n    assert start().returncode == 0\n"
Evaluate = Callable[[Bench], Awaitable[CorrectnessResults]]


class Expected(NamedTuple):
    """What a case must come to."""

    kind: BrokenKind
    fault: Fault
    # A part of what the result says.
    detail: str
    # The tests that had finished.
    finished: tuple[str, ...] = ()


class Case(NamedTuple):
    """An evaluation that breaks."""

    evaluate: Evaluate
    expected: Expected


CASES: dict[str, Case] = {}


def case(kind: BrokenKind, fault: Fault, detail: str, *finished: str) -> Callable[[Evaluate], Evaluate]:
    """Add an evaluation to the table, with what it must come to."""

    def add(evaluate: Evaluate) -> Evaluate:
        CASES[evaluate.__name__] = Case(evaluate, Expected(kind, fault, detail, finished))
        return evaluate

    return add


def changed(bench: Bench, **fields: object) -> EnvironmentSpec:
    """Return the environment of the bench with some fields changed."""
    return msgspec.convert(msgspec.structs.asdict(bench.environment) | fields, EnvironmentSpec)


def setup(bench: Bench, command: str) -> EnvironmentSpec:
    """Return an environment with one set-up command."""
    return msgspec.structs.replace(bench.environment, setup=(SetupCommand(run=command, inputs=()),))


# The environment's


@case(BrokenKind.IMAGE_MISSING, Fault.INFRASTRUCTURE, "localhost:1/nowhere:1")
async def image_that_nobody_has(bench: Bench) -> CorrectnessResults:
    """The registry does not answer."""
    return (await bench.evaluate(environment=changed(bench, image="localhost:1/nowhere:1"))).results


@case(BrokenKind.NO_PYTHON, Fault.INFRASTRUCTURE, "has no python3")
async def image_without_python(bench: Bench) -> CorrectnessResults:
    """There is a shell and nothing else."""
    empty = str(bench.folder.joinpath("empty").read_text())
    return (await bench.evaluate(environment=changed(bench, image=empty))).results


@case(BrokenKind.TOOLCHAIN_UNRESOLVABLE, Fault.INFRASTRUCTURE, "scbench-there-is-no-such-package")
async def dependency_that_does_not_exist(bench: Bench) -> CorrectnessResults:
    """A problem asks for a package that no index has."""
    problem = bench.problem(GREETS, test_dependencies=["scbench-there-is-no-such-package==1.0"])
    return (await bench.evaluate(problem)).results


# The submission's


@case(BrokenKind.SETUP_FAILED, Fault.SUBMISSION, "exit code 3\nfirst words\nlast words")
async def set_up_that_fails(bench: Bench) -> CorrectnessResults:
    """A set-up command says something and ends with an error."""
    environment = setup(bench, "echo first words; echo last words >&2; exit 3")
    return (await bench.evaluate(environment=environment)).results


@case(BrokenKind.SETUP_FAILED, Fault.SUBMISSION, "exit code 137")
async def set_up_that_eats_memory(bench: Bench) -> CorrectnessResults:
    """Set-up is held to the limits, too."""
    environment = setup(bench, 'python -c "x = [bytearray(1 << 24) for _ in range(1 << 10)]"')
    return (await bench.evaluate(environment=environment)).results


@case(BrokenKind.SETUP_TIMEOUT, Fault.SUBMISSION, "sleep 1000")
async def set_up_that_hangs(bench: Bench) -> CorrectnessResults:
    """Also what it left in the background is ended."""
    limits = msgspec.structs.replace(QUICK, setup=2.0)
    return (await bench.evaluate(limits=limits, environment=setup(bench, "sleep 1001 & sleep 1000"))).results


@case(BrokenKind.OUT_OF_MEMORY, Fault.SUBMISSION, "lack of memory", "test_first")
async def grader_out_of_memory(bench: Bench) -> CorrectnessResults:
    """A test reads the endless output of a submission."""
    main = "import sys\nwhile True: sys.stdout.write('x' * (1 << 20))\n"
    return (await bench.evaluate(STARTS, main)).results


@case(BrokenKind.OUT_OF_MEMORY, Fault.SUBMISSION, "memory", "test_first")
async def launcher_out_of_memory(bench: Bench) -> CorrectnessResults:
    """Files in memory are filled until the kernel has nobody left to kill but the first process."""
    resources = {"memory": 128 << 20, "disk": 512 << 20, "shared_memory": 512 << 20}
    main = """
    import os
    if os.fork() == 0:
        os.setsid()
        for path in ("/dev/shm/a", "/tmp/a", "/workspace/a"):
            with open(path, "wb") as file:
                while True:
                    try:
                        file.write(bytes(1 << 20))
                    except OSError:
                        break
    os.wait()
    """
    return (await bench.evaluate(STARTS, main, environment=changed(bench, resources=resources))).results


@case(BrokenKind.OUT_OF_DISK, Fault.SUBMISSION, "disk of the sandbox is full", "test_first")
async def disk_full(bench: Bench) -> CorrectnessResults:
    """The workspace is full when a hook of the problem wants to write its log there."""
    main = """
    with open("all", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    """
    hook = """
def pytest_runtest_logreport(report):
    with open("log.txt", "a") as log:
        log.write("x" * 5000)
"""
    problem = bench.problem(STARTS, {"tests/conftest.py": CONFTEST + hook})
    return (await bench.evaluate(problem, main)).results


FORKS_AND_KILLS = """
import os
import signal
import time

while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except OSError:
        break
os.kill(os.getppid(), signal.SIGKILL)
"""


@case(BrokenKind.OUT_OF_PIDS, Fault.SUBMISSION, "limit of processes", "test_first")
async def grader_killed_without_processes(bench: Bench) -> CorrectnessResults:
    """The submission uses up all processes, then kills the grader."""
    return (await bench.evaluate(STARTS, FORKS_AND_KILLS)).results


@case(BrokenKind.GRADER_KILLED, Fault.SUBMISSION, "SIGKILL", "test_first")
async def grader_killed(bench: Bench) -> CorrectnessResults:
    """The submission kills its parent."""
    main = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    return (await bench.evaluate(STARTS, main)).results


@case(BrokenKind.GRADER_KILLED, Fault.SUBMISSION, "SIGTERM", "test_first")
async def grader_terminated(bench: Bench) -> CorrectnessResults:
    """The submission terminates its parent."""
    main = "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\n"
    return (await bench.evaluate(STARTS, main)).results


@case(BrokenKind.GRADER_KILLED, Fault.SUBMISSION, "interrupted", "test_first")
async def grader_interrupted(bench: Bench) -> CorrectnessResults:
    """The submission interrupts its parent, as Ctrl-C would."""
    main = "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(10)\n"
    return (await bench.evaluate(STARTS, main)).results


@case(BrokenKind.TAMPERED, Fault.SUBMISSION, "a link leads a test", "test_first")
async def link_into_the_tests(bench: Bench) -> CorrectnessResults:
    """A test tells where it is, and the submission answers with a link to what it expects."""
    main = "import os, sys\nos.symlink(sys.argv[1], 'out.txt')\n"
    tests = FIRST + (
        "def test_output(start):\n"
        "    start(__file__)\n"
        "    assert open('out.txt').read() == open(__file__).read()\n"
    )
    return (await bench.evaluate(tests, main)).results


@case(BrokenKind.TAMPERED, Fault.SUBMISSION, "only without the submission")
async def suite_that_changes(bench: Bench) -> CorrectnessResults:
    """With the submission, other tests are there than without it."""
    tests = (
        "import os, pytest\n\n"
        "@pytest.mark.parametrize('name', [n for n in os.listdir() if n.endswith('.py')] or ['none'])\n"
        "def test_name(name):\n    pass\n"
    )
    return (await bench.evaluate(tests)).results


@case(BrokenKind.SUBMISSION_REFUSED, Fault.SUBMISSION, "pipe")
async def submission_with_a_pipe(bench: Bench) -> CorrectnessResults:
    """A pipe would wait for ever."""
    submission = bench.submission()
    os.mkfifo(submission / "pipe")
    return (await bench.evaluate(GREETS, submission)).results


@case(BrokenKind.SUBMISSION_REFUSED, Fault.SUBMISSION, "listening")
async def submission_with_a_socket(bench: Bench) -> CorrectnessResults:
    """A socket is of no use to anybody else."""
    submission = bench.submission()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(submission / "listening"))
        return (await bench.evaluate(GREETS, submission)).results


@case(BrokenKind.SUBMISSION_REFUSED, Fault.SUBMISSION, "more than 50000 files")
async def submission_of_many_files(bench: Bench) -> CorrectnessResults:
    """So many names are no submission."""
    submission = bench.submission()
    (submission / "many").mkdir()
    for number in range(50_001):
        os.mknod(submission / "many" / str(number))
    return (await bench.evaluate(GREETS, submission)).results


@case(BrokenKind.SUBMISSION_REFUSED, Fault.SUBMISSION, "larger than its disk limit (at huge)")
async def submission_that_is_huge(bench: Bench) -> CorrectnessResults:
    """Also where the file takes no room on the disk."""
    submission = bench.submission()
    with (submission / "huge").open("wb") as file:
        file.truncate(5 << 30)
    return (await bench.evaluate(GREETS, submission)).results


@case(BrokenKind.SUBMISSION_REFUSED, Fault.SUBMISSION, "cannot be read")
async def submission_that_cannot_be_read(bench: Bench) -> CorrectnessResults:
    """What is no folder, or is gone since the manifest was checked, cannot be copied."""
    return (await bench.evaluate(GREETS, bench.folder / "gone")).results


# The problem's


@case(BrokenKind.COLLECTION_ERROR, Fault.PROBLEM, "no_such_module")
async def suite_that_does_not_import(bench: Bench) -> CorrectnessResults:
    """A test module imports what is not there."""
    return (await bench.evaluate(FIRST + "import no_such_module\n")).results


@case(BrokenKind.NO_TESTS, Fault.PROBLEM, "no tests")
async def no_tests(bench: Bench) -> CorrectnessResults:
    """A test module has no tests in it."""
    return (await bench.evaluate("def helper():\n    pass\n")).results


@case(BrokenKind.USAGE_ERROR, Fault.PROBLEM, "conftest")
async def conftest_that_does_not_import(bench: Bench) -> CorrectnessResults:
    """The conftest of a problem raises."""
    problem = bench.problem(FIRST, {"tests/conftest.py": "raise ValueError('conftest')\n"})
    return (await bench.evaluate(problem)).results


@case(BrokenKind.INTERNAL_ERROR, Fault.PROBLEM, "internal error")
async def hook_that_raises(bench: Bench) -> CorrectnessResults:
    """A hook of the problem raises before pytest collects."""
    hook = CONFTEST + "\n\ndef pytest_configure():\n    raise ValueError('hook')\n"
    return (await bench.evaluate(bench.problem(FIRST, {"tests/conftest.py": hook}))).results


SPOILS_REPORTS = """
from pathlib import Path

def pytest_addoption(parser):
    parser.addoption("--entrypoint")
    parser.addoption("--checkpoint")

def pytest_unconfigure(config):
    for report in Path(config.option.json_report_file).parent.iterdir():
        report.%s
"""


@case(BrokenKind.REPORT_MISSING, Fault.INFRASTRUCTURE, "missing", "test_first")
async def reports_removed(bench: Bench) -> CorrectnessResults:
    """Nothing is left of the reports after pytest has ended well."""
    problem = bench.problem(FIRST, {"tests/conftest.py": SPOILS_REPORTS % "unlink()"})
    return (await bench.evaluate(problem)).results


@case(BrokenKind.REPORT_INVALID, Fault.INFRASTRUCTURE, "truncated", "test_first")
async def reports_cut_off(bench: Bench) -> CorrectnessResults:
    """Both reports end in the middle."""
    problem = bench.problem(FIRST, {"tests/conftest.py": SPOILS_REPORTS % "write_text('{\"tests\": [')"})
    return (await bench.evaluate(problem)).results


# The daemon's


@case(BrokenKind.DAEMON_ERROR, Fault.INFRASTRUCTURE, "last word", "test_first")
async def container_removed_by_somebody(bench: Bench) -> CorrectnessResults:
    """Somebody removes the container while tests run in it."""
    running = anyio.Event()
    found: list[CorrectnessResults] = []
    tests = FIRST + "import time\n\ndef test_hangs():\n    time.sleep(1000)\n"

    async def evaluate(alone: Bench) -> None:
        evaluated = await alone.evaluate(
            tests, on_progress=lambda progress: running.set() if progress.tests_done else None
        )
        found.append(evaluated.results)

    run_id = f"removed-{os.getpid()}"
    async with open_sandbox("docker", run_id) as sandbox, anyio.create_task_group() as group:
        folder = bench.folder / "removed"
        group.start_soon(evaluate, Bench(Workshop.of(sandbox), bench.environment.image, folder))
        await running.wait()
        await remove_containers(run_id)
    return found[0]


async def remove_containers(run_id: str) -> None:
    """Remove all containers of a run."""
    await anyio.run_process(["docker", "rm", "--force", *await containers(run_id)])


# How they are run


async def run_all(image: str, folder: Path, at_once: int = 4) -> dict[str, CorrectnessResults]:
    """Run all cases, so many at once, and an honest evaluation beside each group of them."""
    found: dict[str, CorrectnessResults] = {}
    limiter = anyio.CapacityLimiter(at_once)
    async with open_sandbox("docker") as sandbox, anyio.create_task_group() as group:
        bench = Bench(Workshop.of(sandbox), image, folder)
        honest = bench.problem(FIRST + GREETS)

        async def honest_one(bench: Bench) -> CorrectnessResults:
            return (await bench.evaluate(honest)).results

        async def run(name: str, evaluate: Evaluate) -> None:
            async with limiter:
                found[name] = await evaluate(bench)

        for number, (name, one) in enumerate(CASES.items()):
            group.start_soon(run, name, one.evaluate)
            if number % at_once == 0:
                group.start_soon(run, f"honest {number}", honest_one)
    return found


@pytest.fixture(scope="module")
def outcomes(
    image: str, image_without_python: str, shared_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, CorrectnessResults]]:
    """The results of all cases, by name."""
    folder = tmp_path_factory.mktemp("broken")
    write_files(folder, {"empty": image_without_python})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        yield anyio.run(run_all, image, folder)


@pytest.mark.parametrize("name", CASES)
def test_broken_with_kind_and_fault(name: str, outcomes: dict[str, CorrectnessResults]) -> None:
    """A case has its kind and its fault, says what happened, and keeps the tests that had finished."""
    results, expected = outcomes[name], CASES[name].expected
    broken = results.broken
    assert broken is not None, (statuses(results), results.integrity)
    assert (broken.kind, broken.fault) == (expected.kind, expected.fault), broken.detail
    assert expected.detail in broken.detail
    assert {test.id for test in results.tests} >= set(expected.finished)


def test_neighbours_do_not_notice(outcomes: dict[str, CorrectnessResults]) -> None:
    """Honest evaluations that ran beside all this passed."""
    honest = {name: results for name, results in outcomes.items() if name.startswith("honest")}
    assert honest
    for results in honest.values():
        assert results.broken is None
        assert statuses(results) == {"test_first": "passed", "test_greets": "passed"}


async def test_seal_that_does_not_hold(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a child of the grader can read what only the grader may, nothing is judged."""
    sealing, broken_seal = (
        "os.setresgid(gid, gid, grader_gid)",
        "os.setresgid(grader_gid, grader_gid, grader_gid)",
    )
    monkeypatch.setattr(wire, "bundle", lambda: bundle_with(sealing, broken_seal))
    results = (await bench.evaluate(FIRST)).results
    broken = broken_as(results, BrokenKind.SEAL_FAILED, Fault.INFRASTRUCTURE)
    assert "a child can open what only the grader may" in broken.detail
    assert results.tests == ()


BUNDLE = wire.bundle()


def bundle_with(old: str, new: str) -> bytes:
    """Return the launcher's modules with a piece of text replaced."""
    data = BUNDLE
    sources = zlib.decompress(data[4:]).decode()
    assert json.dumps(old)[1:-1] in sources
    changed_data = zlib.compress(sources.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]).encode())
    return struct.pack(">I", len(changed_data)) + changed_data


@pytest.mark.parametrize("kind", ["toolchain", "environment"])
async def test_torn_preparation_is_made_again(bench: Bench, kind: str) -> None:
    """What was cut off while it was being kept costs one attempt, and is whole at the next."""
    # Contents of its own, so that nobody else uses what is torn here.
    environment = setup(bench, f"echo {bench.run_id}")
    dependencies = [f"iniconfig!={os.getpid()}"] if kind == "toolchain" else []
    problem = bench.problem(GREETS, test_dependencies=dependencies)
    assert (await bench.evaluate(problem, environment=environment)).results.broken is None
    [torn] = [name for name in await volumes(bench.run_id) if kind in name]
    image = bench.environment.image
    remove = [
        "docker",
        "run",
        "--rm",
        "--volume",
        f"{torn}:/torn",
        image,
        "rm",
        "-rf",
        "/torn/.scbench",
        "/torn/tools",
    ]
    await anyio.run_process(remove)

    again = Bench(Workshop.of(bench.workshop.sandbox), image, bench.folder / "again")
    results = (await again.evaluate(problem, environment=environment)).results
    broken_as(results, BrokenKind.DAEMON_ERROR, Fault.INFRASTRUCTURE)
    results = (await again.evaluate(problem, environment=environment)).results
    assert results.broken is None, results.broken
    await remove_volumes(bench.run_id)
