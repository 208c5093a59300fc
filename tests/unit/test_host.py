from pathlib import Path

import pytest

from engine.host import CpuTimes, cpu_times, disk_free, idle_share, memory


def test_this_machine_can_be_read() -> None:
    """Memory, CPU and disk of the machine are plausible."""
    seen = memory()
    assert seen is not None
    assert 0 < seen.available <= seen.total
    times = cpu_times()
    assert times is not None
    assert 0 <= times.idle <= times.total
    assert (disk_free(Path("/")) or 0) > 0


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    """A folder that is not there has no free space to tell of."""
    assert disk_free(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (CpuTimes(idle=10, total=100), CpuTimes(idle=35, total=200), 0.25),
        (CpuTimes(idle=10, total=100), CpuTimes(idle=10, total=100), None),
        (None, CpuTimes(idle=10, total=100), None),
    ],
)
def test_idle_share_is_that_of_the_time_between(
    before: CpuTimes | None, after: CpuTimes | None, share: float | None
) -> None:
    """The share is that of the time between two readings, and None where no time passed."""
    assert idle_share(before, after) == share
