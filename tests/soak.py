"""A long run that is killed again and again: in the end there is one correct result for each evaluation.

    python -m tests.soak --evaluations 500 --kills 50
    python -m tests.soak --restarts 3 --restart-command "systemctl restart docker"

The engine is killed with SIGKILL at random moments and resumed. The daemon is restarted only where the
command for that is given: everything else that runs on it notices.
"""

import argparse
import contextlib
import json
import os
import random
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from tests.docker.tiny import decode_lines, write_batch

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).parent / "scbench"
# By what a submission does: its main.py and the verdict that it deserves.
KINDS = (
    ("print('hello')\n", "passed"),
    ("import time\ntime.sleep(0.5)\nprint('hello')\n", "passed"),
    ("print('goodbye')\n", "failed"),
    ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n", "broken"),
)
# Seconds after which a run that makes no progress is given up.
PATIENCE = 300.0


class Soak(msgspec.Struct, frozen=True, kw_only=True):
    """How much is run, and how often it is disturbed."""

    evaluations: int
    kills: int
    restarts: int = 0
    restart_command: str = ""
    seed: int = 0
    concurrency: int = 4


class Tally(msgspec.Struct, kw_only=True):
    """What has happened."""

    sessions: int = 0
    kills: int = 0
    restarts: int = 0
    seconds: float = 0.0


class Rehearsal:
    """One soak in one folder."""

    def __init__(self, soak: Soak, folder: Path, image: str) -> None:
        self.soak = soak
        self.folder = folder
        self.run_id = f"soak-{secrets.token_hex(6)}"
        self.tally = Tally()
        self._random = random.Random(soak.seed)
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        kinds = [KINDS[number % len(KINDS)] for number in range(soak.evaluations)]
        self.expected = {f"m{number}": verdict for number, (_, verdict) in enumerate(kinds)}
        write_batch(
            folder,
            image,
            {f"m{number}": f"{main}# {number}\n" for number, (main, _) in enumerate(kinds)},
            # A command that no other run has, so that it is killed while preparing, too.
            environment={"image": image, "setup": [{"run": f"echo {self.run_id}", "inputs": []}]},
            concurrency=soak.concurrency,
        )

    def run(self) -> Tally:
        """Run, disturb and resume until everything is done; then check what is there."""
        began = time.monotonic()
        process = self._start()
        try:
            for target, disturbance in self._disturbances():
                self._wait_for(process, target)
                if disturbance == "restart":
                    subprocess.run(shlex.split(self.soak.restart_command), check=True)
                    self.tally.restarts += 1
                else:
                    process.kill()
                    self.tally.kills += process.wait() == -signal.SIGKILL
                    process = self._start()
            code = process.wait(self.soak.evaluations * 10 + PATIENCE)
        finally:
            process.kill()
            process.wait()
        assert code == 3, f"exit code {code}, not 3, though some are broken; see {self._said}"
        self.tally.seconds = time.monotonic() - began
        self._check()
        return self.tally

    def _disturbances(self) -> list[tuple[int, str]]:
        """Choose after how many results each of them comes, with enough left to be disturbed."""
        wanted = ["kill"] * self.soak.kills + ["restart"] * self.soak.restarts
        self._random.shuffle(wanted)
        after = sorted(self._random.randrange(self.soak.evaluations * 3 // 5) for _ in wanted)
        return list(zip(after, wanted, strict=True))

    @property
    def _run(self) -> Path:
        return self.folder / "runs" / self.run_id

    @property
    def _said(self) -> Path:
        return self.folder / "said.txt"

    def _start(self) -> subprocess.Popen[bytes]:
        known = ("--resume", self.run_id) if self._run.exists() else ("--run-id", self.run_id)
        self.tally.sessions += 1
        with self._said.open("ab") as said:
            return subprocess.Popen(
                [PROGRAM, "run", self.folder / "manifest.json", *known],
                cwd=self.folder,
                env=os.environ | {"TMPDIR": str(self._temporary)},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def _wait_for(self, process: subprocess.Popen[bytes], results: int) -> None:
        """Wait until there are so many results, and then for a random moment."""
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and self._finished() < results:
            assert time.monotonic() < deadline, f"nothing happens any more; see {self._said}"
            _wait(process, 0.05)
        _wait(process, self._random.uniform(0.0, 1.5))

    def _finished(self) -> int:
        try:
            return (self._run / "events.jsonl").read_bytes().count(b'"event":"evaluation_finished"')
        except FileNotFoundError:
            return 0

    def _check(self) -> None:
        lines = decode_lines((self._run / "results.jsonl").read_bytes())
        assert len(lines) == len({line.id for line in lines}) == self.soak.evaluations
        assert {line.labels["model"]: line.verdict for line in lines} == self.expected
        for line in lines:
            told = json.loads((self._run / "evaluations" / line.id / "evaluation.json").read_bytes())
            assert told["verdict"] == line.verdict
        assert len(list((self._run / "evaluations").iterdir())) == self.soak.evaluations
        assert list(self._run.rglob("*.partial")) == []
        assert list(self._temporary.iterdir()) == []
        assert self._listed("ps", "--all", "--quiet") == []
        # Only what later runs would use: a toolchain, an environment without set-up, and this run's own.
        volumes = self._listed("volume", "ls", "--quiet")
        assert len(volumes) <= 3, volumes
        for volume in volumes:
            if volume.startswith("scbench-environment-"):
                # Others may be using the one without set-up by now.
                subprocess.run(["docker", "volume", "rm", volume], check=False, capture_output=True)

    def _listed(self, *command: str) -> list[str]:
        filters = ("--filter", f"label=scbench.run={self.run_id}")
        done = subprocess.run(["docker", *command, *filters], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.split()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def rehearse(soak: Soak, folder: Path, image: str) -> Tally:
    """Run a soak in a folder, which must be empty."""
    return Rehearsal(soak, folder, image).run()


def main() -> None:
    """Run a soak as the arguments say."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--evaluations", type=int, default=500)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--restarts", type=int, default=0, help="of the daemon; needs --restart-command")
    parser.add_argument("--restart-command", default="", help="how the daemon is restarted")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--concurrency", type=int, default=4)
    soak = msgspec.convert(vars(parser.parse_args()), Soak)
    if soak.restarts and not soak.restart_command:
        parser.error("--restarts needs --restart-command, as everything on the daemon notices")
    told = subprocess.run([ROOT / ".ci" / "test-image"], check=True, stdout=subprocess.PIPE, text=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    os.environ |= {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
    print(f"soak: seed {soak.seed}, in {folder}", flush=True)
    tally = rehearse(soak, folder, told.stdout.strip())
    print(
        f"soak: {soak.evaluations} correct results in {tally.seconds:.0f} s, {tally.sessions} sessions, "
        f"{tally.kills} of {soak.kills} kills while it ran, {tally.restarts} restarts of the daemon"
    )
    # What failed is kept to be looked at.
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
