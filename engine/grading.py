"""Grading: the group of a test, the verdict of a policy, and what counts in a rate.

A new policy is a function of two counts by group and one row of `POLICIES`.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping

import msgspec

from engine.errors import UserError
from engine.results import (
    Broken,
    CorrectnessResults,
    Fault,
    GroupType,
    ObservedTest,
    TestResult,
    Verdict,
)

TESTS_FOLDER = "tests"

Counts = Mapping[GroupType, int]
Policy = Callable[[Counts, Counts], bool]


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """What grading needs to know of a problem and of the checkpoint that is judged."""

    current: str
    # The test files that ran, as names below tests/, and the checkpoint that each belongs to.
    test_modules: Mapping[str, str]
    # The problem's own markers.
    markers: Mapping[str, GroupType] = {}


def grade(tests: Iterable[ObservedTest], rubric: Rubric) -> tuple[TestResult, ...]:
    """Give each test its checkpoint and its group."""
    return tuple(_graded(test, rubric) for test in tests)


def _graded(test: ObservedTest, rubric: Rubric) -> TestResult:
    file, _, name = test.nodeid.partition("::")
    checkpoint = checkpoint_of(file, rubric)
    return TestResult(
        id=name or file,
        checkpoint=checkpoint,
        group_type=group_of(checkpoint, test.markers, rubric.current, rubric.markers),
        status=test.status,
        duration_ms=test.duration_ms,
        file_path=file,
        markers=test.markers,
        failure_message=test.message,
    )


def checkpoint_of(file: str, rubric: Rubric) -> str:
    """Return the checkpoint whose test module this is; any other file belongs to the current one."""
    # Only a file directly below tests/ is a module: a namesake in a subfolder is somebody's helper.
    return rubric.test_modules.get(file.removeprefix(f"{TESTS_FOLDER}/"), rubric.current)


def group_of(
    test_checkpoint: str,
    markers: Iterable[str],
    current: str,
    problem_markers: Mapping[str, GroupType],
) -> GroupType:
    """Return the group of a test; the first rule that fits wins."""
    markers = tuple(markers)
    if test_checkpoint != current:
        return GroupType.REGRESSION
    if "error" in markers:
        return GroupType.ERROR
    if "regression" in markers:
        return GroupType.REGRESSION
    for marker in markers:
        if marker in problem_markers:
            return problem_markers[marker]
    return GroupType.FUNCTIONALITY if "functionality" in markers else GroupType.CORE


def _every(passed: Counts, total: Counts, groups: Iterable[GroupType]) -> bool:
    # Nothing that passed is not everything that passed: an empty set of tests is never enough.
    groups = tuple(groups)
    count = sum(total.get(group, 0) for group in groups)
    return count > 0 and sum(passed.get(group, 0) for group in groups) == count


def _every_core_case(passed: Counts, total: Counts) -> bool:
    return _every(passed, total, (GroupType.CORE,))


def _any_core_case(passed: Counts, _total: Counts) -> bool:
    return passed.get(GroupType.CORE, 0) > 0


def _every_case(passed: Counts, total: Counts) -> bool:
    return _every(passed, total, GroupType)


def _every_case_but_errors(passed: Counts, total: Counts) -> bool:
    return _every(passed, total, (group for group in GroupType if group is not GroupType.ERROR))


def _any_case(passed: Counts, _total: Counts) -> bool:
    return sum(passed.values()) > 0


POLICIES: Mapping[str, Policy] = {
    "core-cases": _every_core_case,
    "all-core-cases": _every_core_case,
    "any-core-cases": _any_core_case,
    "all-cases": _every_case,
    "all-non-error-cases": _every_case_but_errors,
    "any-case": _any_case,
    "any": _any_case,
}


def policy_named(name: str) -> Policy:
    """Return the policy of this name, or say which names there are."""
    if name in POLICIES:
        return POLICIES[name]
    near = difflib.get_close_matches(name, POLICIES, n=1)
    advice = f"did you mean {near[0]!r}? " if near else ""
    raise UserError(f"there is no policy {name!r}: {advice}There are: {', '.join(POLICIES)}")


def judge(results: CorrectnessResults, policy: str) -> Verdict:
    """Judge results under a policy; none passes what could not be judged."""
    if results.infrastructure_failure:
        return Verdict.BROKEN
    return verdict_of(results.broken, results.pass_counts, results.total_counts, policy)


def verdict_of(broken: Broken | None, passed: Counts, total: Counts, policy: str) -> Verdict:
    """Judge by counts alone, as a result line has them."""
    passes = policy_named(policy)
    if broken is not None:
        return Verdict.BROKEN
    return Verdict.PASSED if passes(passed, total) else Verdict.FAILED


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How many evaluations passed, out of those that count."""

    passed: int = 0
    total: int = 0
    # Broken by infrastructure or problem: nothing is known of the submission.
    left_out: int = 0

    @property
    def share(self) -> float | None:
        """The rate between 0 and 1, or None where nothing counts."""
        return self.passed / self.total if self.total else None


def counts_for_rates(broken: Broken | None) -> bool:
    """Say whether an evaluation belongs in a denominator: breaking the grader must not pay."""
    return broken is None or broken.fault is Fault.SUBMISSION


def rate(outcomes: Iterable[tuple[Verdict, Broken | None]]) -> Rate:
    """Add up verdicts; what the submission broke counts as not passed, what others broke not at all."""
    passed = total = left_out = 0
    for verdict, broken in outcomes:
        counts = counts_for_rates(broken)
        left_out += not counts
        total += counts
        passed += counts and verdict is Verdict.PASSED
    return Rate(passed=passed, total=total, left_out=left_out)
