"""Many evaluations in a row, one in five hostile: nothing is left, and the engine does not grow."""

import gc
import os
import tempfile
from pathlib import Path

import anyio
import pytest

from engine.runner import Workshop
from engine.sandbox.choice import open_sandbox
from engine.sandbox.docker import FIRST_UID
from tests.docker.tiny import (
    FIRST,
    GREETS,
    HELLO,
    Bench,
    containers,
    processes_of_uids,
    remove_volumes,
    statuses,
    until,
    volumes,
)

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1800)]

# The long form: SCBENCH_SOAK=200.
EVALUATIONS = int(os.environ.get("SCBENCH_SOAK", "30"))
AT_ONCE = 3
HOSTILE = {
    "kills the grader": "import os\nos.kill(os.getppid(), 9)\n",
    "forks without end": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
    "eats memory": "x = [bytearray(1 << 24) for _ in range(1 << 10)]\n",
    "stays behind": (
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for number in range(1, 65):\n"
        "        try: signal.signal(number, signal.SIG_IGN)\n"
        "        except (OSError, ValueError): pass\n"
        "    for name in range(3): os.close(name)\n"
        "    time.sleep(1000)\n"
        "print('hello')\n"
    ),
    "fills the disk": (
        "for place in ('/tmp/x', 'x', '/dev/shm/x'):\n"
        "    with open(place, 'wb') as file:\n"
        "        try:\n"
        "            while True: file.write(bytes(1 << 16))\n"
        "        except OSError: pass\n"
    ),
    "talks without end": "import sys\nwhile True: sys.stderr.write('x' * 65536)\n",
}


def descriptors() -> int:
    """Count what this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    """Return the memory of this process in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Soak:
    """Rounds of evaluations on one bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.problem = bench.problem(FIRST + GREETS)
        self.honest = bench.submission(HELLO)
        self.hostile = [bench.submission(main) for main in HOSTILE.values()]
        self.done = 0

    async def round(self, count: int) -> None:
        """Evaluate so many, a few at once; honest ones must pass and hostile ones must not."""
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def one(number: int) -> None:
            hostile = number % 5 == 4
            submission = self.hostile[number // 5 % len(self.hostile)] if hostile else self.honest
            async with limiter:
                results = (await self.bench.evaluate(self.problem, submission)).results
            assert hostile or statuses(results) == {"test_first": "passed", "test_greets": "passed"}, (
                results.broken
            )

        async with anyio.create_task_group() as group:
            for number in range(self.done, self.done + count):
                group.start_soon(one, number)
        self.done += count


async def test_nothing_is_left_and_nothing_grows(
    anyio_backend: str, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After many evaluations there is no container, process, volume or file more than before."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    run_id = f"soak-{os.getpid()}"
    async with open_sandbox("docker", run_id) as sandbox:
        soak = Soak(Bench(Workshop.of(sandbox), image, tmp_path))
        await soak.round(10)
        made = await volumes(run_id)
        before = descriptors(), resident()
        await soak.round(EVALUATIONS - 10)
        assert descriptors() <= before[0] + 2 * AT_ONCE
        assert resident() <= before[1] + (16 << 20)
        assert await volumes(run_id) == made

    async def nothing() -> bool:
        return not await containers(run_id)

    await until(nothing)
    # Submissions of this process have users of their own.
    assert processes_of_uids(FIRST_UID + (os.getpid() % 4096) * 256, 256) == []
    assert list(temporary.iterdir()) == []
    await remove_volumes(run_id)
