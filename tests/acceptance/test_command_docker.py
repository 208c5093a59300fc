"""The real command in good and bad circumstances: what it says, its exit code, and what it leaves."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.environment import SandboxName
from tests.acceptance.command import scbench, started
from tests.docker.tiny import HANGS, HELLO, decode_lines, read_lines, write_batch, write_files

pytestmark = pytest.mark.docker


@pytest.fixture
def batch(image: str, tmp_path: Path) -> Callable[..., Path]:
    """Write a manifest into the current folder of the command."""
    return lambda *submissions, **settings: write_batch(
        tmp_path,
        image,
        {f"model{number}": main for number, main in enumerate(submissions)},
        **{"concurrency": len(submissions), **settings},
    )


def docker(*arguments: str) -> list[str]:
    """Return the words that a `docker` command prints."""
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.split()


def containers(run_id: str, *filters: str) -> list[str]:
    """Return the containers of a run."""
    wanted = [part for one in (f"label=scbench.run={run_id}", *filters) for part in ("--filter", one)]
    return docker("ps", "--all", "--quiet", *wanted)


def wait_until(condition: Callable[[], object], seconds: float) -> None:
    """Wait for a condition, or fail."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


# Mistakes and bad circumstances: one clear message, the right exit code, no traceback.


class Mistake:
    """How to bring about a mistake, and what is said of it."""

    def __init__(self, code: int, said: str, *arguments: str, **environment: str) -> None:
        self.code = code
        self.said = said
        self.arguments = arguments or ("run", "manifest.json")
        self.environment = environment


MISTAKES = {
    "unknown option": Mistake(2, "No such option '--frobnicate'", "run", "manifest.json", "--frobnicate"),
    "unknown command": Mistake(2, "No such command 'frobnicate'", "frobnicate"),
    "no such manifest": Mistake(2, "no such file", "run", "nowhere.yaml"),
    "bad manifest": Mistake(2, "bad.yaml:2:1", "run", "bad.yaml"),
    "problem without tests": Mistake(2, "there is no folder `tests`", "run", "bare.json"),
    "submission that does not exist": Mistake(2, "samples/nobody does not exist", "run", "nobody.json"),
    "run id that is taken": Mistake(2, "exists already", "run", "manifest.json", "--run-id", "taken"),
    "run that does not exist": Mistake(
        2, "there is no run nothing", "run", "manifest.json", "--resume", "nothing"
    ),
    "no daemon": Mistake(3, "no Docker daemon answers", DOCKER_HOST="unix:///nowhere/docker.sock"),
    "no daemon over a network": Mistake(3, "no Docker daemon answers", DOCKER_HOST="tcp://127.0.0.1:1"),
    "daemon with no address": Mistake(3, "no Docker daemon answers", DOCKER_HOST="nonsense"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_a_line(name: str, batch: Callable[..., Path], tmp_path: Path) -> None:
    """A mistake is named, with its exit code, before anything runs and without a traceback."""
    manifest = json.loads(batch(HELLO).read_text())
    write_files(tmp_path, {"bad.yaml": "version: 1\nproblms: here\n", "bare/tiny/config.yaml": BARE})
    write_files(tmp_path, {"bare.json": json.dumps(manifest | {"problems": "bare"})})
    nobody = [manifest["evaluations"][0] | {"submission": "samples/nobody"}]
    write_files(tmp_path, {"nobody.json": json.dumps(manifest | {"evaluations": nobody})})
    write_files(tmp_path, {"runs/taken/events.jsonl": ""})
    mistake = MISTAKES[name]
    done = scbench(*mistake.arguments, cwd=tmp_path, **mistake.environment)
    assert done.returncode == mistake.code, done.stderr
    assert mistake.said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


BARE = "name: tiny\nentry_file: main\ncheckpoints: {checkpoint_1: {version: 1}}\n"


@pytest.fixture
def silent_daemon(tmp_path: Path) -> Iterator[str]:
    """The address of a daemon that takes connections and never answers."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "silent"))
        listening.listen()
        yield f"unix://{tmp_path}/silent"


def test_daemon_that_never_answers(batch: Callable[..., Path], tmp_path: Path, silent_daemon: str) -> None:
    """Nobody waits for ever for a daemon that takes a connection and says nothing."""
    done = scbench("run", batch(HELLO), cwd=tmp_path, DOCKER_HOST=silent_daemon)
    assert done.returncode == 3
    assert "no Docker daemon answers" in done.stderr
    assert "Traceback" not in done.stderr


def test_image_that_is_missing(batch: Callable[..., Path], tmp_path: Path) -> None:
    """A missing image makes its evaluations broken, says which it is, and the exit code is 3."""
    manifest = batch(HELLO, environment={"image": "localhost:1/nowhere:1"}, retries={"infrastructure": 0})
    done = scbench("run", manifest, cwd=tmp_path)
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if "localhost:1/nowhere:1" in line]
    assert len(said) == 1
    assert "image_missing" in said[0]
    assert "Traceback" not in done.stderr


# Results


def test_failed_submissions_and_the_exit_code(batch: Callable[..., Path], tmp_path: Path) -> None:
    """A failed submission is a verdict: 0, or 1 for who asks for that."""
    manifest = batch(HELLO, "print('wrong')")
    assert scbench("run", manifest, "--run-id", "plain", cwd=tmp_path).returncode == 0
    assert scbench("run", manifest, "--fail-on", "failed", cwd=tmp_path).returncode == 1
    verdicts = {
        name: line.verdict for name, line in read_lines(tmp_path / "runs/plain/results.jsonl").items()
    }
    assert verdicts == {"model0": "passed", "model1": "failed"}


def test_second_run_is_answered_from_the_store(batch: Callable[..., Path], tmp_path: Path) -> None:
    """Nothing has changed, so nothing is run again, and no container is made."""
    manifest = batch(HELLO, "print('wrong')")
    first = scbench("run", manifest, "--run-id", "first", "--jsonl", "-", cwd=tmp_path)
    second = scbench("run", manifest, "--run-id", "second", "--jsonl", "-", cwd=tmp_path)
    lines = [decode_lines(done.stdout.encode()) for done in (first, second)]
    assert [[line.cached for line in run] for run in lines] == [[False, False], [True, True]]
    verdicts = [{line.id: line.verdict for line in run} for run in lines]
    assert verdicts[0] == verdicts[1]
    assert made_in("first")
    assert not made_in("second")

    write_files(tmp_path / "samples" / "model1", {"main.py": HELLO + "# better"})
    third = scbench("run", manifest, "--run-id", "third", "--jsonl", "-", cwd=tmp_path)
    changed = {line.labels["model"]: line for line in decode_lines(third.stdout.encode())}
    assert {name: (line.cached, line.verdict) for name, line in changed.items()} == {
        "model0": (True, "passed"),
        "model1": (False, "passed"),
    }


def made_in(run_id: str) -> list[str]:
    """Return what the daemon says about containers that a run has made, by now."""
    filters = ("type=container", "event=create", f"label=scbench.run={run_id}")
    wanted = [part for one in filters for part in ("--filter", one)]
    return docker("events", "--since", "10m", "--until", "0s", "--format", "{{.ID}}", *wanted)


# Ends that nobody planned


@pytest.mark.parametrize("sandbox", ["docker", "local"])
def test_killed_engine_leaves_nothing(
    batch: Callable[..., Path], tmp_path: Path, shared_cache: Path, sandbox: SandboxName
) -> None:
    """Ten seconds after `kill -9` there is no container and no process; a resumed run is complete."""
    run_id = f"killed-{os.getpid()}-{sandbox}"
    manifest = batch(HELLO, HANGS, HANGS, timeouts={"test": "10m"})
    arguments = ("run", manifest, "--run-id", run_id, "--sandbox", sandbox)
    with started(*arguments, cwd=tmp_path) as run:
        wait_until(lambda: len(hanging(shared_cache, run_id, sandbox)) == 2, 120)
        run.send_signal(signal.SIGKILL)
        run.wait()
    wait_until(lambda: not hanging(shared_cache, run_id, sandbox) and not containers(run_id), 10)

    for name in ("model1", "model2"):
        write_files(tmp_path / "samples" / name, {"main.py": HELLO})
    again = scbench("run", manifest, "--resume", run_id, "--sandbox", sandbox, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    lines = read_lines(tmp_path / "runs" / run_id / "results.jsonl")
    assert {name: line.verdict for name, line in lines.items()} == dict.fromkeys(
        ("model0", "model1", "model2"), "passed"
    )
    assert not list((shared_cache / "scbench" / "local").glob("runs/*"))


def hanging(cache: Path, run_id: str, sandbox: SandboxName) -> list[str]:
    """Return the submissions that hang: processes of this machine, or in containers of the run."""
    found = processes_below(cache) if sandbox == "local" else processes_inside(run_id)
    return [process for process in found if re.search(r"python\smain\.py", process)]


def processes_inside(run_id: str) -> list[str]:
    """Return the processes in the containers of a run, as far as these do not end meanwhile."""
    found = []
    for name in containers(run_id, "status=running"):
        command = ["docker", "top", name, "-eo", "pid,args"]
        found += subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()
    return found


def processes_below(folder: Path) -> list[str]:
    """Return the processes that work in a folder or below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


def test_killed_during_set_up(batch: Callable[..., Path], image: str, tmp_path: Path) -> None:
    """Ten seconds after `kill -9` during a set-up command its container is gone."""
    run_id = f"set-up-{os.getpid()}"
    setup = [{"run": f"echo {run_id}; sleep 1000", "inputs": []}]
    manifest = batch(HELLO, environment={"image": image, "setup": setup})
    with started("run", manifest, "--run-id", run_id, cwd=tmp_path) as run:
        wait_until(lambda: any("sleep 1000" in process for process in processes_inside(run_id)), 120)
        run.send_signal(signal.SIGKILL)
        run.wait()
    wait_until(lambda: not containers(run_id), 10)


SLOW = "import time\ntime.sleep(3)\nprint('hello')\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_first_signal_drains(
    batch: Callable[..., Path], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """After the first signal what runs is finished, nothing more is started, and the output says so."""
    run_id = f"drained-{os.getpid()}-{code}"
    manifest = batch(SLOW, HELLO, concurrency=1)
    with started("run", manifest, "--run-id", run_id, cwd=tmp_path) as run:
        wait_until(lambda: starts_submission(run_id), 120)
        run.send_signal(number)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == code, said
    assert re.search(r"second|again", said), said
    assert "Traceback" not in said
    lines = read_lines(tmp_path / "runs" / run_id / "results.jsonl")
    assert {name: line.verdict for name, line in lines.items()} == {"model0": "passed"}
    assert not containers(run_id)


def starts_submission(run_id: str) -> bool:
    """Tell whether a submission runs in a container of the run."""
    return any(re.search(r"python\smain\.py", process) for process in processes_inside(run_id))


def test_second_signal_ends_at_once(batch: Callable[..., Path], tmp_path: Path) -> None:
    """After the second signal nothing is waited for; what was lost can be resumed."""
    run_id = f"ended-{os.getpid()}"
    manifest = batch(HANGS, HELLO, concurrency=1, timeouts={"test": "10m"})
    with started("run", manifest, "--run-id", run_id, cwd=tmp_path) as run:
        wait_until(lambda: starts_submission(run_id), 120)
        run.send_signal(signal.SIGINT)
        events = tmp_path / "runs" / run_id / "events.jsonl"
        wait_until(lambda: b"draining" in events.read_bytes(), 10)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=20)
    assert run.returncode == 130, said
    assert "Traceback" not in said
    lines = read_lines(tmp_path / "runs" / run_id / "results.jsonl")
    broken = lines["model0"].broken
    assert broken is not None
    assert broken.kind == "interrupted"
    assert not containers(run_id)
