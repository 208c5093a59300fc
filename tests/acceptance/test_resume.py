"""Going on with a run, and what is known from earlier ones: nothing lost, nothing twice, nothing in vain."""

import functools
import json
import random
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio
import pytest

from engine import Batch, BatchOptions, run_batch, throttle
from engine.batch import Summary
from engine.errors import UserError
from engine.events import (
    EvaluationFinished,
    EvaluationFlaky,
    EvaluationRetried,
    EvaluationStarted,
    Event,
    decode,
    decode_result,
)
from engine.journal import Rerun
from engine.manifest import load_manifests
from engine.results import Broken, BrokenKind
from engine.sandbox import Job, Run
from engine.work import SchedulerSettings
from tests.acceptance.fake_sandbox import FakeSandbox, install, run_of
from tests.docker.tiny import FIRST, GREETS, read_lines, write_files, write_problem
from tests.soak import Soak, rehearse

MODELS = {"right": "hello", "wrong": "wrong", "refused": "refused"}


@pytest.fixture
def anyio_backend() -> str:
    """As the command runs."""
    return "asyncio"


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> FakeSandbox:
    """The sandbox of every batch here: what says so is refused, what is wrong fails."""
    made = FakeSandbox()
    honest = made.answer

    def answer(said: str, job: Job) -> Run:
        refused = Run(broken=Broken.of(BrokenKind.TAMPERED, "refused"))
        return refused if said.endswith("refused") else honest(said, job)

    made.answer = answer
    install(made, monkeypatch)
    return made


def write_manifest(folder: Path, models: Iterable[str] = MODELS, **settings: object) -> Path:
    """Write a manifest as it stands, for two problems and some models."""
    document = {
        "version": 1,
        "problems": "problems",
        "environment": {"image": "fake"},
        "evaluations": [
            {
                "problem": problem,
                "checkpoint": "checkpoint_1",
                "submission": f"samples/{problem}/{model}",
                "labels": {"model": f"{problem} {model}"},
            }
            for problem in ("p0", "p1")
            for model in models
        ],
        "concurrency": 2,
        "output": "runs",
        **settings,
    }
    manifest = folder / "manifest.yaml"
    manifest.write_text(json.dumps(document))
    return manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two problems, each with an asset and one submission for each model."""
    for problem in ("p0", "p1"):
        assets = {"table": {"path": "table.txt"}}
        files = {"table.txt": "1 2 3"}
        write_problem(tmp_path / "problems" / problem, FIRST + GREETS, files, static_assets=assets)
        for model, main in MODELS.items():
            write_files(tmp_path / "samples" / problem / model, {"main.py": f"{problem} {main}"})
    write_files(tmp_path, {"lock.txt": "pytest==9.0\n"})
    write_manifest(tmp_path)
    return tmp_path


async def run(folder: Path, options: BatchOptions | None = None) -> Summary:
    """Run the manifest of a folder."""
    return await Batch(load_manifests([folder / "manifest.yaml"]), options or BatchOptions()).run()


def verdicts(summary: Summary) -> dict[str, str]:
    """Return the verdict of each evaluation, of which there is one line."""
    lines = read_lines(Path(summary.path) / "results.jsonl")
    return {name: line.verdict for name, line in lines.items()}


ALL = {
    f"{problem} {model}": verdict
    for problem in ("p0", "p1")
    for model, verdict in (("right", "passed"), ("wrong", "failed"), ("refused", "broken"))
}


@pytest.mark.docker
@pytest.mark.slow
def test_soak_in_short(tmp_path: Path, image: str) -> None:
    """Killed with SIGKILL at random moments, a run of real containers has one correct result for each."""
    tally = rehearse(Soak(evaluations=20, kills=4, seed=random.randrange(1_000_000)), tmp_path, image)
    assert tally.kills == 4


@pytest.mark.parametrize("seed", range(8))
async def test_a_journal_cut_anywhere_is_gone_on_with(folder: Path, sandbox: FakeSandbox, seed: int) -> None:
    """However little of the journal reached the disk, with a torn last line, a resume completes the run."""
    first = await run(folder, BatchOptions(run_id="cut"))
    assert verdicts(first) == ALL
    journal = Path(first.path) / "events.jsonl"
    content = journal.read_bytes()
    length = random.Random(seed).randrange(len(content))
    journal.write_bytes(content[:length])
    (Path(first.path) / "results.jsonl").write_bytes(b'{"torn')
    kept = content[:length].count(b'"event":"evaluation_finished"')
    sandbox.ran.clear()
    seen: list[bytes] = []

    async def look(_said: str) -> None:
        seen.extend((Path(first.path) / "results.jsonl").read_bytes().splitlines())

    sandbox.on_run = look
    again = await run(folder, BatchOptions(resume="last", use_cache=False))
    # Also while it runs, whoever reads the results meets whole lines only.
    assert not kept or all(decode_result(line).id for line in seen)
    assert verdicts(again) == ALL
    assert again.counts == first.counts
    assert 6 - kept <= len(sandbox.ran) <= 6 - kept + 1
    events = [decode(line) for line in journal.read_bytes().splitlines()]
    finished = [event.result.id for event in events if isinstance(event, EvaluationFinished)]
    assert len(finished) == len(set(finished)) == 6


async def test_a_run_that_was_killed_before_its_first_event(folder: Path, sandbox: FakeSandbox) -> None:
    """A run that has a folder and nothing else is gone on with by its id."""
    (folder / "runs" / "early" / "evaluations").mkdir(parents=True)
    summary = await run(folder, BatchOptions(resume="early"))
    assert verdicts(summary) == ALL


async def test_a_plan_is_remembered_over_many_sessions(folder: Path, sandbox: FakeSandbox) -> None:
    """A session tells that it begins before it tells its plan, so that the next one is not refused."""
    summary = await run(folder, BatchOptions(run_id="again"))
    for _ in range(4):
        summary = await run(folder, BatchOptions(resume="again", rerun="all"))
    events = [decode(line) for line in (Path(summary.path) / "events.jsonl").read_bytes().splitlines()]
    names = [str(event.__struct_config__.tag) for event in events]
    begins = [place for place, name in enumerate(names) if name == "run_started"]
    assert [names[place - 1] for place in begins[1:]] == ["run_finished"] * 4


async def test_a_changed_plan_is_refused(folder: Path, sandbox: FakeSandbox) -> None:
    """A resume with another plan is refused, with what came and what went, unless it is forced."""
    first = await run(folder, BatchOptions(run_id="first"))
    write_files(folder / "samples" / "p0" / "new", {"main.py": "p0 new"})
    write_files(folder / "samples" / "p1" / "new", {"main.py": "p1 new"})
    write_manifest(folder, ("right", "wrong", "new"))
    with pytest.raises(UserError) as refused:
        await run(folder, BatchOptions(resume="first"))
    told = str(refused.value).splitlines()
    assert [line[:27] for line in told if line[0] in "+-"] == [
        *("+ p0-checkpoint_1-p0-new-de", "+ p1-checkpoint_1-p1-new-de"),
        *("- p0-checkpoint_1-p0-refuse", "- p1-checkpoint_1-p1-refuse"),
    ]
    assert "--force" in told[-1]
    sandbox.ran.clear()
    forced = await run(folder, BatchOptions(resume="first", force=True))
    assert sorted(sandbox.ran) == ["p0 new", "p1 new"]
    assert (forced.run_id, len(verdicts(forced))) == (first.run_id, 8)


@pytest.mark.parametrize(
    ("rerun", "wanted"),
    [
        (None, []),
        ("broken", ["p0 refused", "p1 refused"]),
        ("failed", ["p0 wrong", "p1 wrong"]),
        ("all", ["p0 hello", "p0 refused", "p0 wrong", "p1 hello", "p1 refused", "p1 wrong"]),
    ],
)
async def test_rerun_chooses_by_verdict(
    folder: Path, sandbox: FakeSandbox, rerun: Rerun | None, wanted: list[str]
) -> None:
    """A resume runs what was asked for again, and each new line says which attempt it replaces."""
    await run(folder, BatchOptions(run_id="first"))
    sandbox.ran.clear()
    summary = await run(folder, BatchOptions(resume="first", rerun=rerun))
    assert sorted(sandbox.ran) == wanted
    assert verdicts(summary) == ALL
    lines = map(json.loads, (Path(summary.path) / "results.jsonl").read_text().splitlines())
    replaced = {line["labels"]["model"] for line in lines if (line["attempt"], line["supersedes"]) == (2, 1)}
    assert len(replaced) == len(wanted)


async def test_an_unchanged_rerun_runs_nothing(folder: Path, sandbox: FakeSandbox) -> None:
    """Everything that has a verdict is answered from the store; broken is never an answer."""
    await run(folder)
    sandbox.ran.clear()
    again = await run(folder)
    assert sorted(sandbox.ran) == ["p0 refused", "p1 refused"]
    assert again.counts.cached == 4
    assert verdicts(again) == ALL


async def test_equal_evaluations_at_once_run_once(folder: Path, sandbox: FakeSandbox) -> None:
    """Two evaluations that differ in nothing but a label share one run, also when they start together."""
    await run(folder, BatchOptions(select=("p1",)))
    for name in ("twin-1", "twin-2"):
        write_files(folder / "samples" / "p0" / name, {"main.py": "p0 twin"})
        write_files(folder / "samples" / "p1" / name, {"main.py": "p1 twin"})
    write_manifest(folder, ("twin-1", "twin-2"))
    sandbox.ran.clear()
    summary = await run(folder)
    assert sorted(sandbox.ran) == ["p0 twin", "p1 twin"]
    assert (summary.counts.passed, summary.counts.cached) == (4, 2)


def append(path: str, text: str = "\n") -> Callable[[Path], object]:
    """Return the change that adds a byte, or a text, to a file."""

    def change(folder: Path) -> None:
        with (folder / path).open("a") as file:
            file.write(text)

    return change


def executable(path: str) -> Callable[[Path], object]:
    """Return the change of a mode bit."""
    return lambda folder: (folder / path).chmod((folder / path).stat().st_mode | stat.S_IXUSR)


def setting(**settings: object) -> Callable[[Path], object]:
    """Return a change of the manifest."""

    def change(folder: Path) -> None:
        manifest = folder / "manifest.yaml"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | settings))

    return change


def relabel(folder: Path) -> None:
    """Change every label."""
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace('"model": "p', '"model": "q'))


LOCKED = {"image": "fake", "lock": "lock.txt"}
ONE, OF_P0, ANY = ["p0 hello"], ["p0 hello", "p0 wrong"], ["p0 hello", "p0 wrong", "p1 hello", "p1 wrong"]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        pytest.param(append("problems/p0/tests/test_checkpoint_1.py"), OF_P0, id="test"),
        pytest.param(append("problems/p0/tests/conftest.py"), OF_P0, id="conftest"),
        pytest.param(executable("problems/p0/tests/conftest.py"), OF_P0, id="mode of a test file"),
        pytest.param(append("problems/p0/table.txt"), OF_P0, id="asset"),
        pytest.param(append("samples/p0/right/main.py"), ONE, id="submission"),
        pytest.param(executable("samples/p0/right/main.py"), ONE, id="mode of a submitted file"),
        pytest.param(append("lock.txt", "six==1.0\n"), ANY, id="locked versions"),
        pytest.param(setting(timeouts={"test": "7s"}), ANY, id="time limit"),
        pytest.param(setting(resources={"memory": "300MiB"}), ANY, id="memory limit"),
        pytest.param(setting(environment=LOCKED | {"env": {"A": "1"}}), ANY, id="variable"),
        pytest.param(
            setting(environment=LOCKED | {"entrypoint": "python -u {entry_file}"}), ANY, id="command"
        ),
        pytest.param(append("manifest.yaml", "# why\n"), [], id="comment in the manifest"),
        pytest.param(setting(policy="any-case"), [], id="policy"),
        pytest.param(setting(concurrency={"batch": 7, "per_problem": 1}), [], id="concurrency"),
        pytest.param(setting(retries={"infrastructure": 5}), [], id="retries"),
        pytest.param(setting(timeouts={"batch": "1h"}), [], id="time limit of the batch"),
        pytest.param(relabel, [], id="label"),
        pytest.param(lambda folder: (folder / "samples/p0/right/main.py").touch(), [], id="time of a file"),
        pytest.param(lambda folder: (folder / "problems/p0/README").write_text("new"), [], id="file beside"),
    ],
)
async def test_what_runs_again(
    folder: Path, sandbox: FakeSandbox, change: Callable[[Path], object], wanted: list[str]
) -> None:
    """Exactly the evaluations whose outcome may depend on a change run again."""
    write_manifest(folder, ("right", "wrong"), environment=LOCKED)
    await run(folder)
    sandbox.ran.clear()
    change(folder)
    await run(folder)
    assert sorted(sandbox.ran) == wanted


async def events_of(folder: Path, options: BatchOptions | None = None) -> list[Event]:
    """Run the manifest of a folder and return everything that happened."""
    return [event async for event in run_batch(folder / "manifest.yaml", options or BatchOptions())]


def names_of(events: Iterable[Event]) -> list[str]:
    """Return the names of events of evaluations."""
    return [str(event.__struct_config__.tag) for event in events if event.evaluation_id is not None]


@pytest.mark.parametrize("reason", ["starved", "silent daemon"])
async def test_a_time_limit_that_others_are_to_blame_for(
    folder: Path, sandbox: FakeSandbox, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """What hit a limit for lack of CPU, or of a daemon that answers, has a second chance alone, last."""
    write_manifest(folder, ("right", "wrong"))
    tried: list[str] = []
    answers = iter([None, 0.0])
    begun, noted = anyio.Event(), anyio.Event()

    async def latency() -> float | None:
        answer = next(answers, 0.0) if begun.is_set() else 0.0
        if begun.is_set() and answer is not None:
            # By now the silence before it was taken note of.
            noted.set()
        return answer

    async def wait(_said: str) -> None:
        begun.set()
        await noted.wait()

    def answer(said: str, job: Job) -> Run:
        tried.append(said)
        if said == "p0 hello" and tried.count(said) == 1:
            limit = Broken.of(BrokenKind.EVALUATION_TIMEOUT, "too slow")
            return Run(broken=limit, cpu={"waited": 100.0 if reason == "starved" else 0.0})
        return run_of("passed", job.only)

    sandbox.answer = answer
    # A share of next to no time is none.
    roomy = functools.partial(SchedulerSettings, alone_share=1000.0)
    monkeypatch.setattr("engine.batch.SchedulerSettings", roomy)
    if reason == "silent daemon":
        monkeypatch.setattr(throttle, "EVERY", 0.01)
        monkeypatch.setattr(sandbox, "latency", latency)
        sandbox.on_run = wait
    events = await events_of(folder)
    again = [event for event in events if event.evaluation_id and "p0-right" in event.evaluation_id]
    assert names_of(again) == [
        *("evaluation_started", "evaluation_retried"),
        *("evaluation_started", "evaluation_finished"),
    ]
    assert [event.alone for event in again if isinstance(event, EvaluationStarted | EvaluationRetried)] == [
        *(False, True, True),
    ]
    assert tried[-1] == "p0 hello"
    last = [event for event in events if isinstance(event, EvaluationFinished)][-1].result
    assert (last.verdict, last.attempt, last.attempts) == ("passed", 2, 2)


async def test_flaky_tests_are_found_also_of_stored_results(folder: Path, sandbox: FakeSandbox) -> None:
    """`--rerun-failing` runs only what failed, says what changed its mind, and never improves a verdict."""
    write_manifest(folder, ("wrong",))
    await run(folder)
    sandbox.answer = lambda _said, job: run_of("passed", job.only)
    sandbox.ran.clear()
    events = await events_of(folder, BatchOptions(rerun_failing=2))
    assert sorted(sandbox.ran) == ["p0 wrong"] * 2 + ["p1 wrong"] * 2
    flaky = [event for event in events if isinstance(event, EvaluationFlaky)]
    assert [event.tests[0].statuses for event in flaky] == [("failed", "passed", "passed")] * 2
    results = [event.result for event in events if isinstance(event, EvaluationFinished)]
    assert [(result.verdict, result.cached) for result in results] == [("failed", True)] * 2


@pytest.mark.parametrize(
    ("models", "options", "code"),
    [
        (("right",), BatchOptions(fail_on="failed"), 0),
        (("right", "wrong"), BatchOptions(), 0),
        (("right", "wrong"), BatchOptions(fail_on="failed"), 1),
        (("wrong", "refused"), BatchOptions(fail_on="failed"), 3),
    ],
)
async def test_exit_codes_in_their_order(
    folder: Path, sandbox: FakeSandbox, models: tuple[str, ...], options: BatchOptions, code: int
) -> None:
    """Broken comes before not passed, and that counts only where it was asked for."""
    write_manifest(folder, models)
    assert (await run(folder, options)).exit_code == code
