"""`scbench run`: run manifests and stream verdicts."""

import contextlib
import io
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import click
import msgspec
from anyio.abc import TaskStatus
from rich.console import Console, RenderableType
from rich.text import Text

from engine.batch import Batch, BatchOptions, Lines, Summary
from engine.cli.sources import STANDARD_INPUT, Sources, source_options
from engine.errors import EngineError
from engine.journal import replay, results
from engine.lines import looks_like_lines, read_lines_async
from engine.manifest import Manifest, load_base
from engine.plan import expand
from engine.progress import ProgressMode, ProgressView, open_progress, standard_error
from engine.sources import Given
from engine.views.formats import write_report
from engine.views.terminal import render

_CHUNK = 1 << 16


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What to show while it runs."""

    progress: ProgressMode
    quiet: bool
    verbose: bool


@click.command()
@source_options
@click.option("--base", type=click.Path(path_type=Path), metavar="MANIFEST", help="What lines leave out.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="Where runs are kept.")
@click.option("--run-id", metavar="ID", help="Name the run; default: the time.")
@click.option("--jsonl", multiple=True, metavar="PATH", help="Write results as JSON lines too; - is stdout.")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="How many at once.")
@click.option("--sandbox", type=click.Choice(["docker", "local"]), help="Where; local does not isolate.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only these: problem/checkpoint/label.")
@click.option("--resume", metavar="RUN", help="Go on with a run; `last` is the newest.")
@click.option("--force", is_flag=True, help="Resume even though the plan has changed.")
@click.option("--rerun", type=click.Choice(["broken", "failed", "all"]), help="Do not take these as known.")
@click.option("--no-cache", is_flag=True, help="Answer nothing from the store.")
@click.option("--rehash", is_flag=True, help="Read every file again, also those that look unchanged.")
@click.option("--rerun-failing", type=click.IntRange(min=0), default=0, metavar="N", help="Find flaky tests.")
@click.option(
    "--fail-on", type=click.Choice(["broken", "failed"]), default="broken", help="What makes the exit code 1."
)
@click.option("--tests", "with_tests", is_flag=True, help="Put every test into the result lines.")
@click.option(
    "--progress",
    type=click.Choice(["auto", "live", "plain"]),
    default="auto",
    help="A live display or plain lines; auto: live on a terminal.",
)
@click.option("--quiet", is_flag=True, help="Show nothing but errors.")
@click.option("--verbose", is_flag=True, help="Show every start and every result.")
def run(sources: Sources, base: Path | None, no_cache: bool, **given: object) -> None:
    """Run manifests and stream verdicts.

    \b
    Example:
      scbench run manifests/quickstart.yaml
      scbench run --problems problems outputs/my-run
      producer | scbench run - --base leaderboard.yaml --jsonl - | consumer
      scbench run leaderboard.yaml --jsonl - | jq -r '[.id, .verdict] | @tsv'
    """
    options = msgspec.convert({**given, "use_cache": not no_cache}, BatchOptions)
    lines = None
    if sources.manifests == (STANDARD_INPUT,) and _has_lines():
        manifest = load_base(base, Given(problems=sources.problems, environment=sources.environment))
        lines = read_lines_async(_standard_input(), manifest)
    else:
        manifest = sources.load()
    look = msgspec.convert(given, Look)
    sys.exit(anyio.run(_run, manifest, options, lines, look))


def _has_lines() -> bool:
    stream = sys.stdin.buffer
    return isinstance(stream, io.BufferedReader) and looks_like_lines(stream.peek())


async def _standard_input() -> AsyncIterator[bytes]:
    stream = sys.stdin.buffer
    # What was read already to see what it is.
    pending = stream.read1() if isinstance(stream, io.BufferedReader) else b""
    while True:
        *lines, pending = pending.split(b"\n")
        for line in lines:
            yield line + b"\n"
        data = await _read_some(stream.fileno())
        if not data:
            break
        pending += data
    if pending:
        yield pending


async def _read_some(descriptor: int) -> bytes:
    """Read from a pipe without a thread: one that waits for ever would hold up the end of the program."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
        return await anyio.to_thread.run_sync(os.read, descriptor, _CHUNK)
    await anyio.wait_readable(descriptor)
    return os.read(descriptor, _CHUNK)


async def _run(manifest: Manifest, options: BatchOptions, lines: Lines | None, look: Look) -> int:
    console = standard_error(quiet=look.quiet)
    # Result lines on the same terminal would be written into a live display.
    shared = "-" in options.jsonl and sys.stdout.isatty()
    progress = open_progress(look.progress, console, verbose=look.verbose, shared=shared)
    batch = Batch(manifest, options, lines, on_progress=progress.on_progress)
    progress.begin(batch.counts)
    _say(console, Text(f"run {batch.directory.run_id} in {batch.directory.path}", style="dim"))
    signals = Signals(batch)
    async with anyio.create_task_group() as group:
        await group.start(signals.watch)
        group.start_soon(progress.show)
        if lines is None and not look.quiet:
            group.start_soon(_count, batch, progress)
        summary = await batch.run([progress])
        group.cancel_scope.cancel()
    if not look.quiet:
        await anyio.to_thread.run_sync(_show, batch, summary, console)
    await anyio.to_thread.run_sync(_report, batch, console)
    return summary.exit_code


def _report(batch: Batch, console: Console) -> None:
    try:
        path = write_report(batch.directory)
    except (EngineError, OSError) as error:
        # The results are complete without it.
        _say(console, f"no report: {error}")
    else:
        _say(console, f"report: {path}")


def _say(console: Console, told: RenderableType) -> None:
    # A terminal that is gone changes nothing about the results.
    with contextlib.suppress(OSError):
        console.print(told, highlight=False, markup=False, soft_wrap=True)


async def _count(batch: Batch, progress: ProgressView) -> None:
    """Tell the display how many evaluations there are, while the first of them run already."""

    def count() -> int:
        return sum(1 for _ in expand(batch.manifest, batch.options.select))

    progress.expect(await anyio.to_thread.run_sync(count, abandon_on_cancel=True))


class Signals:
    """The first signal stops starting, the second ends what runs."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._received = False

    async def watch(self, *, task_status: TaskStatus[None]) -> None:
        """Wait for signals until cancelled."""
        wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        with anyio.open_signal_receiver(*wanted) as received:
            task_status.started()
            async for number in received:
                if self._received and number != signal.SIGHUP:
                    self._batch.cancel(128 + number)
                    continue
                # A terminal that was closed takes nothing with it: what runs is finished and kept.
                self._received = True
                self._batch.drain(128 + number)


def _show(batch: Batch, summary: Summary, console: Console) -> None:
    state = replay(batch.directory.journal)
    lines = results(batch.directory.journal, state)
    _say(console, render(lines))
    counts = summary.counts
    told = f"{counts.passed} passed, {counts.failed} failed, {counts.broken} broken"
    told += f", {counts.cached} from the store, in {summary.duration:.1f} s"
    _say(console, f"{told}: {summary.path}")
    if summary.ending != "completed":
        again = f"scbench run ... --resume {summary.run_id}"
        _say(console, f"The run was {summary.ending}; go on with {again}")
