"""`scbench plan`: show what would run, without running it."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import anyio
import click
import msgspec
from rich.console import Console
from rich.table import Table

from engine.cli.sources import Sources, source_options
from engine.durations import Durations
from engine.errors import SandboxUnavailable
from engine.evaluation import Evaluation
from engine.explain import Row, explain
from engine.foresight import Foresight
from engine.grading import judge
from engine.locks import Locks
from engine.manifest import Manifest
from engine.paths import cache_folder, state_folder
from engine.plan import expand
from engine.preparations import Preparations, Preparing
from engine.quantities import spoken_duration
from engine.sandbox.choice import open_sandbox
from engine.store import Store
from engine.treehash import TreeHasher

_MOST_LABEL_VALUES = 12


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about an evaluation before it runs."""

    # Why it need not run, such as "passed on 2026-05-04 under this fingerprint"; None where it must.
    answered: str | None = None
    # How long it took earlier.
    seconds: float | None = None


Foresee = Callable[[Evaluation], Forecast]


def nothing_known(_evaluation: Evaluation) -> Forecast:
    """Foresee nothing: every evaluation must run, and nobody knows for how long."""
    return Forecast()


class PlannedEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--format json`."""

    id: str
    problem_name: str
    checkpoint_name: str
    submission: str
    environment: str
    labels: Mapping[str, str]
    repeat_index: int
    limits: Mapping[str, float | None]
    answered: str | None
    seconds: float | None


class Overview:
    """Counts over a plan, gathered while it is expanded."""

    def __init__(self) -> None:
        self.total = 0
        self.answered = 0
        self.seconds = 0.0
        self.timed = 0
        self.rows: Counter[tuple[str, str, str]] = Counter()
        self.stored: Counter[tuple[str, str, str]] = Counter()
        self.labels: dict[str, Counter[str]] = {}
        self.preparations = Preparations()

    def add(self, evaluation: Evaluation, forecast: Forecast) -> None:
        """Count one evaluation."""
        row = (evaluation.problem_name, evaluation.checkpoint, evaluation.environment.name)
        self.total += 1
        self.rows[row] += 1
        for key, value in evaluation.labels:
            self.labels.setdefault(key, Counter())[value] += 1
        if forecast.answered is not None:
            self.answered += 1
            self.stored[row] += 1
            return
        self.preparations.add(evaluation)
        if forecast.seconds is not None:
            self.timed += 1
            self.seconds += forecast.seconds

    def estimate(self, concurrency: int | None) -> float | None:
        """Seconds that the whole may take, from earlier durations; None where there are too few."""
        pending = self.total - self.answered
        if not self.timed or concurrency is None:
            return None
        return self.seconds / self.timed * pending / min(concurrency, pending)


@click.command()
@source_options
@click.option("--select", multiple=True, metavar="GLOB", help="Only problem/checkpoint/label that fit.")
@click.option("--explain", "explained", is_flag=True, help="Say where each resolved value came from.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="For people or scripts."
)
@click.option("--rehash", is_flag=True, help="Read every file again, also those that look unchanged.")
def plan(sources: Sources, select: tuple[str, ...], explained: bool, form: str, rehash: bool) -> None:
    """Show what would run, what is known already and what must be prepared.

    \b
    Example:
      scbench plan manifests/quickstart.yaml
      scbench plan --explain --select 'ledger/*' manifests/quickstart.yaml
    """
    manifest = sources.load()
    with contextlib.ExitStack() as stack:
        foresee = _foreseer(manifest, stack, rehash=rehash)
        if form == "json":
            write_json(manifest, select, foresee)
        else:
            show(manifest, select, foresee, explained=explained)


def _foreseer(manifest: Manifest, stack: contextlib.ExitStack, *, rehash: bool) -> Foresee:
    """Look into the store, where the images that results depend on are here."""
    digests = anyio.run(known_digests, manifest)
    foresight = Foresight(
        digests,
        Locks(state_folder() / "locks"),
        Store(state_folder() / "results"),
        stack.enter_context(TreeHasher(cache_folder() / "hashes.sqlite", rehash=rehash)),
        stack.enter_context(Durations(state_folder() / "durations.sqlite")),
    )

    def foresee(evaluation: Evaluation) -> Forecast:
        stored = foresight.stored(evaluation) if digests else None
        if stored is not None:
            verdict = judge(stored, manifest.policy)
            return Forecast(answered=f"{verdict} under the same fingerprint")
        return Forecast(seconds=foresight.seconds(evaluation))

    return foresee


async def known_digests(manifest: Manifest) -> dict[str, str]:
    """Tell the digests of the images that are here; none where no daemon answers."""
    specs = {spec for part in manifest.parts for spec in (*part.matrix, *part.environments.values())}
    digests: dict[str, str] = {}
    for spec in specs:
        with contextlib.suppress(SandboxUnavailable):
            async with open_sandbox(spec.sandbox, sweep=False) as sandbox:
                digest = await sandbox.known_digest(spec.image)
                digests |= {} if digest is None else {spec.image: digest}
    return digests


def write_json(manifest: Manifest, select: tuple[str, ...], foresee: Foresee) -> None:
    """Print one JSON document, an evaluation a line, as the plan is expanded."""
    encoder = msgspec.json.Encoder()
    output = sys.stdout.buffer
    settings = {
        "name": manifest.name,
        "policy": manifest.policy,
        "output": manifest.output,
        "concurrency": manifest.concurrency,
        "retries": manifest.retries,
        "environments": {spec.name: spec for part in manifest.parts for spec in part.matrix},
        "values": [row for part in manifest.parts for row in explain(part)],
    }
    output.write(encoder.encode(settings)[:-1] + b',"evaluations":[')
    for number, evaluation in enumerate(expand(manifest, select)):
        output.write(
            (b",\n" if number else b"\n") + encoder.encode(_planned(evaluation, foresee(evaluation)))
        )
    output.write(b"\n]}\n")
    output.flush()


def _planned(evaluation: Evaluation, forecast: Forecast) -> PlannedEvaluation:
    return PlannedEvaluation(
        id=evaluation.id,
        problem_name=evaluation.problem_name,
        checkpoint_name=evaluation.checkpoint,
        submission=evaluation.submission,
        environment=evaluation.environment.name,
        labels=dict(evaluation.labels),
        repeat_index=evaluation.repeat_index,
        limits=msgspec.structs.asdict(evaluation.limits),
        answered=forecast.answered,
        seconds=forecast.seconds,
    )


def show(manifest: Manifest, select: tuple[str, ...], foresee: Foresee, *, explained: bool) -> None:
    """Print the plan as tables."""
    overview = Overview()
    for evaluation in expand(manifest, select):
        overview.add(evaluation, foresee(evaluation))
    console = Console(highlight=False)
    if explained:
        for part in manifest.parts:
            console.print(_values_table(explain(part)))
    console.print(_overview_table(overview))
    for line in _lines(manifest, overview):
        console.print(line, markup=False, soft_wrap=True)


def _values_table(rows: Iterator[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("key", "value", "from"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(row.key, row.value, row.origin)
    return table


def _overview_table(overview: Overview) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("problem", "checkpoint", "environment"):
        table.add_column(heading, overflow="fold")
    table.add_column("evaluations", justify="right")
    table.add_column("stored", justify="right")
    for row, count in overview.rows.items():
        table.add_row(*row, str(count), str(overview.stored[row] or ""))
    return table


def _lines(manifest: Manifest, overview: Overview) -> Iterator[str]:
    for key, values in sorted(overview.labels.items()):
        common = ", ".join(f"{value} ({count})" for value, count in values.most_common(_MOST_LABEL_VALUES))
        more = len(values) - _MOST_LABEL_VALUES
        yield f"{key}: {common}" + (f" and {more} more" if more > 0 else "")
    yield ""
    yield f"{overview.total} evaluations, {overview.answered} answered from the store"
    yield from _prepared(overview.preparations.counted())
    batch = manifest.concurrency.batch
    seconds = overview.estimate(batch if isinstance(batch, int) else None)
    if seconds is not None:
        yield f"about {spoken_duration(round(seconds))}, from {overview.timed} earlier durations"
    yield from (f"warning: {warning}" for warning in manifest.warnings)


def _prepared(preparing: Preparing) -> Iterator[str]:
    yield (
        f"to prepare, where not done before: {preparing.toolchains} test toolchains,"
        f" {preparing.environments} environments of submissions"
    )
    if preparing.per_submission:
        yield (
            f"{preparing.per_submission} submissions are prepared one by one: their set-up does not say"
            " its inputs"
        )
