import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from engine.results import Broken, BrokenKind, CorrectnessResults, GroupType, TestResult
from engine.store import InFlight, Store, StoreKey

KEY = StoreKey(fingerprint="f" * 64)
RESULTS = CorrectnessResults(
    problem_name="p",
    checkpoint_name="c",
    duration=1.5,
    tests=(
        TestResult(
            id="test_a",
            checkpoint="c",
            group_type=GroupType.CORE,
            status="failed",
            duration_ms=2.0,
            file_path="tests/test_c.py",
            failure_message="no",
        ),
    ),
    pass_counts={GroupType.CORE: 0},
    total_counts={GroupType.CORE: 1},
    pytest_exit_code=1,
)


def stored(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_what_is_put_is_found(store: Store) -> None:
    """A result comes back as it was, under its key and no other."""
    assert store.get(KEY) is None
    assert store.put(KEY, RESULTS) is None
    assert store.get(KEY) == RESULTS
    assert store.get(StoreKey(fingerprint=KEY.fingerprint, repeat_index=1)) is None
    assert store.get(StoreKey(fingerprint="e" * 64)) is None


def test_any_text_can_be_a_fingerprint(store: Store) -> None:
    """A fingerprint is never taken for a path."""
    key = StoreKey(fingerprint="../../etc/passwd")
    assert store.put(key, RESULTS) is None
    assert store.get(key) == RESULTS


def test_broken_is_never_an_answer(store: Store, tmp_path: Path) -> None:
    """A broken result is not kept."""
    broken = CorrectnessResults(
        problem_name="p",
        checkpoint_name="c",
        duration=1.0,
        broken=Broken.of(BrokenKind.DAEMON_ERROR, "gone"),
    )
    assert store.put(KEY, broken) == "broken results are not kept"
    assert store.get(KEY) is None
    assert stored(tmp_path) == []


@pytest.mark.parametrize("change", ["flip", "cut", "empty", "garbage"])
def test_a_damaged_file_is_a_miss(store: Store, tmp_path: Path, change: str) -> None:
    """A file that does not match its hash is no answer and is removed."""
    store.put(KEY, RESULTS)
    (file,) = stored(tmp_path)
    content = bytearray(file.read_bytes())
    content[-10] ^= 1
    file.write_bytes(
        {"flip": bytes(content), "cut": bytes(content[:-10]), "empty": b"", "garbage": b"\xff\n"}[change]
    )
    assert store.get(KEY) is None
    assert stored(tmp_path) == []


def test_a_file_under_a_wrong_name_is_a_miss(store: Store, tmp_path: Path) -> None:
    """A result that was moved to another key is no answer there."""
    store.put(KEY, RESULTS)
    (file,) = stored(tmp_path)
    other = StoreKey(fingerprint="other")
    target = tmp_path / other.name()[:2] / file.name.replace(KEY.name(), other.name())
    target.parent.mkdir()
    file.rename(target)
    assert store.get(other) is None


def test_cleaning_by_age(store: Store, tmp_path: Path) -> None:
    """What was not used for long goes, and use is what counts."""
    old, used = StoreKey(fingerprint="old"), StoreKey(fingerprint="used")
    for key in (old, used):
        store.put(key, RESULTS)
    for file in stored(tmp_path):
        os.utime(file, (1, 1))
    assert store.get(used) is not None
    cleaned = store.clean(older_than=3600)
    assert cleaned.files == 1
    assert (store.get(old), store.get(used)) == (None, RESULTS)


def test_cleaning_by_size_removes_the_longest_unused(store: Store, tmp_path: Path) -> None:
    """When there is too much, what was unused for longest goes first."""
    keys = [StoreKey(fingerprint=str(number)) for number in range(10)]
    for age, key in enumerate(keys):
        store.put(key, RESULTS)
        (file,) = tmp_path.rglob(f"{key.name()}*")
        os.utime(file, (1000 + age, 1000 + age))
    size = stored(tmp_path)[0].stat().st_size
    cleaned = store.clean(size_limit=4 * size)
    assert (cleaned.files, cleaned.size) == (6, 6 * size)
    assert [store.get(key) is not None for key in keys] == [False] * 6 + [True] * 4


def test_the_size_limit_holds_while_writing(tmp_path: Path) -> None:
    """A store with a limit never grows past it."""
    store = Store(tmp_path)
    store.put(KEY, RESULTS)
    limit = 40 * stored(tmp_path)[0].stat().st_size
    limited = Store(tmp_path, size_limit=limit)
    for number in range(200):
        limited.put(StoreKey(fingerprint=str(number)), RESULTS)
        assert sum(file.stat().st_size for file in stored(tmp_path)) <= limit
    assert limited.get(StoreKey(fingerprint="199")) == RESULTS


def test_files_of_dead_writers_are_cleaned(store: Store, tmp_path: Path) -> None:
    """A partial file goes when it is old, and stays while someone may be writing it."""
    store.put(KEY, RESULTS)
    folder = stored(tmp_path)[0].parent
    for name in (".old.partial", ".new.partial"):
        (folder / name).write_bytes(b"half")
    os.utime(folder / ".old.partial", (1, 1))
    assert store.clean().files == 1
    assert (folder / ".new.partial").exists()
    assert store.get(KEY) == RESULTS


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Where nothing can be written the reason comes back, and the run goes on without a store."""
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")
    reason = store.put(KEY, RESULTS)
    assert reason is not None
    assert str(tmp_path) in reason
    assert store.get(KEY) is None


def test_several_engines_share_a_store(tmp_path: Path) -> None:
    """Processes that write and read the same keys at once only ever see whole results."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from engine.results import CorrectnessResults\n"
        "from engine.store import Store, StoreKey\n"
        "store = Store(Path(sys.argv[1]), size_limit=20_000)\n"
        "results = CorrectnessResults(problem_name='p', checkpoint_name='c', duration=1.0)\n"
        "for number in range(300):\n"
        "    key = StoreKey(fingerprint=str(number % 20))\n"
        "    assert store.put(key, results) is None\n"
        "    assert store.get(key) in (results, None)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    endings = [(process.communicate()[1], process.returncode) for process in running]
    assert endings == [(b"", 0)] * 3
    assert all(file.suffix == ".result" for file in stored(tmp_path))


async def test_equal_ones_in_flight_run_once(store: Store) -> None:
    """Of several equal evaluations the first runs and the others get its answer."""
    in_flight = InFlight()
    runs = 0

    async def evaluate(key: StoreKey) -> None:
        nonlocal runs
        async with in_flight.sole(key):
            if store.get(key) is None:
                runs += 1
                await anyio.sleep(0.001)
                store.put(key, RESULTS)

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(evaluate, StoreKey(fingerprint=str(number % 3)))
    assert runs == 3


async def test_different_ones_do_not_wait_for_each_other() -> None:
    """Evaluations with different keys are at work at the same time."""
    in_flight = InFlight()
    with anyio.fail_after(5):
        async with in_flight.sole(KEY), in_flight.sole(StoreKey(fingerprint="other")):
            pass
