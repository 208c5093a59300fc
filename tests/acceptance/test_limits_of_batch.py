"""How much happens at once in a batch, and how a batch is left: with a sandbox that only counts."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from engine import Batch, BatchOptions, host, run_batch, throttle
from engine.events import AdmissionChanged, EvaluationFinished, EvaluationStarted, Event
from engine.manifest import load_manifests
from engine.results import BrokenKind
from engine.sandbox import Preparation
from tests.acceptance.fake_sandbox import FakeSandbox, install
from tests.docker.tiny import FIRST, GREETS, write_files, write_problem


@pytest.fixture
def anyio_backend() -> str:
    """As the command runs."""
    return "asyncio"


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> FakeSandbox:
    """The sandbox of every batch here."""
    made = FakeSandbox()
    install(made, monkeypatch)
    return made


def write_many(folder: Path, **settings: object) -> Path:
    """Write a manifest of three problems and four models, of which each says its words in main.py."""
    for problem in ("p0", "p1", "p2"):
        write_problem(folder / "problems" / problem, FIRST + GREETS)
        for model in ("m0", "m1", "m2", "m3"):
            write_files(folder / "samples" / model / problem, {"main.py": f"{problem} {model}"})
    document = {
        "version": 1,
        "problems": "problems",
        "environment": {"image": "fake"},
        "submissions": [{"path": "samples/{model}/{problem}", "checkpoint": "checkpoint_1"}],
        "output": "runs",
        # A crowd that is never complete is told at once.
        "retries": {"infrastructure": 0},
        **settings,
    }
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(document))
    return manifest


class Crowd:
    """Lets nobody go before as many are there as may be."""

    def __init__(self, sandbox: FakeSandbox, word: str, size: int) -> None:
        self._sandbox = sandbox
        self._word = word
        self._size = size
        self._complete = anyio.Event()

    async def wait(self, _name: str) -> None:
        """Wait for the others, and then for those who should not come."""
        if self._sandbox.peak[self._word] >= self._size:
            self._complete.set()
        with anyio.fail_after(5):
            await self._complete.wait()
        for _ in range(100):
            await checkpoint()


@pytest.mark.parametrize(
    ("concurrency", "word", "peaks"),
    [
        ({"batch": 5}, "run", {"run": 5}),
        ({"batch": 12, "per_problem": 2}, "run", {"run": 6, "p0": 2, "p1": 2, "p2": 2}),
        ({"batch": 12, "per_label": {"model": 1}}, "run", {"run": 4, "m0": 1, "m1": 1, "m2": 1, "m3": 1}),
        ({"batch": 12, "per_problem": 1, "per_label": {"model": 1}}, "run", {"run": 3, "p0": 1, "m0": 1}),
    ],
    ids=["batch", "problem", "label", "both"],
)
async def test_limits_are_reached_and_never_exceeded(
    tmp_path: Path,
    sandbox: FakeSandbox,
    concurrency: dict[str, object],
    word: str,
    peaks: Mapping[str, int],
) -> None:
    """As many run at once as a limit allows, of the whole batch, of a problem and of a label, and no more."""
    crowd = Crowd(sandbox, word, peaks[word])
    sandbox.on_run = crowd.wait
    summary = await Batch(load_manifests([write_many(tmp_path, concurrency=concurrency)])).run()
    assert summary.counts.passed == 12
    assert {name: sandbox.peak[name] for name in peaks} == peaks


async def test_preparations_have_a_limit_of_their_own(tmp_path: Path, sandbox: FakeSandbox) -> None:
    """However many evaluations run, only so many environments are made at once."""
    # Set-up that may read any file is prepared for each submission.
    environment = {"image": "fake", "setup": [{"run": "make"}]}
    concurrency = {"batch": 12, "prepare": 3}
    manifest = write_many(tmp_path, environment=environment, concurrency=concurrency)
    crowd = Crowd(sandbox, "prepare", 3)

    async def wait(preparation: Preparation) -> None:
        # What everybody needs is made alone.
        if preparation.commands:
            await crowd.wait(preparation.key)

    sandbox.on_prepare = wait
    summary = await Batch(load_manifests([manifest])).run()
    assert summary.counts.passed == 12
    assert sandbox.peak["prepare"] == 3


async def test_the_level_that_fits_the_machine_is_found_again(
    tmp_path: Path, sandbox: FakeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `concurrency: auto` a pause of the daemon costs time, and then the level grows to the limit."""
    monkeypatch.setattr(throttle, "EVERY", 0.01)
    monkeypatch.setattr(host, "cores", lambda: 2)
    monkeypatch.setattr(host, "idle_share", lambda _before, _after: 0.9)
    latencies = iter([None])

    async def latency() -> float | None:
        return next(latencies, 0.0)

    monkeypatch.setattr(sandbox, "latency", latency)
    crowd = Crowd(sandbox, "run", 4)
    sandbox.on_run = crowd.wait
    events: list[Event] = [event async for event in run_batch(write_many(tmp_path))]
    levels = [event.concurrency for event in events if isinstance(event, AdmissionChanged)]
    assert levels == [0, 1, 2, 3, 4]
    assert sandbox.peak["run"] == 4


async def test_one_evaluation_is_cancelled(tmp_path: Path, sandbox: FakeSandbox) -> None:
    """One evaluation can be ended; it is told as interrupted, and the others have their verdicts."""
    crowd = Crowd(sandbox, "run", 13)
    first = anyio.Event()

    async def hang(said: str) -> None:
        if said == "p0 m0":
            first.set()
            await crowd.wait(said)

    sandbox.on_run = hang
    batch = Batch(load_manifests([write_many(tmp_path, concurrency=12)]))
    assert not batch.cancel_evaluation("p0-checkpoint_1-m0")
    finished: dict[str, EvaluationFinished] = {}
    async for event in run_batch(batch):
        match event:
            case EvaluationStarted(evaluation_id=str(name)) if name.startswith("p0-checkpoint_1-m0"):
                await first.wait()
                assert batch.cancel_evaluation(name)
                assert not batch.cancel_evaluation("another")
            case EvaluationFinished(evaluation_id=str(name)):
                finished[name] = event
            case _:
                pass
    broken = [event.result.broken for event in finished.values() if event.result.broken is not None]
    assert [one.kind for one in broken] == [BrokenKind.INTERRUPTED]
    assert len(finished) == 12


@pytest.mark.parametrize("way", ["break", "raise", "cancel"])
async def test_leaving_early_cleans_up(tmp_path: Path, sandbox: FakeSandbox, way: str) -> None:
    """Who leaves the loop, by whatever way, leaves no task and no lock behind, and can go on with the run."""
    before = asyncio.all_tasks()
    manifest = write_many(tmp_path, concurrency=2)
    options = BatchOptions(run_id="left")
    with anyio.CancelScope() as scope:
        events = run_batch(manifest, options)
        try:
            async for event in events:
                if isinstance(event, EvaluationFinished):
                    if way == "raise":
                        raise LookupError
                    if way == "cancel":
                        scope.cancel()
                    else:
                        break
        except LookupError:
            assert way == "raise"
        finally:
            with anyio.CancelScope(shield=True):
                await events.aclose()  # type: ignore[attr-defined]
    assert asyncio.all_tasks() == before
    assert sandbox.now["run"] == 0
    summary = await Batch(load_manifests([manifest]), BatchOptions(resume="left")).run()
    assert summary.counts.passed == 12
    lines = (tmp_path / "runs" / "left" / "results.jsonl").read_bytes().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == 12


async def test_a_cancelled_run_lets_go_of_its_journal(tmp_path: Path, sandbox: FakeSandbox) -> None:
    """A batch whose scope is cancelled can be resumed at once, in the same process."""
    manifest = write_many(tmp_path, concurrency=2)
    started = anyio.Event()

    async def hang(_said: str) -> None:
        started.set()
        await anyio.sleep_forever()

    sandbox.on_run = hang
    async with anyio.create_task_group() as group:
        group.start_soon(Batch(load_manifests([manifest]), BatchOptions(run_id="cut")).run)
        await started.wait()
        group.cancel_scope.cancel()
    sandbox.on_run = FakeSandbox().on_run
    summary = await Batch(load_manifests([manifest]), BatchOptions(resume="cut")).run()
    assert (summary.counts.passed, summary.exit_code) == (12, 0)
