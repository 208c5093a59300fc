"""PytestRunner: one submission against one checkpoint, to one result.

It owns every time limit of one evaluation. It has no retry and no store: what it could not judge is in
its result, and the scheduler decides what follows.
"""

import time
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from engine.environment import EnvironmentSpec, Limits, entry_command
from engine.expectations import Expectation, Expectations
from engine.grading import Rubric, grade
from engine.integrity import examine
from engine.locks import Locks
from engine.paths import state_folder
from engine.prepare import TEST_PACKAGES, Preparer, wanted_environment, wanted_toolchain
from engine.problem import CheckpointConfig, ProblemConfig
from engine.results import Broken, BrokenKind, CorrectnessResults, EnvironmentRecord, Output, tally
from engine.sandbox import Archive, Job, OnProgress, Prepared, Progress, Run, Sandbox, Shell
from engine.sandbox.launch import certificate_archives
from engine.workspace import TestTree, discard, submission_archive, test_tree

STARVED_SHARE = 0.25


class Workshop(msgspec.Struct, frozen=True, kw_only=True):
    """What evaluations of one batch share: the sandbox, what is prepared, what tests are expected."""

    sandbox: Sandbox
    preparer: Preparer
    expectations: Expectations

    @classmethod
    def of(cls, sandbox: Sandbox, prepare_at_once: int = 2) -> "Workshop":
        """Set up everything around a sandbox."""
        preparer = Preparer(sandbox, Locks(state_folder() / "locks"), prepare_at_once)
        expectations = Expectations(sandbox, state_folder() / "expectations")
        return cls(sandbox=sandbox, preparer=preparer, expectations=expectations)


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one evaluation and what it left to look at."""

    results: CorrectnessResults
    stdout: Output = Output()
    stderr: Output = Output()
    reports: Mapping[str, bytes] = {}
    # It hit a time limit while its processes waited for a CPU that others had.
    starved: bool = False


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that stands before pytest can run."""

    digest: str
    toolchain: Prepared
    environment: Prepared
    # An environment without set-up: nothing of any submission is in it.
    bare: Prepared
    tree: TestTree


def _ignore(_progress: Progress) -> None:
    pass


class PytestRunner:
    """Evaluates one submission at one checkpoint in one environment."""

    def __init__(
        self,
        problem: ProblemConfig,
        checkpoint: CheckpointConfig,
        environment: EnvironmentSpec,
        submission_path: Path,
        limits: Limits | None = None,
    ) -> None:
        self.problem = problem
        self.checkpoint = checkpoint
        self.environment = environment
        self.submission_path = Path(submission_path)
        timeout = problem.timeout_for(checkpoint.name)
        default = Limits() if timeout is None else Limits(test=timeout)
        self.limits = limits if limits is not None else default

    async def run(self, workshop: Workshop | None = None) -> CorrectnessResults:
        """Evaluate and return the results; without a workshop, in a sandbox of its own."""
        from engine.sandbox.choice import open_sandbox

        if workshop is not None:
            return (await self.evaluate(workshop)).results
        async with open_sandbox(self.environment.sandbox) as sandbox:
            return (await self.evaluate(Workshop.of(sandbox))).results

    async def evaluate(
        self,
        workshop: Workshop,
        on_progress: OnProgress = _ignore,
        evaluation_id: str = "evaluation",
        only: tuple[str, ...] = (),
    ) -> Evaluated:
        """Prepare, run and judge, all tests or only some; whatever goes wrong is in the result."""
        started = time.monotonic()
        on_progress(Progress(phase="prepare"))
        ground = await self._prepare(workshop, on_progress)
        prepared = time.monotonic() - started
        if isinstance(ground, Broken):
            return Evaluated(results=self._unjudged(ground, {"prepare": prepared}))
        job = await self._job(ground, evaluation_id)
        if isinstance(job, Broken):
            return Evaluated(results=self._unjudged(job, {"prepare": prepared}))
        try:
            expected = await workshop.expectations.of(_collecting(job, ground))
            if isinstance(expected, Broken):
                return Evaluated(results=self._unjudged(expected, {"prepare": time.monotonic() - started}))
            if expected.needs_submission:
                job = msgspec.structs.replace(job, sealed=False)
            if only:
                job = msgspec.structs.replace(job, only=only)
                expected = msgspec.structs.replace(expected, ids=only)
            prepared = time.monotonic() - started
            run = await workshop.sandbox.run(job, on_progress)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(discard, job.archives)
        if run.broken is not None and run.broken.kind is BrokenKind.DAEMON_ERROR:
            workshop.preparer.forget(ground.toolchain)
            workshop.preparer.forget(ground.environment)
        timings = {"prepare": prepared, "run": time.monotonic() - started - prepared, **run.timings}
        return self._conclude(job, ground, run, expected, timings)

    async def shell(self, workshop: Workshop, shell: Shell) -> int | Broken:
        """Prepare and lay out everything, then hand the terminal over; return the exit code."""
        ground = await self._prepare(workshop)
        if isinstance(ground, Broken):
            return ground
        job = await self._job(ground, "debug")
        if isinstance(job, Broken):
            return job
        try:
            return await workshop.sandbox.shell(job, shell)
        finally:
            await anyio.to_thread.run_sync(discard, job.archives)

    async def _prepare(self, workshop: Workshop, on_progress: OnProgress = _ignore) -> Ground | Broken:
        environment, submission = self.environment, self.submission_path
        digest = await workshop.sandbox.image_digest(environment.image, on_progress)
        if isinstance(digest, Broken):
            return digest
        bare = msgspec.structs.replace(environment, setup=())
        wanted = (
            wanted_toolchain(environment, digest, self.problem.test_dependencies),
            await anyio.to_thread.run_sync(wanted_environment, bare, digest, submission, self.limits.setup),
            await anyio.to_thread.run_sync(
                wanted_environment, environment, digest, submission, self.limits.setup
            ),
        )
        made: list[Prepared] = []
        for one in wanted:
            prepared = await workshop.preparer.get(one)
            if isinstance(prepared, Broken):
                return prepared
            made.append(prepared)
        hide = environment.hide_tests
        tree = await anyio.to_thread.run_sync(test_tree, self.problem, self.checkpoint.name, hide)
        return Ground(digest=digest, toolchain=made[0], bare=made[1], environment=made[2], tree=tree)

    async def _job(self, ground: Ground, evaluation_id: str) -> Job | Broken:
        environment, problem = self.environment, self.problem
        submission = await anyio.to_thread.run_sync(
            submission_archive, self.submission_path, environment.resources.disk
        )
        if isinstance(submission, Broken):
            return submission
        return Job(
            evaluation_id=evaluation_id,
            image=environment.image,
            toolchain=ground.toolchain,
            environment=ground.environment,
            archives=(submission, *ground.tree.archives, *self._certificates()),
            test_files=ground.tree.test_files,
            hidden=ground.tree.hidden,
            entrypoint=entry_command(environment, problem.entry_file),
            checkpoint=self.checkpoint.name,
            assets=ground.tree.assets,
            env=(*environment.env, *problem.env_for(self.checkpoint.name)),
            limits=self.limits,
            resources=environment.resources,
            network=environment.network,
            runtime=environment.runtime,
            hide_tests=environment.hide_tests,
            mode=environment.mode,
            sealed=not problem.imports_submission,
            requirements=("pytest", *TEST_PACKAGES, *problem.test_dependencies),
        )

    def _certificates(self) -> tuple[Archive, ...]:
        return certificate_archives() if self.environment.mode == "uvx" else ()

    def _conclude(
        self,
        job: Job,
        ground: Ground,
        run: Run,
        expected: Expectation,
        timings: Mapping[str, float],
    ) -> Evaluated:
        # A suite that cannot be collected with or without a submission is nobody's fault but its own.
        hopeless = not self.problem.imports_submission and expected.explains(
            run, Path(self.problem.entry_file).stem
        )
        examination = examine(
            run,
            expected.ids,
            has_channel=job.mode != "uvx",
            imports_submission=not job.sealed and not hopeless,
        )
        tests = grade(examination.tests, self._rubric())
        passed, total = tally(tests)
        results = CorrectnessResults(
            problem_name=self.problem.name,
            checkpoint_name=self.checkpoint.name,
            duration=sum(timings[name] for name in ("prepare", "run")),
            tests=tests,
            pass_counts=passed,
            total_counts=total,
            pytest_exit_code=run.end.exit_code if run.end else None,
            pytest_collected=None if run.collected is None else len(run.collected),
            infrastructure_failure=examination.broken is not None,
            broken=examination.broken,
            timings=timings,
            environment=self._record(ground, run),
            integrity=examination.warnings,
        )
        return Evaluated(
            results=results,
            stdout=run.stdout,
            stderr=run.stderr,
            reports=run.reports,
            starved=_was_starved(run, timings["run"]),
        )

    def _rubric(self) -> Rubric:
        return Rubric(
            current=self.checkpoint.name,
            test_modules=self.problem.test_modules(self.checkpoint.name),
            markers={name: marker.group for name, marker in self.problem.markers.items()},
        )

    def _record(self, ground: Ground, run: Run) -> EnvironmentRecord:
        return EnvironmentRecord(
            sandbox=self.environment.sandbox,
            image=self.environment.image,
            image_digest=ground.digest,
            python=ground.environment.python,
            toolchain=ground.toolchain.versions,
            packages=ground.environment.versions,
            sealed=run.end.sealed if run.end else False,
        )

    def _unjudged(self, broken: Broken, timings: Mapping[str, float]) -> CorrectnessResults:
        passed, total = tally(())
        return CorrectnessResults(
            problem_name=self.problem.name,
            checkpoint_name=self.checkpoint.name,
            duration=sum(timings.values()),
            pass_counts=passed,
            total_counts=total,
            infrastructure_failure=True,
            broken=broken,
            timings=timings,
            environment=EnvironmentRecord(sandbox=self.environment.sandbox, image=self.environment.image),
        )


def _was_starved(run: Run, seconds: float) -> bool:
    """Tell whether its processes stood in line for a CPU for a good part of the time."""
    return run.cpu.get("waited", 0.0) > STARVED_SHARE * seconds


def _collecting(job: Job, ground: Ground) -> Job:
    """Return the job that only collects, in an environment and a workspace without any submission."""
    return msgspec.structs.replace(
        job,
        collect_only=True,
        environment=ground.bare,
        archives=ground.tree.archives,
        network="none",
        sealed=True,
    )


async def run_checkpoint_pytest(
    problem: ProblemConfig, checkpoint: CheckpointConfig, environment: EnvironmentSpec, submission_path: Path
) -> CorrectnessResults:
    """Evaluate one submission at one checkpoint."""
    return await PytestRunner(problem, checkpoint, environment, submission_path).run()
