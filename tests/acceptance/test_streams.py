"""Where results go: full, read-only, slow, stuck and closed. A run ends whole or can be gone on with."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from engine.cli import main
from engine.events import EvaluationFinished, decode
from tests.acceptance.command import PROGRAM, environment, scbench
from tests.acceptance.fake_sandbox import FakeSandbox, install
from tests.docker.tiny import HELLO, read_lines, until, write_batch

pytestmark = pytest.mark.slow

SLOW = "import time\ntime.sleep(1)\nprint('hello')\n"
LOCAL = {"image": "none", "sandbox": "local"}
SMALL_PIPE = 4096


def write(folder: Path, count: int, main: str = HELLO, **settings: object) -> Path:
    """Write a manifest for some submissions, for the local sandbox."""
    submissions = {f"m{number}": f"{main}# {number}\n" for number in range(count)}
    return write_batch(folder, "none", submissions, environment=LOCAL, **settings)


def verdicts(run: Path) -> dict[str, str]:
    """Return the verdict of each submission, of which each has one line."""
    return {name: line.verdict for name, line in read_lines(run / "results.jsonl").items()}


def passed(count: int) -> dict[str, str]:
    """Return the verdicts of so many that pass."""
    return {f"m{number}": "passed" for number in range(count)}


def finished(run: Path) -> int:
    """Return how many evaluations have an outcome in the journal."""
    lines = (run / "events.jsonl").read_bytes().splitlines()
    return sum(isinstance(decode(line), EvaluationFinished) for line in lines)


def with_patience(condition: Callable[[], bool]) -> None:
    """Wait for a condition, or fail."""

    async def holds() -> bool:
        return await anyio.to_thread.run_sync(condition)

    anyio.run(until, holds, 60.0)


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return the command in this process, with a sandbox that answers at once."""
    install(FakeSandbox(), monkeypatch)

    def run(*arguments: str | Path) -> int:
        monkeypatch.setattr(sys, "argv", ["scbench", "run", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return run


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a small filesystem onto a folder."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_disk_is_full(
    tmp_path: Path, run_here: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """A full disk stops the run with a clear word; with more room it is gone on with, and nothing is lost."""
    manifest = write(tmp_path, 40, concurrency=8)
    with mounted(tmp_path / "out", "size=512k"):
        arguments = (manifest, "--output", tmp_path / "out")
        assert run_here(*arguments, "--run-id", "full") == 3
        told = capfd.readouterr().err
        assert "cannot write: No space left on device" in told
        assert "--resume" in told
        assert "Traceback" not in told
        run = tmp_path / "out" / "full"
        before = finished(run)
        assert 0 < before < 40
        subprocess.run(["mount", "-o", "remount,size=64m", tmp_path / "out"], check=True)
        assert run_here(*arguments, "--resume", "last") == 0
        assert verdicts(run) == passed(40)
        assert finished(run) == 40
        assert list(run.rglob("*.partial")) == []


@pytest.mark.parametrize("options", ["size=4k", "size=1m,ro"], ids=["full", "read-only"])
def test_output_cannot_be_written_at_all(tmp_path: Path, options: str) -> None:
    """Where nothing can be written, nothing runs, and the command says where and why."""
    manifest = write(tmp_path, 2)
    with mounted(tmp_path / "out", options):
        if "ro" not in options:
            (tmp_path / "out" / "filler").write_bytes(b"x" * 4096)
        done = scbench("run", manifest, "--output", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 3
    assert f"{tmp_path}/out" in done.stderr
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr


def test_reader_goes_away(tmp_path: Path) -> None:
    """With `| head -1` the run drains, says that it did not end, and can be gone on with."""
    manifest = write(tmp_path, 6)
    command = f"{PROGRAM} run {manifest} --run-id piped --jsonl - | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert json.loads(done.stdout)["verdict"] == "passed"
    assert "--resume piped" in done.stderr
    run = tmp_path / "runs" / "piped"
    assert 0 < len(verdicts(run)) < 6
    resumed = scbench("run", manifest, "--resume", "last", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert verdicts(run) == passed(6)


class Piped:
    """A run that writes its results into a named pipe which holds only a line or two."""

    def __init__(self, folder: Path, count: int) -> None:
        pipe = folder / "pipe"
        os.mkfifo(pipe)
        self.run = folder / "runs" / "piped"
        manifest = write(folder, count, concurrency=2)
        self.process = subprocess.Popen(
            [PROGRAM, "run", manifest, "--run-id", "piped", "--jsonl", pipe],
            env=environment(),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reader = os.open(pipe, os.O_RDONLY)
        fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, SMALL_PIPE)

    def end(self) -> tuple[int, str]:
        """Wait for its end; return exit code and what it said."""
        _, told = self.process.communicate(timeout=60)
        os.close(self.reader)
        return self.process.returncode, told

    def is_stuck(self) -> bool:
        """Tell whether a line is in the pipe and the next one cannot follow."""
        waiting = bytearray(4)
        fcntl.ioctl(self.reader, termios.FIONREAD, waiting)
        return int.from_bytes(waiting, sys.byteorder) > 0 and finished(self.run) >= 2


def test_slow_reader_gets_everything(tmp_path: Path) -> None:
    """A reader that takes little at a time slows the run and misses nothing."""
    piped = Piped(tmp_path, 8)
    with_patience(piped.is_stuck)
    received = b""
    while data := os.read(piped.reader, 100):
        received += data
    code, told = piped.end()
    assert code == 0, told
    assert {json.loads(line)["labels"]["model"] for line in received.splitlines()} == set(passed(8))
    assert verdicts(piped.run) == passed(8)


def test_stuck_reader_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """A reader that takes nothing any more is left behind by the second signal; the results are kept."""
    piped = Piped(tmp_path, 12)
    with_patience(piped.is_stuck)
    piped.process.send_signal(signal.SIGINT)
    piped.process.send_signal(signal.SIGTERM)
    code, told = piped.end()
    assert code in (130, 143), told
    assert "Traceback" not in told
    assert finished(piped.run) == len(verdicts(piped.run)) > 0


@pytest.mark.parametrize("source", ["pipe without a reader", "idle producer"])
def test_a_wait_that_has_no_end_is_ended(tmp_path: Path, source: str) -> None:
    """One signal is enough while a pipe has no reader, or a producer says nothing."""
    manifest = write(tmp_path, 1)
    os.mkfifo(tmp_path / "pipe")
    arguments: tuple[str | Path, ...] = (manifest, "--jsonl", tmp_path / "pipe")
    line = b""
    if source == "idle producer":
        document = json.loads(manifest.read_text())
        line = json.dumps(document.pop("evaluations")[0]).encode() + b"\n"
        manifest.write_text(json.dumps(document))
        arguments = ("-", "--base", manifest)
    command = [PROGRAM, "run", *arguments, "--run-id", "waits", "--verbose"]
    with subprocess.Popen(
        command, env=environment(), cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(line)
        process.stdin.flush()
        for said in process.stderr:
            if b"run waits" in said:
                break
        run = tmp_path / "runs" / "waits"
        with_patience(lambda: (run / "events.jsonl").exists() and finished(run) == len(line[:1]))
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(30) == 130
        # Nothing was started after the signal.
        assert finished(run) == len(line[:1])


def test_terminal_is_closed(tmp_path: Path) -> None:
    """A terminal that goes away takes no result with it: what ran is finished and kept."""
    manifest = write(tmp_path, 3, SLOW)
    terminal, own = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", PROGRAM, "run", manifest, "--run-id", "closed"],
        env=environment(),
        cwd=tmp_path,
        stdin=own,
        stdout=own,
        stderr=own,
    )
    os.close(own)
    run = tmp_path / "runs" / "closed"
    journal = run / "events.jsonl"
    with_patience(lambda: journal.exists() and b"evaluation_started" in journal.read_bytes())
    os.close(terminal)
    assert process.wait(60) == 129
    assert verdicts(run) == passed(1)
    assert json.loads((run / "summary.json").read_text())["ending"] == "drained"
    assert (run / "report.html").exists()
