"""Make something once, to be used read-only by many: a test toolchain, or a submission's environment.

Both run as the submission's uid, with a network and without tests. What they make is kept in place or
sent to the engine as one archive, owned by root.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from . import files, frames, identity, laying, processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .job import PreparationJob

TAIL = 1 << 14
# A file may claim any size without taking room; the engine does not listen to more than this.
SENT_LIMIT = 1000 << 20

LIST_PLUGINS = """
import json, importlib.metadata as metadata
points = [point for package in metadata.distributions() for point in package.entry_points]
found = {point.name: point.value.partition(":")[0] for point in points if point.group == "pytest11"}
print(json.dumps(sorted(found.items())))
"""


class CommandFailed(Exception):
    """A command of a preparation did not succeed."""

    def __init__(self, command: str, outcome: str, output: str) -> None:
        super().__init__(command)
        self.report = {"failed": command, "outcome": outcome, "output": output}


def unkept(reason: str) -> CommandFailed:
    """Return the failure of commands that succeeded and left what cannot be kept: their own fault."""
    return CommandFailed("keep what was made", "refused", reason)


def prepare(channel: frames.Channel, job: PreparationJob) -> None:
    """Make what the job asks for; send the result and, if asked, the archive of it."""
    started = time.monotonic()
    work = Work(job)
    try:
        work.receive(channel)
        if job["kind"] == "toolchain":
            result = make_toolchain(work)
        else:
            result = make_environment(work)
        processes.kill_others()
        result["seconds"] = time.monotonic() - started
        work.finish(result)
        if job["send"]:
            work.send(channel)
    except CommandFailed as failure:
        processes.kill_others()
        channel.send_json(frames.RESULT, failure.report)
        channel.send_json(frames.END, {"nonce": job["nonce"], "exit_code": 1})
        return
    channel.send_json(frames.RESULT, result)
    channel.send_json(frames.END, {"nonce": job["nonce"], "exit_code": 0})


class Work:
    """The folders of one preparation, and how commands run in them."""

    def __init__(self, job: PreparationJob) -> None:
        self.job = job
        self.paths = job["paths"]
        self.made = self.paths[job["kind"]]
        self.deadline = time.monotonic() + job["timeout"]
        self.before: dict[str, tuple[int, ...]] = {}
        for folder in (self.paths["workspace"], self.paths["home"], self.paths["temporary"]):
            os.makedirs(folder, exist_ok=True)
            if job["isolate"]:
                os.chown(folder, job["uid"], job["gid"])

    def receive(self, channel: frames.Channel) -> None:
        """Take the files: uv and certificates for everybody, the inputs for the submission."""
        self.channel = channel
        shared = {"uv": self.paths["uv"], "certificates": self.paths["certificates"]}
        for name, stream in channel.archives():
            if name in shared:
                os.makedirs(shared[name], exist_ok=True)
                files.unpack(stream, shared[name])
            else:
                self.receive_inputs(stream)
        self.before = fingerprints(self.paths["workspace"])
        if self.job["isolate"] and self.job["kind"] == "toolchain":
            os.chown(self.paths["toolchain"], self.job["uid"], self.job["gid"])

    def receive_inputs(self, stream: files.Readable) -> None:
        """Lay out the files that set-up depends on."""
        try:
            laying.unpack_as_submission(self.job, stream, self.paths["workspace"])
        except laying.NotLaid as reason:
            while stream.read(frames.CHUNK):
                pass  # the engine is heard out, or it would wait with what it still has to send
            raise CommandFailed("lay out the files", "refused", str(reason)) from reason

    def run(self, command: list[str] | str) -> str:
        """Run a command, or a line of shell, as the submission; return its output, or raise CommandFailed."""
        shown = command if isinstance(command, str) else " ".join(command)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command] if isinstance(command, str) else command,
            cwd=self.paths["workspace"],
            env=self.job["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=self.drop,  # noqa: PLW1509 - the launcher has no threads
            start_new_session=True,
        )
        output, timed_out = self.read(process)
        if timed_out:
            raise CommandFailed(shown, "timeout", output)
        if process.returncode:
            number = process.returncode
            outcome = "exit code %d" % number if number > 0 else "killed by %s" % signal.Signals(-number).name
            raise CommandFailed(shown, outcome, output)
        return output

    def drop(self) -> None:
        """Take the submission's identity, between fork and exec."""
        processes.be_first_to_die()
        if self.job["isolate"]:
            identity.become(self.job["uid"], self.job["gid"])
        os.umask(0o022)

    def read(self, process: subprocess.Popen[bytes]) -> tuple[str, bool]:
        """Read the last part of a command's output until it ends or its time is over."""
        assert process.stdout is not None  # it was started with a pipe
        tail = b""
        os.set_blocking(process.stdout.fileno(), False)
        while process.poll() is None:
            if time.monotonic() > self.deadline:
                processes.kill_others()
                process.wait()
                return tail.decode("utf-8", "replace"), True
            tail = (tail + (process.stdout.read(frames.CHUNK) or b""))[-TAIL:]
            self.listen(0.01)
        processes.kill_others()
        tail = (tail + (process.stdout.read() or b""))[-TAIL:]
        return tail.decode("utf-8", "replace"), False

    def listen(self, seconds: float) -> None:
        """Wait a little; when the engine has gone away, leave nothing behind."""
        source = self.channel.incoming
        if select.select([source], [], [], seconds)[0] and not os.read(source, frames.CHUNK):
            processes.kill_others()
            os._exit(91)

    def finish(self, result: dict[str, object]) -> None:
        """Leave in the result what evaluations need beside it, and the mark that it is complete."""
        self.as_submission(lambda: self.write_overlay(result))

    def write_overlay(self, result: dict[str, object]) -> None:
        """Write the files that set-up made outside the environment, then the record of the whole."""
        folder = os.path.join(self.made, ".scbench")
        files.clear(folder)  # set-up may have put something there, for the engine to fall over
        os.makedirs(folder)
        if self.job["kind"] == "environment":
            after = fingerprints(self.paths["workspace"])
            unchanged = {path for path, mark in after.items() if self.before.get(path) == mark}
            for name in laying.KEPT_FOLDERS:
                with open(os.path.join(folder, name + ".tar"), "wb") as stream:
                    files.pack(stream, self.paths[name], unchanged | {self.made})
        with open(os.path.join(folder, "complete"), "w") as record:
            json.dump(result, record)

    def send(self, channel: frames.Channel) -> None:
        """Send the result as one archive."""
        source, sink = os.pipe()

        def task() -> None:
            os.close(source)
            self.drop()
            with os.fdopen(sink, "wb") as stream:
                # The mark of completeness goes last, or a torn copy would look whole.
                files.pack(stream, self.made, last=os.path.join(self.made, ".scbench", "complete"))

        pid = processes.fork(task)
        os.close(sink)
        channel.send_json(frames.PACKED, {})
        sent = 0
        with os.fdopen(source, "rb", buffering=0) as stream:
            while sent <= SENT_LIMIT:
                data = stream.read(frames.CHUNK)
                if not data:
                    break
                channel.send(frames.BYTES, data)
                sent += len(data)
        channel.send(frames.BYTES_END)
        failed = os.waitpid(pid, 0)[1]
        if sent > SENT_LIMIT:
            raise unkept("it is larger than %d bytes" % SENT_LIMIT)
        if failed:
            raise unkept("there are files in it that cannot be read")

    def as_submission(self, task: Callable[[], None]) -> None:
        """Run a function in a child with the submission's rights."""

        def run() -> None:
            self.drop()
            task()

        if os.waitpid(processes.fork(run), 0)[1]:
            raise unkept("there are files in it that cannot be read, or the disk limit is too small")


def fingerprints(folder: str) -> dict[str, tuple[int, ...]]:
    """Return what tells whether a file was changed, for every file below a folder."""
    found: dict[str, tuple[int, ...]] = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            found[path] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def freeze(output: str) -> dict[str, str]:
    """Return the exact versions in the lines of `uv pip freeze`."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", output, re.MULTILINE))


def make_toolchain(work: Work) -> dict[str, object]:
    """Install pytest and what the tests need, as `uvx --with ... pytest` would resolve it."""
    job = work.job
    command = ["uv", "tool", "install", "--quiet", "--no-progress", "--python", job["python"]]
    for requirement in job["requirements"]:
        command += ["--with", requirement]
    command += constraint_arguments(work)
    work.run([*command, "pytest"])
    python = os.path.join(work.paths["toolchain"], "tools", "pytest", "bin", "python")
    listed = work.run([python, "-I", "-c", LIST_PLUGINS])
    return describe(work, python, json.loads(listed.splitlines()[-1]))


def make_environment(work: Work) -> dict[str, object]:
    """Make the virtual environment, before set-up or by it, and run the set-up commands."""
    venv = work.paths["environment"]
    make = ["uv", "venv", "--quiet", "--allow-existing", "--python", work.job["python"], venv]
    if not any(re.search(r"\bvenv\b", command) for command in work.job["commands"]):
        work.run(make)
    constraints = constraint_arguments(work)
    if constraints:
        work.job["env"].update(UV_CONSTRAINT=constraints[1], PIP_CONSTRAINT=constraints[1])
    for command in work.job["commands"]:
        work.run(command)
    if not os.path.exists(os.path.join(venv, "bin", "python")):
        work.run(make)
    return describe(work, os.path.join(venv, "bin", "python"), [])


def describe(work: Work, python: str, plugins: list[list[str]]) -> dict[str, object]:
    """Record what was made."""
    frozen = work.run(["uv", "pip", "freeze", "--python", python])
    version = work.run([python, "-I", "-c", "import platform; print(platform.python_version())"])
    return {"versions": freeze(frozen), "plugins": plugins, "python": version.strip()}


def constraint_arguments(work: Work) -> list[str]:
    """Write the exact versions to hold to, where there are any, and name the file."""
    if not work.job["constraints"]:
        return []
    path = os.path.join(work.paths["temporary"], "constraints.txt")
    with open(path, "w") as target:
        target.write(work.job["constraints"])
    return ["--constraints", path]
