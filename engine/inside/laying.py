"""The files of one evaluation: where they lie, whose they are, and who may read them."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from . import files, frames, identity, processes

if TYPE_CHECKING:
    from typing import Literal

    from .job import EvaluationJob, Job, Layout

# Where set-up leaves files beside the environment.
KEPT_FOLDERS: tuple[Literal["workspace", "home"], ...] = ("workspace", "home")


class Unprepared(Exception):
    """What should have been prepared is not there: somebody removed it, or a preparation was cut off."""


class NotLaid(Exception):
    """The files of the submission, or what its set-up made, do not fit where they belong."""


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
