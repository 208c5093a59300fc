"""Watches the daemon and the machine during a run, and tells the scheduler how much to start."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from engine import host
from engine.admission import Admission, Measurement, Watermarks, adjust
from engine.sandbox import Sandbox

EVERY = 2.0
PATIENCE = 10.0

OnChange = Callable[[Admission], Awaitable[None]]


async def watch(
    sandboxes: tuple[Sandbox, ...], output: Path, admission: Admission, on_change: OnChange
) -> None:
    """Measure at intervals, for ever, and tell each change of the level."""
    before = host.cpu_times()
    while True:
        await anyio.sleep(EVERY)
        now = host.cpu_times()
        memory = host.memory()
        measurement = Measurement(
            latency=await _slowest(sandboxes),
            memory_free=memory.available / memory.total if memory else None,
            cpu_idle=host.idle_share(before, now),
            disk_free=host.disk_free(output),
        )
        before = now
        adjusted = adjust(admission, measurement, Watermarks())
        if adjusted.level != admission.level:
            await on_change(adjusted)
        admission = adjusted


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
