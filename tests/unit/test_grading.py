"""The rules of grading, as tables and as laws."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import UserError
from engine.grading import POLICIES, Rubric, counts_for_rates, grade, group_of, judge, policy_named, rate
from engine.results import (
    FAULTS,
    Broken,
    BrokenKind,
    CorrectnessResults,
    Fault,
    GroupType,
    ObservedTest,
    Status,
    Verdict,
    tally,
)

CORE, FUNCTIONALITY = GroupType.CORE, GroupType.FUNCTIONALITY
REGRESSION, ERROR = GroupType.REGRESSION, GroupType.ERROR

OWN_MARKERS = {"slow": FUNCTIONALITY, "vital": CORE, "edge": ERROR}


@pytest.mark.parametrize(
    ("checkpoint", "markers", "group"),
    [
        ("now", (), CORE),
        ("now", ("unknown",), CORE),
        ("now", ("functionality",), FUNCTIONALITY),
        ("now", ("regression",), REGRESSION),
        ("now", ("error",), ERROR),
        ("now", ("regression", "error"), ERROR),
        ("now", ("functionality", "error"), ERROR),
        ("now", ("functionality", "regression"), REGRESSION),
        ("now", ("slow",), FUNCTIONALITY),
        ("now", ("edge",), ERROR),
        ("now", ("vital", "functionality"), CORE),
        ("now", ("functionality", "vital"), CORE),
        ("now", ("slow", "vital"), FUNCTIONALITY),
        ("now", ("vital", "slow"), CORE),
        ("now", ("edge", "regression"), REGRESSION),
        ("now", ("errors", "Error", "parametrize"), CORE),
        ("before", (), REGRESSION),
        ("before", ("error",), REGRESSION),
        ("before", ("functionality",), REGRESSION),
        ("before", ("vital",), REGRESSION),
    ],
)
def test_the_first_rule_that_fits_decides_the_group(
    checkpoint: str, markers: tuple[str, ...], group: GroupType
) -> None:
    """Another checkpoint, error, regression, own markers in the test's order, functionality, core."""
    assert group_of(checkpoint, markers, "now", OWN_MARKERS) is group


RUBRIC = Rubric(
    current="final",
    test_modules={
        "test_checkpoint_10.py": "checkpoint_10",
        "test_checkpoint_2.py": "checkpoint_2",
        "test_final.py": "final",
    },
    markers=OWN_MARKERS,
)


@pytest.mark.parametrize(
    ("nodeid", "file_path", "name", "checkpoint", "group"),
    [
        ("tests/test_final.py::test_a", "tests/test_final.py", "test_a", "final", CORE),
        (
            "tests/test_checkpoint_2.py::test_a",
            "tests/test_checkpoint_2.py",
            "test_a",
            "checkpoint_2",
            REGRESSION,
        ),
        (
            "tests/test_checkpoint_10.py::T::t",
            "tests/test_checkpoint_10.py",
            "T::t",
            "checkpoint_10",
            REGRESSION,
        ),
        ("tests/test_utils.py::test_a", "tests/test_utils.py", "test_a", "final", CORE),
        ("tests/old/test_checkpoint_2.py::t", "tests/old/test_checkpoint_2.py", "t", "final", CORE),
        ("tests/test_final.py::t[a::b/c.py]", "tests/test_final.py", "t[a::b/c.py]", "final", CORE),
        ("tests/test_final.py::t[error]", "tests/test_final.py", "t[error]", "final", CORE),
        ("tests/test_final.py", "tests/test_final.py", "tests/test_final.py", "final", CORE),
    ],
)
def test_a_test_belongs_to_the_checkpoint_of_its_file(
    nodeid: str, file_path: str, name: str, checkpoint: str, group: GroupType
) -> None:
    """Files are looked up in the table of modules that ran; no name is ever taken apart."""
    [test] = grade([ObservedTest(nodeid=nodeid, status="passed")], RUBRIC)
    assert (test.file_path, test.id, test.checkpoint, test.group_type) == (file_path, name, checkpoint, group)


def test_grading_keeps_what_was_observed() -> None:
    """Status, time, markers and message go along, and two tests of one name stay two."""
    seen = [
        ObservedTest(
            nodeid=f"tests/{file}::test_a", status="failed", duration_ms=2.5, markers=("slow",), message="why"
        )
        for file in ("test_final.py", "test_checkpoint_2.py")
    ]
    graded = grade(seen, RUBRIC)
    assert {(test.status, test.duration_ms, test.markers, test.failure_message) for test in graded} == {
        ("failed", 2.5, ("slow",), "why")
    }
    assert [test.group_type for test in graded] == [FUNCTIONALITY, REGRESSION]


def results(tests: list[tuple[GroupType, Status]], broken: Broken | None = None) -> CorrectnessResults:
    graded = grade(
        [
            ObservedTest(nodeid=f"tests/test_now.py::test_{number}", status=status, markers=(group.value,))
            for number, (group, status) in enumerate(tests)
        ],
        Rubric(
            current="now",
            test_modules={"test_now.py": "now"},
            markers={group.value: group for group in GroupType},
        ),
    )
    passed, total = tally(graded)
    return CorrectnessResults(
        problem_name="p",
        checkpoint_name="now",
        duration=1.0,
        tests=graded,
        pass_counts=passed,
        total_counts=total,
        broken=broken,
    )


def verdicts(*tests: tuple[GroupType, Status]) -> dict[str, bool]:
    return {name: judge(results(list(tests)), name) is Verdict.PASSED for name in POLICIES}


@pytest.mark.parametrize(
    ("tests", "passing"),
    [
        ([], set()),
        ([(CORE, "skipped")], set()),
        ([(CORE, "passed")], set(POLICIES)),
        (
            [(CORE, "passed"), (CORE, "failed")],
            {"any-core-cases", "any-case", "any"},
        ),
        (
            [(CORE, "passed"), (CORE, "skipped")],
            {"any-core-cases", "any-case", "any"},
        ),
        (
            [(CORE, "passed"), (FUNCTIONALITY, "failed")],
            {"core-cases", "all-core-cases", "any-core-cases", "any-case", "any"},
        ),
        (
            [(CORE, "passed"), (ERROR, "error")],
            {"core-cases", "all-core-cases", "any-core-cases", "all-non-error-cases", "any-case", "any"},
        ),
        ([(REGRESSION, "passed")], {"all-cases", "all-non-error-cases", "any-case", "any"}),
        ([(ERROR, "passed")], {"all-cases", "any-case", "any"}),
    ],
)
def test_policies_pass_what_they_promise(tests: list[tuple[GroupType, Status]], passing: set[str]) -> None:
    """Each policy by its own words; skipped is not passed, and nothing is never enough."""
    assert {name for name, passed in verdicts(*tests).items() if passed} == passing


statuses: st.SearchStrategy[Status] = st.sampled_from(("passed", "failed", "skipped", "error"))
suites = st.lists(st.tuples(st.sampled_from(GroupType), statuses), max_size=8)


@settings(deadline=None)
@given(suites, st.data())
def test_policies_are_monotone(tests: list[tuple[GroupType, Status]], data: st.DataObject) -> None:
    """Turning a failure into a pass never turns passed into failed."""
    better = [(group, "passed" if data.draw(st.booleans()) else status) for group, status in tests]
    before, after = verdicts(*tests), verdicts(*better)
    assert all(after[name] for name, passed in before.items() if passed)


@settings(deadline=None)
@given(suites, st.sampled_from(BrokenKind), st.sampled_from(tuple(POLICIES)))
def test_no_policy_passes_what_is_broken(
    tests: list[tuple[GroupType, Status]], kind: BrokenKind, policy: str
) -> None:
    """Broken is a third outcome under every policy."""
    assert judge(results(tests, Broken.of(kind, "x")), policy) is Verdict.BROKEN


def test_an_unknown_policy_is_refused_with_advice() -> None:
    """The message names the nearest policy and all others."""
    with pytest.raises(UserError, match=r"did you mean 'core-cases'\?.*all-non-error-cases"):
        policy_named("core-case")


@pytest.mark.parametrize("kind", BrokenKind)
def test_only_what_others_broke_leaves_the_denominator(kind: BrokenKind) -> None:
    """Breaking the grader counts as not passed; what infrastructure or problem broke does not count."""
    broken = Broken.of(kind, "x")
    own_fault = FAULTS[kind] is Fault.SUBMISSION
    assert counts_for_rates(broken) is own_fault
    counted = rate([(Verdict.PASSED, None), (Verdict.FAILED, None), (Verdict.BROKEN, broken)])
    assert (counted.passed, counted.total, counted.left_out) == ((1, 3, 0) if own_fault else (1, 2, 1))


def test_a_rate_of_nothing_is_unknown() -> None:
    """Nothing that counts is no rate, rather than zero."""
    assert rate([]).share is None
    assert rate([(Verdict.PASSED, None), (Verdict.FAILED, None)]).share == 0.5
