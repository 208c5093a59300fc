from hypothesis import given
from hypothesis import strategies as st

from engine.admission import Admission, Measurement, Watermarks, adjust, automatic, fixed

MARKS = Watermarks()
FINE = Measurement(latency=0.01, memory_free=0.5, disk_free=10 * 1024**3, cpu_idle=0.5, running=8)


def level_after(admission: Admission, *measurements: Measurement) -> Admission:
    for measurement in measurements:
        admission = adjust(admission, measurement, MARKS)
    return admission


def test_nothing_changes_while_all_is_well() -> None:
    """A chosen limit is used from the beginning and kept."""
    assert level_after(fixed(8), FINE, FINE) == fixed(8)


def test_a_silent_daemon_pauses_starting() -> None:
    """While the daemon does not answer nothing starts; then it speeds up again by itself."""
    paused = level_after(fixed(4), Measurement(latency=None))
    assert (paused.level, paused.reason) == (0, "the daemon does not answer")
    assert [level_after(paused, *[FINE] * steps).level for steps in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 4]


def test_a_slow_daemon_halves() -> None:
    """Latency above the mark halves the level with each look, but never stops the run."""
    slow = Measurement(latency=3.0, running=8)
    assert [level_after(fixed(8), *[slow] * steps).level for steps in (1, 2, 3, 4)] == [4, 2, 1, 1]


def test_between_the_marks_the_level_is_held() -> None:
    """Latency that is neither high nor fine changes nothing."""
    slowed = level_after(fixed(8), Measurement(latency=3.0))
    assert level_after(slowed, Measurement(latency=1.0)) == slowed


def test_low_memory_slows_down_and_goes_on_one_at_a_time() -> None:
    """With little memory left fewer start; one at a time always may."""
    low = Measurement(latency=0.01, memory_free=0.02, running=8)
    slowed = level_after(fixed(8), low)
    assert (slowed.level, slowed.reason) == (4, "only 2% of memory is free")
    assert level_after(slowed, *[low] * 5).level == 1
    assert level_after(slowed, Measurement(latency=0.01, memory_free=0.1)).level == 4
    assert level_after(slowed, FINE).level == 5


def test_a_full_disk_pauses_until_it_is_well_clear() -> None:
    """Below the mark nothing starts, and just above it neither, so that it does not flap."""
    full = level_after(fixed(2), Measurement(latency=0.01, disk_free=1024**3))
    assert (full.level, full.reason) == (0, "only 1.0 GiB of disk are free")
    just_above = Measurement(latency=0.01, disk_free=int(2.5 * 1024**3))
    assert level_after(full, just_above).level == 0
    assert level_after(full, FINE).level == 1


def test_a_disk_that_was_never_full_does_not_keep_a_paused_run_down() -> None:
    """After the daemon was silent, a disk between the marks is no reason to stay paused."""
    paused = level_after(fixed(2), Measurement(latency=None))
    assert level_after(paused, Measurement(latency=0.01, disk_free=int(2.5 * 1024**3))).level == 1


def test_automatic_begins_with_the_cores_and_grows_while_there_is_cpu_to_spare() -> None:
    """Without a chosen limit the level fits the machine and grows only when that helps."""
    begun = automatic(cores=4, memory=64 * 1024**3, memory_each=2 * 1024**3)
    assert (begun.level, begun.limit) == (4, 8)
    assert level_after(begun, *[FINE] * 9).level == 8
    busy = Measurement(latency=0.01, cpu_idle=0.01, running=4)
    unused = Measurement(latency=0.01, cpu_idle=0.9, running=2)
    assert level_after(begun, busy, unused) == begun


def test_automatic_is_bound_by_memory() -> None:
    """No more run at once than have the memory that they may use."""
    assert automatic(cores=16, memory=5 * 1024**3, memory_each=2 * 1024**3).limit == 2
    assert automatic(cores=2, memory=1024**3, memory_each=2 * 1024**3).limit == 1


measurements = st.builds(
    Measurement,
    latency=st.none() | st.floats(0, 10),
    memory_free=st.none() | st.floats(0, 1),
    cpu_idle=st.none() | st.floats(0, 1),
    disk_free=st.none() | st.integers(0, 10 * 1024**3),
    running=st.integers(0, 20),
)


@given(limit=st.integers(1, 20), seen=st.lists(measurements, max_size=30))
def test_the_level_stays_within_the_limit_and_recovers(limit: int, seen: list[Measurement]) -> None:
    """Whatever is measured, the level is never above the limit, and good times bring all of it back."""
    admission = fixed(limit)
    for measurement in seen:
        admission = adjust(admission, measurement, MARKS)
        assert 0 <= admission.level <= limit
    assert level_after(admission, *[FINE] * limit).level == limit
