"""The arena: hostile cases run beside honest neighbours on a real Docker Engine, ahead of who asks for them.

All run in one event loop in a thread of its own, a few at a time; a test waits for the case that it asks
about. An honest submission runs the whole time, so that every hostile one has a neighbour.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from engine.environment import EnvironmentSpec
from engine.expectations import Expectations
from engine.grading import judge
from engine.locks import Locks
from engine.prepare import Preparer
from engine.problem import load_problem
from engine.results import Broken, Verdict
from engine.runner import Evaluated, PytestRunner, Workshop
from engine.sandbox import Sandbox
from engine.sandbox.choice import open_sandbox
from tests.hostile.collection import HERE, SECRETS, Case, demanding

AT_ONCE = 3
POLICY = "core-cases"


class Bout(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in the arena."""

    evaluated: Evaluated
    started: float
    ended: float

    @property
    def verdict(self) -> Verdict:
        """What the engine says."""
        return judge(self.evaluated.results, POLICY)

    @property
    def broken(self) -> Broken | None:
        """Why there is no verdict, where there is none."""
        return self.evaluated.results.broken

    @property
    def warnings(self) -> set[str]:
        """The names of the integrity warnings."""
        return {warning.name for warning in self.evaluated.results.integrity}

    def said(self) -> str:
        """Everything that came out: what pytest printed, messages, raw reports."""
        evaluated = self.evaluated
        messages = [test.failure_message or "" for test in evaluated.results.tests]
        reports = [report.decode("utf-8", "replace") for report in evaluated.reports.values()]
        return "\n".join([evaluated.stdout.text(), evaluated.stderr.text(), *messages, *reports])

    def leaked(self) -> list[str]:
        """The secrets that occur in anything that came out."""
        said = self.said()
        return [secret for secret in SECRETS if secret in said]

    def spoils(self) -> str:
        """What the submission says it found, which the last test of the problem shows."""
        shown = (test for test in self.evaluated.results.tests if test.id == "test_leaves_no_spoils")
        return "".join(test.failure_message or "" for test in shown if test.status != "passed")

    def overlaps(self, other: "Bout") -> bool:
        """Whether both ran at the same time."""
        return self.started < other.ended and other.started < self.ended

    def story(self) -> str:
        """What happened, for the message of a test that fails."""
        results = self.evaluated.results
        tests = "\n".join(
            f"  {test.id} {test.status}: {(test.failure_message or '')[-1500:]}"
            for test in results.tests
            if test.status != "passed"
        )
        return (
            f"{self.verdict} {self.broken}\n{self.warnings}\n{tests}\n{self.evaluated.stderr.text()[-1500:]}"
        )


def environment_of(case: Case, image: str) -> EnvironmentSpec:
    """Return the environment that a case runs under."""
    return EnvironmentSpec(
        image=image, setup=case.setup, resources=case.resources, hide_tests=case.hide_tests
    )


def workshop_in(folder: Path, sandbox: Sandbox) -> Workshop:
    """Set up a workshop that keeps what it learns in a folder of this session."""
    preparer = Preparer(sandbox, Locks(folder / "locks"))
    return Workshop(
        sandbox=sandbox, preparer=preparer, expectations=Expectations(sandbox, folder / "expectations")
    )


async def fight(case: Case, submission: Path, image: str, workshop: Workshop) -> Bout:
    """Evaluate the submission of a case."""
    problem = load_problem(HERE / case.problem)
    runner = PytestRunner(
        problem, problem.checkpoints[0], environment_of(case, image), submission, case.limits
    )
    started = time.monotonic()
    evaluated = await runner.evaluate(workshop)
    return Bout(evaluated=evaluated, started=started, ended=time.monotonic())


class Arena:
    """Cases under way, their bouts, and those of the honest neighbour."""

    def __init__(self, cases: Iterable[Case], image: str, folder: Path) -> None:
        self._futures: dict[str, Future[Bout]] = {case.name: Future() for case in cases}
        self._cases = tuple(cases)
        self._image = image
        self._folder = folder
        self._over = False
        self._neighbours: list[Bout] = []
        self._one_more = threading.Condition()

    def bout(self, case: Case) -> Bout:
        """Wait for the bout of a case."""
        return self._futures[case.name].result()

    def neighbours_of(self, bout: Bout) -> list[Bout]:
        """Return the honest evaluations that ran beside a bout, waiting for the last of them."""
        with self._one_more:
            self._one_more.wait_for(lambda: any(one.ended > bout.ended for one in self._neighbours))
        return [neighbour for neighbour in self._neighbours if neighbour.overlaps(bout)]

    def bouts(self) -> dict[str, Bout]:
        """Wait for all."""
        return {name: future.result() for name, future in self._futures.items()}

    def run_to_the_end(self) -> None:
        """Run all, and let nobody wait for ever if that fails."""
        try:
            anyio.run(self.run)
        except BaseException as error:
            for future in self._futures.values():
                if not future.done():
                    future.set_exception(error)
            raise

    async def run(self) -> None:
        """Run every case, with an honest neighbour at all times."""
        async with open_sandbox("docker") as sandbox:
            workshop = workshop_in(self._folder, sandbox)
            control = demanding().assemble(self._folder / "neighbour")
            # What everybody needs is made first, or the first cases would run without a neighbour.
            await self._fight_neighbour(control, workshop)
            async with anyio.create_task_group() as group:
                group.start_soon(self._be_neighbour, control, workshop)
                await self._run_cases(workshop)
                self._over = True
            # One that began after the last case had ended.
            await self._fight_neighbour(control, workshop)

    async def _run_cases(self, workshop: Workshop) -> None:
        limiter = anyio.CapacityLimiter(AT_ONCE)
        async with anyio.create_task_group() as group:
            for case in self._cases:
                await limiter.acquire_on_behalf_of(case.name)
                group.start_soon(self._run_case, case, workshop, limiter)

    async def _run_case(self, case: Case, workshop: Workshop, limiter: anyio.CapacityLimiter) -> None:
        future = self._futures[case.name]
        try:
            submission = await anyio.to_thread.run_sync(case.assemble, self._folder / case.name)
            future.set_result(await fight(case, submission, self._image, workshop))
        except Exception as error:  # noqa: BLE001 - whoever asks for the case gets it
            future.set_exception(error)
        finally:
            limiter.release_on_behalf_of(case.name)

    async def _be_neighbour(self, control: Path, workshop: Workshop) -> None:
        while not self._over:
            await self._fight_neighbour(control, workshop)

    async def _fight_neighbour(self, control: Path, workshop: Workshop) -> None:
        bout = await fight(demanding(), control, self._image, workshop)
        with self._one_more:
            self._neighbours.append(bout)
            self._one_more.notify_all()


@contextmanager
def open_arena(cases: Iterable[Case], image: str, folder: Path) -> Iterator[Arena]:
    """Run an arena in a thread of its own, until all is over."""
    arena = Arena(tuple(cases), image, folder)
    thread = threading.Thread(target=arena.run_to_the_end, name="arena")
    thread.start()
    try:
        yield arena
    finally:
        thread.join()
