"""How much must be prepared for a plan: toolchains and environments of submissions, equal ones once."""

from functools import lru_cache
from pathlib import Path

import msgspec

from engine.evaluation import Evaluation
from engine.problem import load_problem
from engine.setupinputs import input_files
from engine.treehash import TreeHasher


class Preparing(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan needs made."""

    toolchains: int
    environments: int
    # Submissions whose set-up depends on all of their files.
    per_submission: int


class Preparations:
    """Counts what evaluations need, equal things once."""

    def __init__(self) -> None:
        self._hasher = TreeHasher()
        self._toolchains: set[tuple[str, tuple[str, ...]]] = set()
        self._environments: set[tuple[object, ...]] = set()
        self._per_submission: set[tuple[str, str]] = set()
        self._submissions: set[tuple[str, str]] = set()

    def add(self, evaluation: Evaluation) -> None:
        """Note what one evaluation needs."""
        environment = evaluation.environment
        self._toolchains.add((environment.image, _test_dependencies(evaluation.problem_path)))
        if (environment.name, evaluation.submission) in self._submissions or not environment.setup:
            return
        self._submissions.add((environment.name, evaluation.submission))
        submission = Path(evaluation.submission)
        inputs = [input_files(command, submission) for command in environment.setup]
        if None in inputs:
            self._per_submission.add((environment.name, evaluation.submission))
            return
        names = sorted({name for files in inputs for name in files or ()})
        self._environments.add(
            (environment.name, *((name, self._content(submission / name)) for name in names))
        )

    def counted(self) -> Preparing:
        """Tell how much there is to make."""
        return Preparing(
            toolchains=len(self._toolchains),
            environments=len(self._environments) + len(self._per_submission),
            per_submission=len(self._per_submission),
        )

    def _content(self, path: Path) -> str:
        return self._hasher.digest(path) if path.is_file() and not path.is_symlink() else ""


@lru_cache(maxsize=4096)
def _test_dependencies(problem_path: str) -> tuple[str, ...]:
    return load_problem(Path(problem_path)).test_dependencies
