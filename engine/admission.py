"""How many evaluations may run at once just now: a controller without a clock, fed with measurements.

Starting slows down when the daemon's latency climbs or memory runs low, stops while the daemon does not
answer or the disk is nearly full, and speeds up again by itself. `adjust` is pure; whoever measures calls
it at intervals and gives the level to the scheduler. Another thing to watch is one more function in
`_BRAKES`.
"""

from collections.abc import Callable

import msgspec

_GIB = 1024**3


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon and the machine look like; None where it was not measured."""

    # Seconds that the daemon took to answer; None when it did not.
    latency: float | None
    # Shares, from 0 to 1.
    memory_free: float | None = None
    cpu_idle: float | None = None
    disk_free: int | None = None
    running: int = 0


class Watermarks(msgspec.Struct, frozen=True, kw_only=True):
    """Where starting slows down (low water) and where it may speed up again (enough)."""

    latency_high: float = 2.0
    latency_fine: float = 0.5
    memory_low: float = 0.08
    memory_enough: float = 0.15
    disk_low: int = 2 * _GIB
    disk_enough: int = 3 * _GIB
    # With less idle time than this, more at once would only wait for each other.
    cpu_spare: float = 0.15


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """How many may run at once, and why not as many as the limit."""

    level: int
    limit: int
    reason: str = ""
    # Grow only while there is CPU to spare, instead of straight to the limit.
    auto: bool = False
    # Once the disk was nearly full, it must be well clear of that before anything starts again.
    disk_full: bool = False


class _Brake(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    level: int


def fixed(limit: int) -> Admission:
    """Begin with a limit that the user chose."""
    return Admission(level=limit, limit=limit)


def automatic(*, cores: int, memory: int, memory_each: int) -> Admission:
    """Begin with a level that fits the machine and may grow to what it could bear."""
    # Throughput is flat above twice the cores; memory that everyone may use at once must be there.
    limit = max(1, min(2 * cores, memory // max(1, memory_each)))
    return Admission(level=min(cores, limit), limit=limit, auto=True)


def adjust(admission: Admission, measurement: Measurement, watermarks: Watermarks) -> Admission:
    """Take in a measurement; what changes for the scheduler is the level."""
    admission = _with_disk(admission, measurement.disk_free, watermarks)
    brakes = [brake for look in _BRAKES if (brake := look(admission, measurement, watermarks)) is not None]
    if brakes:
        hardest = min(brakes, key=lambda brake: brake.level)
        return _changed(admission, hardest.level, hardest.reason)
    if admission.level < admission.limit and _may_grow(admission, measurement, watermarks):
        level = admission.level + 1
        return _changed(admission, level, "" if level == admission.limit else "speeding up again")
    return admission


def _with_disk(admission: Admission, free: int | None, watermarks: Watermarks) -> Admission:
    mark = watermarks.disk_enough if admission.disk_full else watermarks.disk_low
    full = free is not None and free < mark
    return admission if full == admission.disk_full else msgspec.structs.replace(admission, disk_full=full)


def _silent_daemon(_admission: Admission, measurement: Measurement, _watermarks: Watermarks) -> _Brake | None:
    if measurement.latency is None:
        return _Brake(reason="the daemon does not answer", level=0)
    return None


def _full_disk(admission: Admission, measurement: Measurement, _watermarks: Watermarks) -> _Brake | None:
    if not admission.disk_full or measurement.disk_free is None:
        return None
    return _Brake(reason=f"only {measurement.disk_free / _GIB:.1f} GiB of disk are free", level=0)


def _low_memory(admission: Admission, measurement: Measurement, watermarks: Watermarks) -> _Brake | None:
    free = measurement.memory_free
    if free is None or free >= watermarks.memory_low:
        return None
    # Never below one: others may hold the memory for good, and one at a time still gets the work done.
    level = max(1, min(admission.level, measurement.running) // 2)
    return _Brake(reason=f"only {free:.0%} of memory is free", level=level)


def _slow_daemon(admission: Admission, measurement: Measurement, watermarks: Watermarks) -> _Brake | None:
    if measurement.latency is None or measurement.latency <= watermarks.latency_high:
        return None
    reason = f"the daemon takes {measurement.latency:.1f} s to answer"
    return _Brake(reason=reason, level=max(1, admission.level // 2))


_BRAKES: tuple[Callable[[Admission, Measurement, Watermarks], _Brake | None], ...] = (
    _silent_daemon,
    _full_disk,
    _low_memory,
    _slow_daemon,
)


def _may_grow(admission: Admission, measurement: Measurement, watermarks: Watermarks) -> bool:
    if measurement.latency is None or measurement.latency > watermarks.latency_fine:
        return admission.level == 0
    if measurement.memory_free is not None and measurement.memory_free < watermarks.memory_enough:
        return admission.level == 0
    if not admission.auto:
        return True
    # A level that is not used says nothing about a higher one.
    used = measurement.running >= admission.level
    return used and (measurement.cpu_idle is None or measurement.cpu_idle >= watermarks.cpu_spare)


def _changed(admission: Admission, level: int, reason: str) -> Admission:
    if level == admission.level:
        # The reason alone is no news: figures in it change with every measurement.
        return admission
    return msgspec.structs.replace(admission, level=level, reason=reason)
