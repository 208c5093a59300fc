"""The same container for a person to look round in: everything laid out as for an evaluation, then a shell.

The launcher writes two programs: `shell`, which sets the environment and starts a shell or a command, and
`run-tests`, which starts pytest as the grader would. It stays until the engine goes away.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from . import frames, grader, laying, processes

if TYPE_CHECKING:
    from .job import DebugJob, Layout

NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")

SHELL = """\
umask 022
cd %(workspace)s || exit
[ $# -gt 0 ] && exec "$@"
echo %(greeting)s
export PS1=%(prompt)s
command -v bash >/dev/null 2>&1 && exec bash --noprofile --norc -i
exec sh -i
"""


def debug(channel: frames.Channel, job: DebugJob) -> None:
    """Lay everything out, tell the engine, and wait until it goes."""
    layout = laying.lay_out(job)
    laying.receive(channel, job, layout)
    laying.protect(job, layout)
    laying.set_environment(job, layout)
    write_programs(job, layout)
    channel.send_json(frames.PHASE, "shell")
    while os.read(channel.incoming, frames.CHUNK):
        pass
    processes.kill_others()
    os._exit(0)


def write_programs(job: DebugJob, layout: Layout) -> None:
    """Write what the person will start; only the grader's group may start the tests."""
    folder = os.path.join(layout["scratch"], "debug")
    os.mkdir(folder)
    as_grader = job["role"] == "grader"
    greeting = "submission in %s" % layout["workspace"]
    if as_grader:
        os.environ["PATH"] += ":" + folder
        os.environ["SCBENCH_TESTS"] = layout["root"]
        greeting += "; tests in $SCBENCH_TESTS; run-tests [PYTEST ARGUMENTS] runs them"
    lines = [
        "export %s=%s" % (name, shlex.quote(value))
        for name, value in os.environ.items()
        if NAME.fullmatch(name)
    ]
    told = {"workspace": layout["workspace"], "greeting": greeting, "prompt": "(%s) \\w $ " % job["role"]}
    script = SHELL % {name: shlex.quote(value) for name, value in told.items()}
    write(os.path.join(folder, "shell"), "\n".join(lines) + "\n" + script, 0o755)
    tests = os.path.join(folder, "run-tests")
    write(tests, tests_program(job, layout), 0o750 if job["isolate"] else 0o755)
    if job["isolate"]:
        os.chown(tests, 0, job["grader_gid"])


def tests_program(job: DebugJob, layout: Layout) -> str:
    """Return the program that runs pytest with the grader's own arguments."""
    reports = os.path.join(layout["temporary"], "reports")
    python = os.path.join(layout["toolchain"], "tools", "pytest", "bin", "python")
    command = [python, "-I", "-B", "-m", "pytest", *grader.arguments(job, {**layout, "reports": reports})]
    return '#!/bin/sh\nmkdir -p %s\nexport PYTEST_DISABLE_PLUGIN_AUTOLOAD=1\nexec %s "$@"\n' % (
        shlex.quote(reports),
        " ".join(map(shlex.quote, command)),
    )


def write(path: str, text: str, mode: int) -> None:
    """Write one program."""
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as target:
        target.write(text)
    os.chmod(path, mode)
