"""One evaluation as a value: what travels, what resumes, what is looked up.

The id is known from the manifest alone; the fingerprint needs the files and what they run on. Neither
knows the policy: stored results can be judged again under another one.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from engine.environment import EnvironmentSpec, Limits, entry_command
from engine.problem import ProblemConfig, load_problem
from engine.treehash import Keep, TreeHasher

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME = 110

Labels = tuple[tuple[str, str], ...]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One submission against one checkpoint in one environment: complete, hashable, serialisable."""

    id: str
    problem_name: str
    problem_path: str
    checkpoint: str
    submission: str
    environment: EnvironmentSpec
    limits: Limits
    labels: Labels = ()
    repeat_index: int = 0


class Identity(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What tells an evaluation from every other one, as the manifest has it."""

    manifest: str
    problem: str
    checkpoint: str
    # As written, so that an id does not depend on where the tree lies.
    submission: str
    labels: Labels
    environment: str
    repeat_index: int

    def id(self) -> str:
        """A name that people recognise, that is safe in a path, and that a hash makes unique."""
        digest = hashlib.blake2b(msgspec.json.encode(self), digest_size=6).hexdigest()
        words = [self.problem, self.checkpoint, *(value for _, value in self.labels), self.environment]
        readable = "-".join(filter(None, map(_safe, words)))
        again = f"-r{self.repeat_index + 1}" if self.repeat_index else ""
        return f"{readable[:_LONGEST_NAME]}{again}-{digest}"


@lru_cache(maxsize=10_000)
def _safe(word: str) -> str:
    return _UNSAFE.sub("-", word).strip("-.")


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation runs on, known once its environment is prepared."""

    image_digest: str
    toolchain: Mapping[str, str]
    packages: Mapping[str, str]
    grader: str


class _Ingredients(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an outcome depends on; a new ingredient is a field here."""

    submission: str
    tests: str
    assets: tuple[tuple[str, str], ...]
    checkpoint: str
    test_modules: tuple[str, ...]
    markers: tuple[tuple[str, str], ...]
    problem_env: tuple[tuple[str, str], ...]
    imports_submission: bool
    entry_command: str
    environment: EnvironmentSpec
    limits: Limits
    versions: Versions


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a result is known by, and a short hash of each ingredient, to tell later which has changed."""

    value: str
    ingredients: Mapping[str, str]


def fingerprint(
    evaluation: Evaluation, versions: Versions, hasher: TreeHasher, problem: ProblemConfig | None = None
) -> str:
    """Hash everything that the outcome depends on; blocking, for use in a thread."""
    return take_fingerprint(evaluation, versions, hasher, problem).value


def take_fingerprint(
    evaluation: Evaluation, versions: Versions, hasher: TreeHasher, problem: ProblemConfig | None = None
) -> Fingerprint:
    """Hash everything that the outcome depends on, as a whole and one by one; blocking."""
    problem = problem or load_problem(Path(evaluation.problem_path))
    ingredients = _Ingredients(
        submission=hasher.digest(Path(evaluation.submission)),
        tests=hasher.shared_digest(
            problem.tests, evaluation.checkpoint, goes_along(problem, evaluation.checkpoint)
        ),
        assets=tuple(
            (name, hasher.shared_digest(path)) for name, path in sorted(problem.static_assets.items())
        ),
        checkpoint=evaluation.checkpoint,
        test_modules=tuple(problem.test_modules(evaluation.checkpoint)),
        markers=tuple(sorted((name, marker.group.value) for name, marker in problem.markers.items())),
        problem_env=problem.env_for(evaluation.checkpoint),
        imports_submission=problem.imports_submission,
        entry_command=entry_command(evaluation.environment, problem.entry_file),
        environment=_what_matters(evaluation.environment),
        limits=evaluation.limits,
        versions=versions,
    )
    named = {**msgspec.structs.asdict(ingredients), **msgspec.structs.asdict(versions)}
    del named["versions"]
    parts = {name: _digest(value, 6) for name, value in named.items()}
    return Fingerprint(value=_digest(ingredients, 20), ingredients=parts)


def _digest(value: object, size: int) -> str:
    encoded = msgspec.json.encode(value, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=size).hexdigest()


def goes_along(problem: ProblemConfig, checkpoint: str) -> Keep:
    """Tell which paths below `tests/` a checkpoint gets: all but later test modules and bytecode."""
    later = frozenset(problem.later_modules(checkpoint))

    def keep(path: str) -> bool:
        return path not in later and "__pycache__" not in path.split("/")

    return keep


def _what_matters(environment: EnvironmentSpec) -> EnvironmentSpec:
    """The environment without names: two that differ only in what they are called give one outcome."""
    return msgspec.structs.replace(environment, name="", image="", lock=None, warnings=())
