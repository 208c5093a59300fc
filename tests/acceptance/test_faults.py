"""A daemon in trouble, signals and deadlines: time is lost, verdicts and containers are not."""

import json
import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from engine import Batch, BatchOptions, throttle
from engine.batch import Summary
from engine.evaluation import Evaluation
from engine.manifest import load_manifests
from engine.sandbox import Progress
from tests.acceptance.command import scbench, start
from tests.acceptance.daemon_proxy import DaemonProxy, daemon_proxy
from tests.docker.tiny import HELLO, read_lines, until, write_batch

pytestmark = [pytest.mark.docker, pytest.mark.slow]

# Long enough to be met in the middle of it.
SLOW = "import time\ntime.sleep(2)\nprint('hello')\n"
HANGS = "import time\ntime.sleep(1000)\n"


@pytest.fixture
def anyio_backend() -> str:
    """aiodocker needs asyncio."""
    return "asyncio"


@pytest.fixture
def run_id() -> Iterator[str]:
    """The id of a run that must have no container when the test is over."""
    made = f"test-{secrets.token_hex(6)}"
    yield made
    assert listed("ps", "--all", "--quiet", run_id=made) == []


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[DaemonProxy]:
    """A daemon that may get into trouble, and an engine that looks more often than usual."""
    monkeypatch.setattr(throttle, "EVERY", 0.2)
    monkeypatch.setattr(throttle, "PATIENCE", 0.5)
    with daemon_proxy() as made:
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made
        monkeypatch.delenv("DOCKER_HOST")


def listed(*command: str, run_id: str) -> list[str]:
    """Return what the real daemon lists of a run."""
    environment = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    filters = ("--filter", f"label=scbench.run={run_id}")
    done = subprocess.run(
        ["docker", *command, *filters], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.split()


def remove_all(run_id: str) -> None:
    """End the containers of a run as a daemon without live-restore does when it starts again."""
    if found := listed("ps", "--all", "--quiet", run_id=run_id):
        environment = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
        command = ["docker", "rm", "--force", *found]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)


class Story:
    """A batch of which the n-th moment can be waited for, and its events."""

    def __init__(self, manifest: Path, run_id: str) -> None:
        self.batch = Batch(load_manifests([manifest]), BatchOptions(run_id=run_id), on_progress=self._glimpse)
        self.summary: Summary | None = None
        self._in_the_middle = anyio.Event()

    def _glimpse(self, _evaluation: Evaluation, progress: Progress) -> None:
        if progress.tests_done == 1:
            self._in_the_middle.set()

    async def run_with(self, trouble: Callable[[], Awaitable[None]]) -> Summary:
        """Run everything; trouble comes when the first evaluation is in the middle of its tests."""
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(self._run)
                await self._in_the_middle.wait()
                await trouble()
        assert self.summary is not None
        return self.summary

    async def _run(self) -> None:
        self.summary = await self.batch.run()

    def events(self, name: str) -> list[dict[str, object]]:
        """Return the events of one kind so far."""
        lines = map(json.loads, self.batch.directory.journal.read_text().splitlines())
        return [line for line in lines if line["event"] == name]

    async def paused(self) -> bool:
        """Tell whether starting has stopped."""
        return any(event["concurrency"] == 0 for event in self.events("admission_changed"))


@pytest.fixture
def story(image: str, tmp_path: Path, run_id: str, proxy: DaemonProxy) -> Story:
    """Six evaluations, three at once."""
    submissions = {f"m{number}": f"{SLOW}# {number}\n" for number in range(5)} | {"wrong": "print('no')\n"}
    return Story(write_batch(tmp_path, image, submissions, concurrency=3), run_id)


def check(story: Story, summary: Summary) -> None:
    """Check that every evaluation has the verdict that it deserves, and that no attempt was counted."""
    lines = read_lines(story.batch.directory.results)
    assert {name: line.verdict for name, line in lines.items()} == {
        **{f"m{number}": "passed" for number in range(5)},
        "wrong": "failed",
    }
    assert (summary.ending, summary.exit_code) == ("completed", 0)
    assert [event for event in story.events("evaluation_retried") if event["counted"]] == []


@pytest.mark.parametrize("live_restore", [False, True], ids=["killed", "live-restore"])
async def test_daemon_is_killed_and_started_again(
    story: Story, proxy: DaemonProxy, run_id: str, live_restore: bool
) -> None:
    """What ran while the daemon went away runs again, and what its containers left is removed."""

    async def trouble() -> None:
        proxy.refuse()
        proxy.drop(live_restore=live_restore)
        if not live_restore:
            await anyio.to_thread.run_sync(remove_all, run_id)
        await until(story.paused)
        proxy.accept()

    summary = await story.run_with(trouble)
    check(story, summary)
    assert story.events("evaluation_retried")


async def test_daemon_hangs(story: Story, proxy: DaemonProxy) -> None:
    """While the daemon says nothing, nothing starts; then all goes on where it was."""

    async def trouble() -> None:
        proxy.hang()
        await until(story.paused)
        started = len(story.events("evaluation_started"))
        proxy.go_on()
        assert started <= 3

    summary = await story.run_with(trouble)
    check(story, summary)


async def test_daemon_refuses(story: Story, proxy: DaemonProxy) -> None:
    """A daemon that takes no new connections for a while costs no attempt."""

    async def trouble() -> None:
        proxy.refuse()
        await until(story.paused, 20.0)
        proxy.accept()

    summary = await story.run_with(trouble)
    check(story, summary)


def test_no_daemon(image: str, tmp_path: Path) -> None:
    """Without a daemon the command says so, with advice, and exits with 3."""
    manifest = write_batch(tmp_path, image, {"a": HELLO})
    done = scbench("run", manifest, cwd=tmp_path, DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert done.returncode == 3
    assert "no Docker daemon answers" in done.stderr
    assert "--sandbox local" in done.stderr


class Command:
    """`scbench run` in a process of its own, whose lines can be waited for."""

    def __init__(self, manifest: Path, run_id: str) -> None:
        self.folder = manifest.parent / "runs" / run_id
        self.said = ""
        self._process = start("run", manifest, "--run-id", run_id, "--verbose", cwd=manifest.parent)

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def read_until(self, words: str) -> None:
        """Read what it says until these words come."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said += line
            if words in line:
                return
        raise AssertionError(f"{words!r} was not said:\n{self.said}")

    def end(self) -> int:
        """Read the rest and return the exit code."""
        rest, _ = self._process.communicate(timeout=60)
        self.said += rest
        return self._process.returncode


def run_to_the_middle(tmp_path: Path, image: str, run_id: str, main: str) -> Command:
    """Start two evaluations, one at a time, of which the first hangs or is slow."""
    manifest = write_batch(tmp_path, image, {"a": main, "b": HELLO}, timeouts={"test": "60s"})
    command = Command(manifest, run_id)
    command.read_until("started")
    with_patience(lambda: running(run_id))
    return command


def running(run_id: str) -> bool:
    """Tell whether a submission of this run is at work."""
    for container in listed("ps", "--quiet", run_id=run_id):
        done = subprocess.run(["docker", "top", container], capture_output=True, text=True, check=False)
        if "main.py" in done.stdout:
            return True
    return False


def with_patience(condition: Callable[[], bool]) -> None:
    """Wait for a condition, or fail."""

    async def holds() -> bool:
        return await anyio.to_thread.run_sync(condition)

    anyio.run(until, holds, 60.0)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_first_signal_drains(tmp_path: Path, image: str, run_id: str, number: int, code: int) -> None:
    """The first signal lets what runs finish, starts nothing more, says so, and the rest can be resumed."""
    command = run_to_the_middle(tmp_path, image, run_id, SLOW)
    command.signal(number)
    assert command.end() == code, command.said
    assert "stopping 1 still running; a second signal ends them now" in command.said
    assert f"--resume {run_id}" in command.said
    assert {name: line.verdict for name, line in read_lines(command.folder / "results.jsonl").items()} == {
        "a": "passed"
    }
    assert json.loads((command.folder / "summary.json").read_text())["exit_code"] == code
    resume(tmp_path, run_id)


def resume(folder: Path, run_id: str, submissions: str = "ab") -> None:
    """Go on with a run, which then has one result for each evaluation."""
    done = scbench("run", "manifest.json", "--resume", run_id, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = read_lines(folder / "runs" / run_id / "results.jsonl")
    assert {name: line.verdict for name, line in lines.items()} == dict.fromkeys(submissions, "passed")


def test_second_signal_kills(tmp_path: Path, image: str, run_id: str) -> None:
    """The second signal ends what runs, which is told as interrupted and runs when the run is resumed."""
    command = run_to_the_middle(tmp_path, image, run_id, HANGS)
    command.signal(signal.SIGINT)
    command.read_until("stopping")
    command.signal(signal.SIGINT)
    assert command.end() == 130, command.said
    line = read_lines(command.folder / "results.jsonl")["a"]
    assert line.broken is not None
    assert line.broken.kind == "interrupted"
    (tmp_path / "samples" / "a" / "main.py").write_text(HELLO)
    resume(tmp_path, run_id)
    [result] = [
        line
        for line in map(json.loads, (command.folder / "results.jsonl").read_text().splitlines())
        if line["labels"]["model"] == "a"
    ]
    assert (result["attempt"], result["attempts"], result["supersedes"]) == (2, 2, 1)


async def test_batch_deadline(tmp_path: Path, image: str, run_id: str) -> None:
    """When the time is up, what is missing is told as such, the exit code is 124, and it can be resumed."""
    manifest = write_batch(tmp_path, image, {"a": SLOW, "b": HELLO}, timeouts={"batch": "1s"})
    summary = await Batch(load_manifests([manifest]), BatchOptions(run_id=run_id)).run()
    assert (summary.ending, summary.exit_code) == ("deadline", 124)
    lines = read_lines(Path(summary.path) / "results.jsonl")
    assert lines["b"].broken is not None
    assert lines["b"].broken.kind == "batch_timeout"
    write_batch(tmp_path, image, {"a": SLOW, "b": HELLO})
    await anyio.to_thread.run_sync(resume, tmp_path, run_id)
