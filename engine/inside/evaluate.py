"""One evaluation inside its container: lay the files, run the grader, kill the rest, tell the truth."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from . import evidence, frames, laying, processes
from .watch import Watch

if TYPE_CHECKING:
    from .job import EvaluationJob, Layout

REPORTS = ("pytest-report.json", "ctrf-report.json")


def evaluate(channel: frames.Channel, job: EvaluationJob) -> None:
    """Do one evaluation and send everything about it over the channel."""
    started = time.monotonic()
    layout = laying.lay_out(job)
    import_grader(job)
    try:
        laying.receive(channel, job, layout)
    except laying.NotLaid as reason:
        channel.send_json(frames.END, refusal(job, layout, str(reason)))
        return
    laying.protect(job, layout)
    laid = time.monotonic()
    channel.send_json(frames.PHASE, "tests")
    watch = Watch(channel, job, layout)
    watch.start()
    watch.loop()
    processes.kill_others()
    send_reports(channel, job, layout)
    watch.timings = {"layout": laid - started, "tests": watch.ended - laid}
    channel.send_json(frames.END, watch.end_frame())


def import_grader(job: EvaluationJob) -> None:
    """Import pytest while the files are still on their way; not the plugins, which pytest rewrites."""
    if job["mode"] != "uvx":
        import pytest  # noqa: F401 - only to have it in memory


def refusal(job: EvaluationJob, layout: Layout, reason: str) -> dict[str, object]:
    """Return the last frame for files that cannot be laid out: nothing ran, and nobody else is to blame."""
    full = evidence.disk_full((layout["workspace"], layout["temporary"]))
    killed = evidence.oom_kills()
    said = [] if full or killed else [reason]
    end = {"exit_code": 73, "disk_full": full, "oom_kills": killed, "tampered": said}
    return {**end, "nonce": job["nonce"]}


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
