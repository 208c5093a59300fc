"""Two runs side by side: what changed, evaluation by evaluation and test by test, and whether it is noise.

A pure function of two runs. Evaluations are paired by id; those that are left over by problem, checkpoint and
labels, so that runs of different manifests can be compared, too. A difference without any change of what the
outcome depends on (the fingerprint) is flaky, never a regression.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from engine.events import ResultLine, decode_result
from engine.grading import counts_for_rates, verdict_of
from engine.results import Fault, TestResult, Verdict
from engine.significance import Change as ScoreChange
from engine.significance import Unit, score_changes
from engine.views.run import FinishedRun

Kind = Literal["newly_failing", "newly_broken", "fixed", "judged", "flaky", "new", "gone", "same"]
TestKind = Literal["newly_failing", "fixed", "flaky", "new", "gone"]
TestName = tuple[str, str]

# What each kind is called, in the order in which people want to read.
KINDS: Mapping[Kind, str] = {
    "newly_failing": "newly failing",
    "newly_broken": "newly broken",
    "fixed": "fixed",
    "judged": "failing, was broken",
    "flaky": "flaky",
    "new": "new",
    "gone": "gone",
    "same": "unchanged",
}


class TestChange(msgspec.Struct, frozen=True, kw_only=True):
    """A test whose outcome is not what it was; None where there was no such test."""

    __test__ = False

    kind: TestKind
    file_path: str
    id: str
    before: str | None = None
    after: str | None = None
    message: str | None = None


class EvaluationChange(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in both runs, or in one of them."""

    kind: Kind
    before: ResultLine | None = None
    after: ResultLine | None = None
    tests: tuple[TestChange, ...] = ()
    # Why it could not be answered from the store: what changed since the first run.
    reasons: tuple[str, ...] = ()

    @property
    def line(self) -> ResultLine:
        """The result to name it by."""
        line = self.after or self.before
        if line is None:
            raise ValueError("an evaluation is in one run at least")
        return line

    @property
    def is_regression(self) -> bool:
        """Whether the submission does worse than before, in its verdict or in any test."""
        if self.kind == "newly_broken":
            broken = self.after.broken if self.after else None
            return broken is not None and broken.fault is not Fault.INFRASTRUCTURE
        return self.kind == "newly_failing" or any(test.kind == "newly_failing" for test in self.tests)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one run to another; both are judged by the policy of the second."""

    before: str
    after: str
    policy: str
    changes: tuple[EvaluationChange, ...]
    scores: tuple[ScoreChange, ...]

    def of_kind(self, kind: Kind) -> tuple[EvaluationChange, ...]:
        """Return the evaluations of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)

    @property
    def regressions(self) -> tuple[EvaluationChange, ...]:
        """The evaluations that do worse than before."""
        return tuple(change for change in self.changes if change.is_regression)


def compare(before: FinishedRun, after: FinishedRun, ignore: Iterable[str] = ()) -> Comparison:
    """Compare two runs; labels in `ignore` do not tell evaluations apart. Blocks: it reads every test."""
    earlier = (_judged(line, after.policy) for line in before.lines)
    pairs = tuple(pair_up(earlier, after.lines, frozenset(ignore)))
    flaky = (_flaky_tests(before), _flaky_tests(after))
    changes = tuple(_change(before, after, pair, flaky) for pair in pairs)
    return Comparison(
        before=before.run_id,
        after=after.run_id,
        policy=after.policy,
        changes=changes,
        scores=score_changes(_units(pairs)),
    )


def _judged(line: ResultLine, policy: str) -> ResultLine:
    verdict = verdict_of(line.broken, line.pass_counts, line.total_counts, policy)
    return msgspec.structs.replace(line, verdict=verdict, policy=policy)


Pair = tuple[ResultLine | None, ResultLine | None]


def pair_up(
    before: Iterable[ResultLine], after: Iterable[ResultLine], ignore: frozenset[str] = frozenset()
) -> Iterator[Pair]:
    """Pair results of two runs, every one exactly once."""
    first = {line.id: line for line in before}
    second = {line.id: line for line in after}
    both = [name for name in second if name in first]
    for name in both:
        yield first.pop(name), second.pop(name)
    waiting: dict[object, list[ResultLine]] = defaultdict(list)
    for line in second.values():
        waiting[_likeness(line, ignore)].append(line)
    for line in first.values():
        alike = waiting[_likeness(line, ignore)]
        yield line, (alike.pop(0) if alike else None)
    for left in waiting.values():
        yield from ((None, line) for line in left)


def _likeness(line: ResultLine, ignore: frozenset[str]) -> object:
    labels = tuple(sorted((key, value) for key, value in line.labels.items() if key not in ignore))
    return line.problem_name, line.checkpoint_name, labels


def _change(
    before: FinishedRun,
    after: FinishedRun,
    pair: Pair,
    flaky: tuple[Mapping[str, set[TestName]], Mapping[str, set[TestName]]],
) -> EvaluationChange:
    old, new = pair
    if old is None:
        return EvaluationChange(kind="new", after=new)
    if new is None:
        return EvaluationChange(kind="gone", before=old)
    first, second = _whole(before, old), _whole(after, new)
    doubtful = flaky[0].get(old.id, set()) | flaky[1].get(new.id, set())
    unchanged = old.fingerprint is not None and old.fingerprint == new.fingerprint
    whole = old.broken is None and new.broken is None
    doubts = _Doubts(flaky=doubtful, unchanged=unchanged, whole=whole)
    tests = tuple(_test_changes(_by_name(first), _by_name(second), doubts))
    reasons = () if unchanged else why(first, second)
    kind = _kind(old, new, unchanged=unchanged)
    if kind == "same" and any(test.kind == "flaky" for test in tests):
        kind = "flaky"
    return EvaluationChange(kind=kind, before=old, after=new, tests=tests, reasons=reasons)


def _kind(old: ResultLine, new: ResultLine, *, unchanged: bool) -> Kind:
    if old.verdict is new.verdict:
        return "same"
    if unchanged and Verdict.BROKEN not in (old.verdict, new.verdict):
        return "flaky"
    if new.verdict is Verdict.BROKEN:
        return "newly_broken"
    if new.verdict is Verdict.PASSED:
        return "fixed"
    return "newly_failing" if old.verdict is Verdict.PASSED else "judged"


def _whole(run: FinishedRun, line: ResultLine) -> ResultLine:
    """Read a result with its tests; without its folder it is as the journal has it."""
    try:
        return decode_result((run.directory.evaluation(line.id) / "evaluation.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return line


def _by_name(line: ResultLine) -> dict[TestName, TestResult]:
    return {(test.file_path, test.id): test for test in line.tests or ()}


class _Doubts(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a difference between two tests from meaning anything."""

    flaky: set[TestName]
    # Nothing changed that the outcome depends on.
    unchanged: bool
    # Neither evaluation was cut off.
    whole: bool


def _test_changes(
    first: Mapping[TestName, TestResult], second: Mapping[TestName, TestResult], doubts: _Doubts
) -> Iterator[TestChange]:
    for name in {**first, **second}:
        old, new = first.get(name), second.get(name)
        kind = _test_kind(old, new, flaky=doubts.unchanged or name in doubts.flaky)
        # Of an evaluation that was cut off, tests that are not there are unknown rather than gone.
        if kind is None or (kind in ("new", "gone") and not doubts.whole):
            continue
        yield TestChange(
            kind=kind,
            file_path=name[0],
            id=name[1],
            before=old.status if old else None,
            after=new.status if new else None,
            message=new.failure_message if new else None,
        )


def _test_kind(old: TestResult | None, new: TestResult | None, *, flaky: bool) -> TestKind | None:
    if old is None:
        return "new"
    if new is None:
        return "gone"
    passed = old.status == "passed", new.status == "passed"
    if passed[0] == passed[1]:
        return None
    if flaky:
        return "flaky"
    return "newly_failing" if passed[0] else "fixed"


def _flaky_tests(run: FinishedRun) -> dict[str, set[TestName]]:
    """Name the tests that changed their mind within one run, by evaluation."""
    found = {name: {(test.file_path, test.id) for test in tests} for name, tests in run.flaky.items()}
    repeats: dict[str, list[ResultLine]] = defaultdict(list)
    for line in run.lines:
        if line.id in found and line.fingerprint:
            repeats[line.fingerprint].append(line)
    for lines in repeats.values():
        differing = _differing([_by_name(_whole(run, line)) for line in lines])
        for line in lines:
            found[line.id] |= differing
    return found


def _differing(repeats: list[dict[TestName, TestResult]]) -> set[TestName]:
    names = {name for tests in repeats for name in tests}
    return {name for name in names if len({tests[name].status for tests in repeats if name in tests}) > 1}


def _units(pairs: Iterable[Pair]) -> Iterator[Unit]:
    """Make a unit of each evaluation that counts in both runs, its repeats taken together."""
    grouped: dict[object, list[tuple[ResultLine, ResultLine]]] = defaultdict(list)
    for old, new in pairs:
        if old and new and counts_for_rates(old.broken) and counts_for_rates(new.broken):
            # Repeats are the same code under the same name, so they have one fingerprint.
            repeat = old.fingerprint or old.id, new.fingerprint or new.id
            grouped[_likeness(new, frozenset()), repeat].append((old, new))
    for members in grouped.values():
        line = members[0][1]
        yield Unit(
            labels={"problem": line.problem_name, **line.labels},
            before=sum(old.verdict is Verdict.PASSED for old, _ in members) / len(members),
            after=sum(new.verdict is Verdict.PASSED for _, new in members) / len(members),
        )


# Ingredients of a fingerprint, as people call them.
INGREDIENTS: Mapping[str, str] = {
    "submission": "the submission's files",
    "tests": "the tests",
    "assets": "the static assets",
    "checkpoint": "the checkpoint",
    "test_modules": "the test files that run",
    "markers": "the problem's markers",
    "problem_env": "the problem's variables",
    "imports_submission": "imports_submission",
    "entry_command": "the entry command",
    "environment": "the environment's settings",
    "limits": "the limits",
    "image_digest": "the image",
    "toolchain": "the test toolchain",
    "packages": "the submission's packages",
    "grader": "the engine's grader",
}


def why(old: ResultLine, new: ResultLine) -> tuple[str, ...]:
    """Say which ingredients of the fingerprint changed, as far as both results tell."""
    reasons = []
    first, second = old.ingredients or {}, new.ingredients or {}
    for name, told in INGREDIENTS.items():
        changed = name in first and name in second and first[name] != second[name]
        detail = _detail(name, old, new)
        if changed or detail:
            reasons.append(f"{told}: {detail}" if detail else told)
    return tuple(reasons)


def _detail(name: str, old: ResultLine, new: ResultLine) -> str:
    first, second = old.environment, new.environment
    match name:
        case "image_digest" if first.image_digest != second.image_digest:
            return f"{first.image_digest or 'none'} to {second.image_digest or 'none'}"
        case "toolchain":
            return _versions(first.toolchain, second.toolchain)
        case "packages":
            return _versions(first.packages, second.packages)
        case _:
            return ""


def _versions(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return ", ".join(f"{name} {old.get(name, 'none')} to {new.get(name, 'none')}" for name in changed)
