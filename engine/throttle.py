"""Watches the daemon and the machine during a run, and tells the scheduler how much to start."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import msgspec

from engine import host
from engine.admission import Admission, Measurement, Watermarks, adjust
from engine.sandbox import Sandbox

EVERY = 2.0
PATIENCE = 10.0

OnChange = Callable[[Admission], Awaitable[None]]


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured besides the machine."""

    sandboxes: tuple[Sandbox, ...]
    output: Path
    # How many evaluations are under way.
    running: Callable[[], int]
    # Called whenever a sandbox did not answer.
    on_silence: Callable[[], None]


async def watch(watched: Watched, admission: Admission, on_change: OnChange) -> None:
    """Measure at intervals, for ever, and tell each change of the level."""
    marks = _watermarks(watched.output)
    before = host.cpu_times()
    while True:
        await anyio.sleep(EVERY)
        now = host.cpu_times()
        memory = host.memory()
        measurement = Measurement(
            latency=await _slowest(watched.sandboxes),
            memory_free=memory.available / memory.total if memory else None,
            cpu_idle=host.idle_share(before, now),
            disk_free=host.disk_free(watched.output),
            running=watched.running(),
        )
        before = now
        if measurement.latency is None:
            watched.on_silence()
        adjusted = adjust(admission, measurement, marks)
        if adjusted.level != admission.level:
            await on_change(adjusted)
        admission = adjusted


def _watermarks(output: Path) -> Watermarks:
    """Return the usual marks; on a small disk a share of it, or nothing would ever start there."""
    usual = Watermarks()
    size = host.disk_size(output)
    if size is None:
        return usual
    return Watermarks(
        disk_low=min(usual.disk_low, size // 10), disk_enough=min(usual.disk_enough, size * 3 // 20)
    )


async def _slowest(sandboxes: tuple[Sandbox, ...]) -> float | None:
    """Return the longest that a sandbox took to answer; None when one did not."""
    slowest = 0.0
    for sandbox in sandboxes:
        with anyio.move_on_after(PATIENCE) as scope:
            latency = await sandbox.latency()
            if latency is None:
                return None
            slowest = max(slowest, latency)
        if scope.cancelled_caught:
            return None
    return slowest
