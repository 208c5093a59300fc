"""One evaluation inside its container: lay the files, run the grader, kill the rest, tell the truth."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import time
from typing import TYPE_CHECKING, cast

from . import evidence, files, frames, grader, identity, processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal, NoReturn

    from .job import EvaluationJob, Job, Layout

REPORTS = ("pytest-report.json", "ctrf-report.json")
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
# Where set-up leaves files beside the environment.
KEPT_FOLDERS: tuple[Literal["workspace", "home"], ...] = ("workspace", "home")


class Unprepared(Exception):
    """What should have been prepared is not there: somebody removed it, or a preparation was cut off."""


class NotLaid(Exception):
    """The files of the submission, or what its set-up made, do not fit where they belong."""


def evaluate(channel: frames.Channel, job: EvaluationJob) -> None:
    """Do one evaluation and send everything about it over the channel."""
    started = time.monotonic()
    layout = lay_out(job)
    import_grader(job)
    try:
        receive(channel, job, layout)
    except NotLaid as reason:
        channel.send_json(frames.END, refusal(job, layout, str(reason)))
        return
    protect(job, layout)
    laid = time.monotonic()
    channel.send_json(frames.PHASE, "tests")
    watch = Watch(channel, job, layout)
    watch.start()
    watch.loop()
    processes.kill_others()
    send_reports(channel, job, layout)
    watch.timings = {"layout": laid - started, "tests": watch.ended - laid}
    channel.send_json(frames.END, watch.end_frame())


def lay_out(job: EvaluationJob) -> Layout:
    """Make the folders, under names that the submission cannot guess; return where everything is."""
    paths = job["paths"]
    for made in (paths["toolchain"], paths["environment"]):
        if not os.path.exists(os.path.join(made, ".scbench", "complete")):
            raise Unprepared(made)
    root = os.path.join(paths["scratch"], secrets.token_hex(16))
    layout: Layout = {
        **paths,
        "root": root,
        "reports": os.path.join(paths["scratch"], secrets.token_hex(16)),
        "assets": os.path.join(paths["scratch"], "assets"),
        "canary": os.path.join(root, "canary"),
        "control": os.path.join(paths["scratch"], "control"),
        "basetemp": os.path.join(paths["temporary"], "pytest"),
    }
    for folder in (root, layout["reports"], layout["assets"]):
        os.makedirs(folder)
    for path in (layout["canary"], layout["control"]):
        with open(path, "w"):
            pass
    os.makedirs(paths["home"], exist_ok=True)
    if job["isolate"]:
        own(job, layout)
    return layout


def own(job: Job, layout: Layout) -> None:
    """Hand the writable folders to the submission; set-gid, so that what the grader makes is its too."""
    for path in (layout["workspace"], layout["home"]):
        os.chown(path, job["uid"], job["gid"])
    os.chown(layout["temporary"], 0, job["gid"])
    os.chmod(layout["temporary"], 0o3777)
    os.chmod(layout["scratch"], 0o711)
    os.chmod(layout["root"], 0o755)
    os.chmod(layout["reports"], 0o700)
    os.chown(layout["canary"], 0, job["grader_gid"])
    os.chmod(layout["canary"], 0o640)


def import_grader(job: EvaluationJob) -> None:
    """Import pytest while the files are still on their way; not the plugins, which pytest rewrites."""
    if job["mode"] != "uvx":
        import pytest  # noqa: F401 - only to have it in memory


def receive(channel: frames.Channel, job: EvaluationJob, layout: Layout) -> None:
    """Unpack the archives that follow: the submission's by its own uid, the rest by root."""
    refused = None
    for name, stream in channel.archives():
        if name == "tests":
            files.unpack(stream, layout["root"])
        elif name == "assets":
            files.unpack(stream, layout["assets"])
        elif name == "certificates":
            os.makedirs(layout["certificates"])
            files.unpack(stream, layout["certificates"])
        else:
            try:
                unpack_as_submission(job, stream, layout["workspace"])
            except NotLaid as reason:
                refused = reason  # raised when the engine has said all, which else would wait to be heard
    if refused is not None:
        raise refused
    for folder in KEPT_FOLDERS:
        made_by_setup = os.path.join(layout["environment"], ".scbench", folder + ".tar")
        if os.path.exists(made_by_setup):
            with open(made_by_setup, "rb") as source:
                unpack_as_submission(job, source, layout[folder])
    os.symlink(layout["assets"], os.path.join(layout["root"], "tests", "assets"))


def unpack_as_submission(job: Job, stream: files.Readable, folder: str) -> None:
    """Unpack in a child with the submission's rights, so that no link in the way leads anywhere else."""
    source, sink = os.pipe()

    def task() -> None:
        os.close(sink)
        if job["isolate"]:
            identity.become(job["uid"], job["gid"])
        os.umask(0o022)
        with os.fdopen(source, "rb") as reader:
            files.unpack(reader, folder)
            while reader.read(frames.CHUNK):
                pass

    pid = processes.fork(task)
    os.close(source)
    try:
        while True:
            data = stream.read(frames.CHUNK)
            if not data:
                break
            frames.write_all(sink, data)
    except BrokenPipeError:
        pass
    os.close(sink)
    if os.waitpid(pid, 0)[1]:
        raise NotLaid("the submission's files could not be laid out")


def refusal(job: EvaluationJob, layout: Layout, reason: str) -> dict[str, object]:
    """Return the last frame for files that cannot be laid out: nothing ran, and nobody else is to blame."""
    full = evidence.disk_full((layout["workspace"], layout["temporary"]))
    killed = evidence.oom_kills()
    said = [] if full or killed else [reason]
    end = {"exit_code": 73, "disk_full": full, "oom_kills": killed, "tampered": said}
    return {**end, "nonce": job["nonce"]}


def protect(job: EvaluationJob, layout: Layout) -> None:
    """Give hidden tests to root and the grader's group alone."""
    if not job["isolate"] or not job["sealed"]:
        return
    tests = os.path.join(layout["root"], "tests")
    for folder in (layout["root"], tests):
        os.chown(folder, 0, job["grader_gid"])
        os.chmod(folder, 0o751)  # others pass through to what is not hidden, but do not see names
    for name in job["hidden"]:
        path = os.path.join(tests, name)
        os.chown(path, 0, job["grader_gid"])
        os.chmod(path, 0o750 if os.path.isdir(path) else 0o640)


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
            set_environment(self.job, self.layout)
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
            share_reports(self.layout, self.job["grader_gid"] if self.job["sealed"] else self.job["gid"])
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


def set_environment(job: EvaluationJob, layout: Layout) -> None:
    """Replace the environment by what tests and submission are to see."""
    os.environ.clear()
    os.environ.update(job["env"])
    # What a project needs was installed when it was prepared; outside of one, uv would complain of this.
    if os.path.exists(os.path.join(layout["workspace"], "pyproject.toml")):
        os.environ.setdefault("UV_NO_SYNC", "1")
    os.environ["SCBENCH_CHECKPOINT"] = job["checkpoint"]
    os.environ["SCBENCH_ASSETS_DIR"] = layout["assets"]
    for name in job["assets"]:
        path = os.path.join(layout["assets"], name)
        os.environ["SCBENCH_ASSET_" + name] = path
        os.environ["SCBENCH_ASSET_" + "".join(c if c.isalnum() else "_" for c in name).upper()] = path


def share_reports(layout: Layout, gid: int) -> None:
    """Let a group write report files; they stay root's to read."""
    os.chown(layout["reports"], 0, gid)
    os.chmod(layout["reports"], 0o770)


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
        share_reports(layout, job["gid"])
        identity.become(job["uid"], job["gid"])
    os.umask(0o022)
    os.chdir(layout["workspace"])
    command = ["uvx", *("--with=" + name for name in job["requirements"]), "pytest"]
    command += grader.arguments({**job, "plugins": [["scbench_path", ""]]}, layout)
    os.environ.update(job["index"], SCBENCH_INDEX=",".join(job["index"]))
    os.environ.update(PYTHONPATH=layout["root"], SCBENCH_PATH=os.environ["PATH"])
    os.environ.pop("UV_OFFLINE", None)
    os.execvp("uvx", command)


def send_reports(channel: frames.Channel, job: EvaluationJob, layout: Layout) -> None:
    """Send the report files, each only if it is a plain file of bounded size."""
    for name in REPORTS:
        path = os.path.join(layout["reports"], name)
        try:
            source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        with os.fdopen(source, "rb") as reader:
            if os.fstat(source).st_size > job["report_limit"]:
                channel.send_json(frames.REPORT, {"name": name, "too_large": os.fstat(source).st_size})
                continue
            channel.send_json(frames.REPORT, {"name": name, "too_large": 0})
            while True:
                data = reader.read(frames.CHUNK)
                if not data:
                    break
                channel.send(frames.BYTES, data)
            channel.send(frames.BYTES_END)
