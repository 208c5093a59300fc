"""The grader: pytest in a fork of the launcher, never an exec, telling what happens as it happens.

Everything that it says goes down a pipe that no child of it has. Report files can be written only
after the launcher has killed everything else.
"""

from __future__ import annotations

import builtins
import io
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from . import frames, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import pytest

    from .job import EvaluationJob, Layout

MESSAGE_LIMIT = 1 << 15

SEALED = b"s"
UNSEALABLE = b"u"
FINISHING = b"f"
FINISHED = b"g"
TAMPERED = b"w"
IMPORTED = b"i"
LIMIT = b"l"


class Line:
    """The private pipes between grader and launcher."""

    def __init__(self, out: int, back: int) -> None:
        self.out = out
        self.back = back
        self.owner = os.getpid()
        self.lock = threading.Lock()

    def say(self, kind: bytes, value: object = None) -> None:
        """Tell the launcher something; a fork of the grader stays silent."""
        if os.getpid() != self.owner:
            return
        payload = frames.dump(value)
        with self.lock:
            frames.write_all(self.out, frames.HEADER.pack(kind, len(payload)) + payload)

    def wait(self) -> None:
        """Wait until the launcher answers."""
        if not os.read(self.back, 1):
            os._exit(71)

    def close_in_fork(self) -> None:
        """Close both ends in a child that was forked without an exec."""
        for descriptor in (self.out, self.back):
            try:
                os.close(descriptor)
            except OSError:
                pass


class Reporter:
    """The pytest plugin that reports each phase of each test."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def pytest_configure(self) -> None:
        """Take away what would tell the submission that it is being tested, and by what."""
        for name in [name for name in os.environ if name.startswith("PYTEST_")]:
            del os.environ[name]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report one phase of one test."""
        self.line.say(
            frames.TEST,
            {
                "nodeid": report.nodeid,
                "when": report.when,
                "outcome": report.outcome,
                "duration": max(0.0, report.duration),
                "wasxfail": hasattr(report, "wasxfail"),
                "message": "" if report.outcome == "passed" else _shorten(str(report.longrepr)),
            },
        )


def guard_session(line: Line) -> object:
    """Return a plugin that is first when tests begin, and outermost at the end."""
    import pytest

    class SessionGuard:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: pytest.Session) -> None:
            """Announce every test, with its markers, before the first one runs."""
            tests = [(item.nodeid, _marker_names(item)) for item in session.items]
            line.say(frames.COLLECTED, tests)

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
            """Have everything else killed first; only then can reports be written."""
            if os.getpid() != line.owner:
                os._exit(0)  # a fork of the grader that ran on to here
            if "session-timeout" in str(session.shouldfail or session.shouldstop or ""):
                line.say(LIMIT, "session")
            line.say(FINISHING)
            line.wait()
            try:
                return (yield)
            finally:
                line.say(FINISHED, int(session.exitstatus))

    return SessionGuard()


def _marker_names(item: pytest.Item) -> list[str]:
    return list(dict.fromkeys(mark.name for mark in item.iter_markers()))


def _shorten(text: str) -> str:
    if len(text) <= MESSAGE_LIMIT:
        return text
    half = MESSAGE_LIMIT // 2
    return "%s\n[... %d characters left out ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def keep_current_test_secret() -> None:
    """Stop pytest from putting the running test's name where its children can read it."""
    import _pytest.runner

    if hasattr(_pytest.runner, "_update_current_test_var"):
        _pytest.runner._update_current_test_var = lambda item, when: None  # noqa: ARG005 - called by pytest


def limit_commands(seconds: float, line: Line) -> None:
    """Kill what a test starts when it has run for so long."""
    start: Callable[..., None] = subprocess.Popen.__init__

    def limited(
        self: subprocess.Popen[str] | subprocess.Popen[bytes], *args: object, **kwargs: object
    ) -> None:
        start(self, *args, **kwargs)

        def end() -> None:
            if self.poll() is None:
                line.say(LIMIT, "command")
                self.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()

    subprocess.Popen.__init__ = limited  # type: ignore[method-assign]  # tests start processes in many ways


class Deputy:
    """An audit hook: notices links that lead the grader into its own tree, and a submission's code in it."""

    EVENTS = frozenset(("open", "os.listdir", "os.scandir", "shutil.copyfile", "shutil.copytree", "os.link"))

    def __init__(self, root: str, workspace: str, line: Line) -> None:
        self.root = os.path.realpath(root) + os.sep
        self.workspace = os.path.realpath(workspace) + os.sep
        self.imported = False
        self.trusted = (self.root, sys.prefix + os.sep, sys.base_prefix + os.sep)
        self.own_links: set[str] = set()
        self.line = line

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if event == "os.symlink" and isinstance(args[1], (str, bytes, os.PathLike)):
            self._note_own_link(args[1])
        elif event == "exec":
            self._note_import(getattr(args[0], "co_filename", ""))
        elif event in self.EVENTS and isinstance(args[0], (str, bytes, os.PathLike)):
            self._check(args[0])

    def _note_own_link(self, given: str | bytes | os.PathLike[str]) -> None:
        try:
            self.own_links.add(os.path.abspath(os.fsdecode(given)))
        except OSError:
            pass

    def _note_import(self, name: str) -> None:
        # Said before the code runs: what it does afterwards cannot take it back.
        if self.imported or name.startswith("<"):
            return
        if os.path.abspath(name).startswith(self.workspace):
            self.imported = True
            self.line.say(IMPORTED, name)

    def _check(self, given: str | bytes | os.PathLike[str]) -> None:
        try:
            path = os.path.abspath(os.fsdecode(given))
            if (path + os.sep).startswith(self.trusted) or path in self.own_links:
                return
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return  # the current folder is gone, or the name is none: the open itself will say so
        if (real + os.sep).startswith(self.root):
            self._refuse(path, "the tests")
        # There, "self" is the grader: its descriptors, and the pipe that only it may write to.
        if real.startswith("/proc/") and not path.startswith(("/proc/", "/dev/", "/etc/")):
            self._refuse(path, "/proc")

    def look_again_after_opening(self) -> None:
        """Check what was really opened, too: a link can be put in place after the first look."""
        for module in (builtins, io, os):
            setattr(module, "open", self._looking_again(module.open))  # noqa: B010 - each has its own type

    def _looking_again(self, opening: Callable[..., io.IOBase | int]) -> Callable[..., io.IOBase | int]:
        def look_again(file: object, *args: object, **kwargs: object) -> io.IOBase | int:
            __tracebackhide__ = True  # in what pytest shows, it was the test that opened something
            opened = opening(file, *args, **kwargs)
            # A name below an open folder says nothing by itself.
            if isinstance(file, (str, bytes, os.PathLike)) and kwargs.get("dir_fd") is None:
                self._check_opened(file, opened)
            return opened

        return look_again

    def _check_opened(self, given: str | bytes | os.PathLike[str], opened: io.IOBase | int) -> None:
        try:
            path = os.path.abspath(os.fsdecode(given))
            descriptor = opened if isinstance(opened, int) else opened.fileno()
            real = os.readlink("/proc/self/fd/%d" % descriptor)
        except (OSError, ValueError):
            return
        if (path + os.sep).startswith(self.trusted) or path in self.own_links:
            return
        if (real + os.sep).startswith(self.root):
            if isinstance(opened, int):
                os.close(opened)
            else:
                opened.close()
            self._refuse(path, "the tests")

    def _refuse(self, path: str, where: str) -> None:
        self.line.say(TAMPERED, "a link leads a test from %s into %s" % (path, where))
        raise PermissionError("%s leads into %s" % (path, where))


def drop_rights_in_forks(line: Line, gid: int | None) -> None:
    """See to it that a fork without an exec has neither the pipes nor the grader's group."""

    def after_fork() -> None:
        line.close_in_fork()
        if gid is not None:
            identity.unseal(gid)

    os.register_at_fork(after_in_child=after_fork)


def arguments(job: EvaluationJob, layout: Layout) -> list[str]:
    """Build the arguments of pytest: nothing is read from the workspace."""
    limits = job["limits"]
    root = layout["root"]
    given = ["-c", root + "/pytest.ini", "--rootdir", root, "--confcutdir", root]
    given += ["--basetemp", layout["basetemp"], "-p", "no:cacheprovider", "--color=no", "-vv"]
    for name, _ in job["plugins"]:
        given += ["-p", name]
    given += ["--timeout=%s" % limits["test"], "--timeout-method=signal"]
    given += ["--session-timeout=%s" % limits["session"]]
    given += report_arguments(layout)
    if job["collect_only"]:
        given.append("--collect-only")
    given += ["--entrypoint=%s" % job["entrypoint"], "--checkpoint=%s" % job["checkpoint"]]
    wanted = job["only"] or ["tests/" + name for name in job["test_files"]]
    return given + [root + "/" + name for name in wanted]


def report_arguments(layout: Layout) -> list[str]:
    """Name the two report files."""
    return [
        *("--json-report-omit", "log", "streams", "warnings", "keywords"),
        "--json-report",
        "--json-report-file=" + layout["reports"] + "/pytest-report.json",
        "--ctrf=" + layout["reports"] + "/ctrf-report.json",
    ]


def run(job: EvaluationJob, layout: Layout, line: Line) -> int:
    """Be the grader from here on: seal, probe, then pytest; return its exit code."""
    import pytest

    sealed = job["isolate"] and job["sealed"]
    if sealed:
        try:
            identity.seal(job["uid"], job["gid"], job["grader_gid"])
            identity.probe(layout["canary"], layout["control"])
        except (identity.SealError, OSError) as error:
            line.say(UNSEALABLE, str(error))
            return 72
        line.say(SEALED)
    elif job["isolate"]:
        identity.become(job["uid"], job["gid"])
    os.umask(0o022)
    os.chdir(layout["workspace"])
    drop_rights_in_forks(line, job["gid"] if sealed else None)
    keep_current_test_secret()
    if job["limits"]["command"]:
        limit_commands(job["limits"]["command"], line)
    if sealed:
        deputy = Deputy(layout["root"], layout["workspace"], line)
        sys.addaudithook(deputy)
        deputy.look_again_after_opening()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    sys.argv = ["pytest"]
    code = pytest.main(arguments(job, layout), plugins=[Reporter(line), guard_session(line)])
    sys.stdout.flush()
    sys.stderr.flush()
    return int(code)
