"""An evaluation that is cancelled leaves nothing, wherever it was."""

import os
import secrets
import tempfile
from collections.abc import Callable, Coroutine, Generator, Iterable
from pathlib import Path
from types import coroutine
from typing import Any, TypeVar, get_args

import anyio
import msgspec
import pytest

from engine.environment import SandboxName, SetupCommand
from engine.problem import ProblemConfig
from engine.runner import Workshop
from engine.sandbox.choice import open_sandbox
from tests.docker.tiny import FIRST, GREETS, Bench, containers, remove_volumes, until, volumes

pytestmark = [pytest.mark.docker, pytest.mark.slow]

# All of them at will: SCBENCH_CANCEL_AT=1000000.
POINTS = int(os.environ.get("SCBENCH_CANCEL_AT", "16"))
AT_ONCE = 3
Result = TypeVar("Result")


@coroutine
def stepping(task: Coroutine[Any, Any, Result], on_step: Callable[[], None]) -> Generator[Any, Any, Result]:
    """Await a coroutine, and call a function whenever it is about to wait for something."""
    steps = task.__await__()
    value: object = None
    error: BaseException | None = None
    while True:
        try:
            waiting = steps.send(value) if error is None else steps.throw(error)
        except StopIteration as end:
            result: Result = end.value
            return result
        on_step()
        value = error = None
        try:
            value = yield waiting
        except BaseException as raised:  # noqa: BLE001 - handed on to the coroutine at once
            error = raised


class Trial:
    """One evaluation in a sandbox of its own, cancelled at its n-th step, or never."""

    def __init__(self, image: str, folder: Path, sandbox: SandboxName) -> None:
        self.run_id = f"test-{secrets.token_hex(8)}"
        self.image = image
        self.folder = folder / self.run_id
        self.sandbox = sandbox
        self.steps = 0
        self.finished = False

    async def run(
        self, problem: ProblemConfig, submission: Path, *, setup: bool, at: int | None = None
    ) -> None:
        """Evaluate until the step is reached."""
        async with open_sandbox(self.sandbox, self.run_id) as opened:
            bench = Bench(Workshop.of(opened), self.image, self.folder, self.sandbox)
            commands = (SetupCommand(run=f"echo {self.run_id}", inputs=()),) if setup else ()
            environment = msgspec.structs.replace(bench.environment, setup=commands)
            with anyio.CancelScope() as scope:

                def count() -> None:
                    self.steps += 1
                    if self.steps == at:
                        scope.cancel()

                runner = bench.runner(problem, submission, environment=environment)
                evaluated = await stepping(runner.evaluate(bench.workshop), count)
                self.finished = True
                assert evaluated.results.broken is None, evaluated.results.broken


def spread(total: int, wanted: int) -> Iterable[int]:
    """Choose so many of the numbers from 1 to a total, evenly, with both ends."""
    chosen = min(total, wanted)
    return sorted({1 + round(index * (total - 1) / max(1, chosen - 1)) for index in range(chosen)})


@pytest.fixture(params=get_args(SandboxName))
def sandbox_name(request: pytest.FixtureRequest) -> SandboxName:
    """Every sandbox in turn."""
    name: SandboxName = request.param
    return name


@pytest.mark.parametrize("setup", [False, True], ids=["prepared", "preparing"])
async def test_cancelled_at_any_moment(
    bench: Bench,
    sandbox_name: SandboxName,
    image: str,
    shared_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setup: bool,
) -> None:
    """Cancelling at any step leaves no container, no torn volume, no process and no file."""
    problem = bench.problem(FIRST + GREETS)
    # Too large for memory, so that it goes through a file.
    submission = bench.submission()
    (submission / "large").write_bytes(os.urandom(5 << 20))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    whole = Trial(image, tmp_path, sandbox_name)
    await whole.run(problem, submission, setup=setup)
    trials = [Trial(image, tmp_path, sandbox_name) for _ in spread(whole.steps, POINTS)]
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def try_at(trial: Trial, at: int) -> None:
        async with limiter:
            await trial.run(problem, submission, setup=setup, at=at)
            assert not trial.finished or at > trial.steps // 2
            await check_remains(trial, image)

    async with anyio.create_task_group() as group:
        for trial, at in zip(trials, spread(whole.steps, POINTS), strict=True):
            group.start_soon(try_at, trial, at)
    assert any(not trial.finished for trial in trials)
    assert list(temporary.iterdir()) == []
    assert not list((shared_cache / "scbench" / "local").glob("runs/*"))
    assert processes_below(shared_cache) == []
    await remove_volumes(whole.run_id)


async def check_remains(trial: Trial, image: str) -> None:
    """Fail if a run has left a container, or a volume that is not whole."""

    async def no_container() -> bool:
        return not await containers(trial.run_id)

    await until(no_container)
    for volume in await volumes(trial.run_id):
        look = [
            "docker",
            "run",
            "--rm",
            "--volume",
            f"{volume}:/made",
            image,
            "ls",
            "/made/.scbench/complete",
        ]
        await anyio.run_process(look)
    await remove_volumes(trial.run_id)


def processes_below(folder: Path) -> list[str]:
    """Return the processes that work in a folder or below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found


async def test_cancelled_while_set_up_hangs(
    bench: Bench, sandbox_name: SandboxName, shared_cache: Path, tmp_path: Path
) -> None:
    """Set-up that is cancelled ends at once, with everything that it has started."""
    hangs = "sleep 1001 & sleep 1002"
    environment = msgspec.structs.replace(bench.environment, setup=(SetupCommand(run=hangs, inputs=()),))
    problem, submission = bench.problem(GREETS), bench.submission()

    async def hanging() -> bool:
        return bool(processes_with("sleep", "1002"))

    async def ended() -> bool:
        return not processes_with("sleep", "1001") and not processes_with("sleep", "1002")

    await until(ended)
    async with anyio.create_task_group() as group:
        runner = bench.runner(problem, submission, environment=environment)
        group.start_soon(runner.evaluate, bench.workshop)
        await until(hanging, 60.0)
        started = anyio.current_time()
        group.cancel_scope.cancel()
    assert anyio.current_time() - started < 5.0
    await until(ended, 5.0)


def processes_with(*command: str) -> list[str]:
    """Return the processes of this machine with these arguments."""
    wanted = "\0".join(command) + "\0"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_text(errors="replace") == wanted:
                found.append(process.name)
        except OSError:
            continue
    return found
