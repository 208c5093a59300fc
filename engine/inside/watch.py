"""The launcher's watch over the grader, from its start to its end."""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from typing import TYPE_CHECKING, cast

from . import evidence, frames, grader, identity, laying, processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

    from .job import EvaluationJob, Layout

EXIT_GRACE = 10.0
# More than any suite has to say at once.
WORD_LIMIT = 64 << 20
TEST_FIELDS: dict[str, type | tuple[type, ...]] = {
    "nodeid": str,
    "duration": (int, float),
    "wasxfail": bool,
    "message": str,
}
PHASES = ("setup", "call", "teardown")
OUTCOMES = ("passed", "failed", "skipped", "rerun")
PULSE_EVERY = 2.0


class Watch:
    """The launcher's watch over the grader: its words, its output, its limits, its end."""

    def __init__(self, channel: frames.Channel, job: EvaluationJob, layout: Layout) -> None:
        self.channel = channel
        self.job = job
        self.layout = layout
        self.outputs = {
            frames.STDOUT: processes.Capture(lambda data: channel.send(frames.STDOUT, data)),
            frames.STDERR: processes.Capture(lambda data: channel.send(frames.STDERR, data)),
        }
        self.selector = selectors.DefaultSelector()
        self.words = bytearray()
        self.code: int | None = None
        self.signal: int | None = None
        self.command_limits = 0
        self.stopped = 0
        self.sealed = False
        # What the grader says is passed on as it came; it is the engine that decides what may be in it.
        self.announced: object = None
        self.limit: object = None
        self.tampered: list[object] = []
        self.imported: list[object] = []
        self.seal_error: object = None
        self.timings: dict[str, float] = {}
        self.ended = 0.0
        self.waiting = evidence.Waiting()
        self.next_pulse = 0.0

    def start(self) -> None:
        """Fork the grader with its private pipes."""
        words, out = os.pipe()
        back, self.answer = os.pipe()
        streams = {kind: os.pipe() for kind in self.outputs}

        def task() -> int:
            for descriptor in (words, self.answer, self.channel.incoming, self.channel.outgoing):
                os.close(descriptor)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(streams[frames.STDOUT][1], 1)
            os.dup2(streams[frames.STDERR][1], 2)
            laying.set_environment(self.job, self.layout)
            if self.job["mode"] == "uvx":
                run_uvx(self.job, self.layout)
            return grader.run(self.job, self.layout, grader.Line(out, back))

        self.pid = processes.fork(task)
        for descriptor in (out, back, *(pair[1] for pair in streams.values())):
            os.close(descriptor)
        self.selector.register(words, selectors.EVENT_READ, self.on_words)
        self.selector.register(self.channel.incoming, selectors.EVENT_READ, self.on_engine)
        for kind, (source, _) in streams.items():
            self.selector.register(source, selectors.EVENT_READ, self.on_output(kind))
        # An idle selector wakes up for the end of a child.
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        self.selector.register(wake, selectors.EVENT_READ, lambda source: os.read(source, 512))
        limits = self.job["limits"]
        self.deadline = time.monotonic() + limits["session"] + limits["test"]

    def loop(self) -> None:
        """Watch until the grader has ended, then drain what it still had to say."""
        while not self.grader_has_ended():
            timeout = min(1.0, max(0.0, self.deadline - time.monotonic()))
            self.handle(timeout)
            if time.monotonic() >= self.next_pulse:
                self.pulse()
            if time.monotonic() >= self.deadline and self.code is None:
                self.at_deadline()
        self.ended = time.monotonic()
        processes.kill_others()
        while self.handle(0.0):
            pass

    def pulse(self) -> None:
        """Tell how much CPU there was, in case that the last word is never said."""
        self.next_pulse = time.monotonic() + PULSE_EVERY
        if self.job["isolate"]:
            self.waiting.sample()
            self.channel.send_json(frames.PULSE, self.cpu())

    def cpu(self) -> dict[str, float]:
        """Return what was used, held back and waited for."""
        return dict(evidence.cpu(), waited=self.waiting.seconds)

    def handle(self, timeout: float) -> bool:
        """Serve every descriptor that has something; return whether there was any."""
        events = self.selector.select(timeout)
        for key, _ in events:
            key.data(key.fd)
        return bool(events)

    def grader_has_ended(self) -> bool:
        """Look whether the grader has exited, or was stopped by somebody."""
        processes.reap((self.pid,))
        status = processes.statuses.pop(self.pid, None)
        if status is None:
            return False
        if os.WIFSTOPPED(status):
            self.stopped += 1
            os.kill(self.pid, signal.SIGCONT)
            return False
        if os.WIFSIGNALED(status):
            self.signal = os.WTERMSIG(status)
        else:
            self.code = os.WEXITSTATUS(status)
        return True

    def at_deadline(self) -> None:
        """End a grader that did not end by itself."""
        if self.announced is None:
            self.limit = self.limit or "session"
        os.kill(self.pid, signal.SIGKILL)
        self.deadline = time.monotonic() + EXIT_GRACE

    def on_engine(self, source: int) -> None:
        """The engine has gone away: leave nothing behind."""
        if not os.read(source, frames.CHUNK):
            processes.kill_others()
            os._exit(91)

    def on_output(self, kind: bytes) -> Callable[[int], None]:
        """Return what serves one output stream of the grader."""

        def serve(source: int) -> None:
            data = os.read(source, frames.CHUNK)
            if data:
                self.outputs[kind].feed(data)
            else:
                self.selector.unregister(source)

        return serve

    def on_words(self, source: int) -> None:
        """Take what the grader says, frame by frame."""
        data = os.read(source, frames.CHUNK)
        if not data:
            self.selector.unregister(source)
        self.words += data
        while len(self.words) >= frames.HEADER.size:
            kind, size = frames.HEADER.unpack_from(self.words)
            end = frames.HEADER.size + size
            if size > WORD_LIMIT:
                self.distrust(source)
                return
            if len(self.words) < end:
                return
            try:
                self.hear(kind, json.loads(self.words[frames.HEADER.size : end]))
            except (ValueError, TypeError, LookupError, RecursionError):
                self.distrust(source)
                return
            del self.words[:end]

    def distrust(self, source: int) -> None:
        """Stop listening to a grader that somebody else speaks for, and end it."""
        self.tampered.append("the grader's words were forged")
        self.selector.unregister(source)
        os.kill(self.pid, signal.SIGKILL)

    def hear(self, kind: bytes, value: object) -> None:
        """Act on one frame of the grader; raise ValueError for what no grader says."""
        if not is_plausible(kind, value):
            raise ValueError(kind)
        if kind in (frames.COLLECTED, frames.TEST):
            self.channel.send_json(kind, value)
        elif kind == grader.SEALED:
            self.sealed = True
        elif kind == grader.UNSEALABLE:
            self.hear_seal_error(value)
        elif kind == grader.TAMPERED:
            self.tampered.append(value)
        elif kind == grader.IMPORTED:
            self.imported.append(value)
        elif kind == grader.LIMIT:
            self.hear_limit(value)
        elif kind == grader.FINISHING:
            self.open_reports()
        elif kind == grader.FINISHED:
            self.announced = value
            self.deadline = min(self.deadline, time.monotonic() + EXIT_GRACE)

    def hear_seal_error(self, error: object) -> None:
        """Note why there is no seal, which only a grader that is to be sealed and is not yet can say."""
        if self.sealed or not self.job["sealed"]:
            raise ValueError(error)
        self.seal_error = error

    def hear_limit(self, name: object) -> None:
        """Note which limit the grader has enforced."""
        if name == "command":
            self.command_limits += 1
        else:
            self.limit = name

    def open_reports(self) -> None:
        """Kill everything but the grader; only then may report files be written."""
        if not processes.kill_others((self.pid,)):
            self.tampered.append("processes of the submission could not be ended")
        if self.job["isolate"]:
            laying.share_reports(
                self.layout, self.job["grader_gid"] if self.job["sealed"] else self.job["gid"]
            )
        os.write(self.answer, b"k")

    def end_frame(self) -> dict[str, object]:
        """Sum up, for the engine's last frame."""
        code: object = self.code
        # A grader that hung or was cut off after its reports had been written has said its exit code before.
        if self.announced is not None and code is None:
            code, self.signal = self.announced, None
        return {
            "nonce": self.job["nonce"],
            "exit_code": code,
            "announced": self.announced,
            "signal": self.signal,
            "limit": self.limit,
            "command_limits": self.command_limits,
            "oom_kills": evidence.oom_kills(),
            "disk_full": evidence.disk_full((self.layout["workspace"], self.layout["temporary"])),
            "pids_exhausted": evidence.refused_forks() > 0,
            "stopped": self.stopped,
            "tampered": self.tampered,
            "imported": self.imported,
            "sockets": evidence.sockets(),
            "sealed": self.sealed,
            "seal_error": self.seal_error,
            "timings": self.timings,
            "cpu": self.cpu(),
            "omitted": {kind.decode(): output.omitted for kind, output in self.outputs.items()},
            "tails": {kind.decode(): output.tail.decode("latin-1") for kind, output in self.outputs.items()},
        }


def is_plausible(kind: bytes, value: object) -> bool:
    """Tell whether a grader would say this; the code under test may run inside it and say anything."""
    if kind == frames.TEST:
        return isinstance(value, dict) and is_plausible_phase(value)
    if kind == frames.COLLECTED:
        # What cannot be taken apart like this raises, which says the same.
        tests = cast("Iterable[tuple[object, Iterable[object]]]", value)
        names = [name for nodeid, markers in tests for name in (nodeid, *markers)]
        lists = all(isinstance(markers, list) for _, markers in tests)
        return lists and all(isinstance(name, str) for name in names)
    if kind == grader.FINISHED:
        return value in range(256)
    return value is None or isinstance(value, str)


def is_plausible_phase(said: dict[str, object]) -> bool:
    """Tell whether these are the fields of one phase of a test."""
    if not all(isinstance(said[name], types) for name, types in TEST_FIELDS.items()):
        return False
    duration = cast("float", said["duration"])
    return said["when"] in PHASES and said["outcome"] in OUTCOMES and duration < 1e9


# uvx puts the folder of its own Python first in PATH, where `python main.py` would find it; and the
# variables by which it found its index are none of what tests start.
PATH_PLUGIN = """
import os
for name in ("PYTHONPATH", *os.environ.pop("SCBENCH_INDEX").split(",")):
    os.environ.pop(name, None)
os.environ["UV_OFFLINE"] = "1"
os.environ["PATH"] = os.environ.pop("SCBENCH_PATH")
"""


def run_uvx(job: EvaluationJob, layout: Layout) -> NoReturn:
    """Become the seeds' own command: unsealed, because it starts pytest by an exec."""
    with open(os.path.join(layout["root"], "scbench_path.py"), "w") as plugin:
        plugin.write(PATH_PLUGIN)
    if job["isolate"]:
        laying.share_reports(layout, job["gid"])
        identity.become(job["uid"], job["gid"])
    os.umask(0o022)
    os.chdir(layout["workspace"])
    command = ["uvx", *("--with=" + name for name in job["requirements"]), "pytest"]
    command += grader.arguments({**job, "plugins": [["scbench_path", ""]]}, layout)
    os.environ.update(job["index"], SCBENCH_INDEX=",".join(job["index"]))
    os.environ.update(PYTHONPATH=layout["root"], SCBENCH_PATH=os.environ["PATH"])
    os.environ.pop("UV_OFFLINE", None)
    os.execvp("uvx", command)
