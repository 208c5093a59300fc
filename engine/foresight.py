"""What is known about an evaluation before it runs: its fingerprint, a stored result, how long it took."""

from collections.abc import Mapping
from pathlib import Path

from engine.durations import Durations
from engine.evaluation import Evaluation, Versions, fingerprint
from engine.locks import Locks
from engine.prepare import wanted_environment, wanted_toolchain
from engine.problem import ProblemConfig, load_problem
from engine.results import CorrectnessResults
from engine.sandbox.wire import grader_version
from engine.store import Store, StoreKey
from engine.treehash import TreeHasher


class Foresight:
    """Looks evaluations up without running or preparing anything. All methods block."""

    def __init__(
        self, digests: Mapping[str, str], locks: Locks, store: Store, hasher: TreeHasher, durations: Durations
    ) -> None:
        # By image; one that is not here has no digest yet.
        self._digests = digests
        self._locks = locks
        self._store = store
        self._hasher = hasher
        self._durations = durations
        self._problems: dict[str, ProblemConfig] = {}

    def stored(self, evaluation: Evaluation) -> CorrectnessResults | None:
        """Return the result that would be the answer."""
        digest = self._digests.get(evaluation.environment.image)
        if digest is None:
            return None
        problem = self._problem(evaluation.problem_path)
        versions = recorded_versions(evaluation, problem, digest, self._locks, self._hasher)
        if versions is None:
            return None
        key = fingerprint(evaluation, versions, self._hasher, problem)
        return self._store.get(StoreKey(fingerprint=key, repeat_index=evaluation.repeat_index))

    def seconds(self, evaluation: Evaluation) -> float | None:
        """Tell how long it took the last time."""
        return self._durations.get(evaluation.id)

    def _problem(self, path: str) -> ProblemConfig:
        if path not in self._problems:
            self._problems[path] = load_problem(Path(path))
        return self._problems[path]


def recorded_versions(
    evaluation: Evaluation, problem: ProblemConfig, digest: str, locks: Locks, hasher: TreeHasher
) -> Versions | None:
    """Tell what an evaluation would run on, if all of that was ever prepared. Blocks."""
    environment, submission = evaluation.environment, Path(evaluation.submission)
    toolchain = locks.read(wanted_toolchain(environment, digest, problem.test_dependencies).key)
    own = wanted_environment(environment, digest, submission, evaluation.limits.setup, hasher)
    packages = locks.read(own.key)
    if toolchain is None or packages is None:
        return None
    return Versions(
        image_digest=digest,
        toolchain=toolchain.versions,
        packages=packages.versions,
        grader=grader_version(),
    )
