"""Reports that real pytest wrote, one case for each thing that can happen to a test run."""

import msgspec
import pytest

from engine.integrity import examine
from engine.reports import FORMATS, Report
from engine.results import BrokenKind, Fault
from engine.sandbox import Run
from tests.data.reports.cases import CASES, Case
from tests.data.reports.stored import HERE, stored_run, whole_id

JUDGED = tuple(case for case in CASES if case.broken is None)


def announced(run: Run) -> tuple[str, ...] | None:
    return None if run.collected is None else tuple(test.nodeid for test in run.collected)


def without_channel(run: Run) -> Run:
    return msgspec.structs.replace(run, collected=None, phases=())


def named(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_test_gets_the_outcome_that_the_case_must_have(case: Case) -> None:
    """Statuses, kind of breakage and warnings are those that were written down by hand."""
    run = stored_run(case.name)
    examination = examine(run, announced(run))
    assert {test.nodeid: test.status for test in examination.tests} == {
        whole_id(short): status for short, status in case.tests.items()
    }
    assert (examination.broken.kind if examination.broken else None) == case.broken
    assert {warning.name for warning in examination.warnings} == set(case.warnings)


@pytest.mark.parametrize("case", [case for case in CASES if case.messages], ids=named)
def test_messages_are_kept_bounded_and_readable(case: Case) -> None:
    """A failure says why, in at most some ten thousand characters, without terminal codes."""
    run = stored_run(case.name)
    messages = {test.nodeid: test.message or "" for test in examine(run, None).tests}
    for short, text in case.messages.items():
        assert text in messages[whole_id(short)]
        assert len(messages[whole_id(short)]) < 10_000
        assert messages[whole_id(short)].replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize("case", [case for case in CASES if case.markers], ids=named)
def test_markers_are_those_of_the_test_and_of_nothing_else(case: Case) -> None:
    """Names of parameters, functions and files never become markers."""
    examination = examine(stored_run(case.name), None)
    markers = {test.nodeid: test.markers for test in examination.tests}
    assert markers == {whole_id(short): names for short, names in case.markers.items()} | {
        nodeid: () for nodeid in markers if nodeid not in map(whole_id, case.markers)
    }


@pytest.mark.parametrize("case", [case for case in JUDGED if case.name != "selected_twice"], ids=named)
def test_the_reports_alone_give_the_same_outcomes(case: Case) -> None:
    """Where pytest runs without our channel, both reports together tell the same story."""
    run = stored_run(case.name)
    examination = examine(without_channel(run), announced(run), has_channel=False)
    assert examination.broken is None
    assert {test.nodeid: test.status for test in examination.tests} == {
        whole_id(short): status for short, status in case.tests.items()
    }


@pytest.mark.parametrize("report", FORMATS)
@pytest.mark.parametrize("case", JUDGED, ids=named)
def test_one_report_beside_the_channel_is_enough(case: Case, report: str) -> None:
    """A verdict survives the loss of either report, with a warning."""
    run = stored_run(case.name)
    lone = msgspec.structs.replace(run, reports={report: run.reports[report]})
    examination = examine(lone, announced(run))
    assert examination.broken is None
    assert {test.nodeid: test.status for test in examination.tests} == {
        whole_id(short): status for short, status in case.tests.items()
    }
    assert "report_unreadable" in {warning.name for warning in examination.warnings}


@pytest.mark.parametrize("case", CASES, ids=named)
def test_no_report_calls_a_test_passed_that_did_not_pass(case: Case) -> None:
    """Neither decoder makes a pass of what was interrupted, hidden or lost."""
    passed = {whole_id(short) for short, status in case.tests.items() if status == "passed"}
    for name, data in stored_run(case.name).reports.items():
        report = FORMATS[name](data)
        assert isinstance(report, Report)
        assert {test.nodeid for test in report.tests if test.status == "passed"} <= passed


@pytest.mark.parametrize("case", CASES, ids=named)
def test_without_an_end_frame_there_is_no_verdict(case: Case) -> None:
    """Whatever else came out, a run that was not closed by the launcher is nobody's pass."""
    run = msgspec.structs.replace(stored_run(case.name), end=None)
    broken = examine(run, announced(run)).broken
    assert broken is not None
    assert (broken.kind, broken.fault) == (BrokenKind.DAEMON_ERROR, Fault.INFRASTRUCTURE)


def test_every_stored_case_is_one_of_the_table() -> None:
    """No stale files lie about, and no name is used twice."""
    stored = {path.name for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert stored == {case.name for case in CASES}
    assert len(stored) == len(CASES)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("collection_error", Fault.PROBLEM),
        ("no_tests", Fault.PROBLEM),
        ("conftest_broken", Fault.PROBLEM),
        ("exit_at_import", Fault.PROBLEM),
        ("internal_error", Fault.SUBMISSION),
        ("keyboard_interrupt", Fault.SUBMISSION),
        ("os_exit_zero", Fault.SUBMISSION),
        ("session_timeout", Fault.SUBMISSION),
        ("reports_unwritable", Fault.INFRASTRUCTURE),
    ],
)
def test_the_fault_is_whose_it_is(name: str, fault: Fault) -> None:
    """Before tests begin the problem is to blame, and afterwards whoever could have done it."""
    broken = examine(stored_run(name), None).broken
    assert broken is not None
    assert broken.fault is fault


@pytest.mark.parametrize("name", ["collection_error", "no_tests", "conftest_broken"])
def test_what_fails_only_with_the_submission_is_its_fault(name: str) -> None:
    """Tests that were collected without a submission and cannot be with it count against it."""
    broken = examine(stored_run(name), ("tests/test_checkpoint_1.py::test_a",)).broken
    assert broken is not None
    assert broken.fault is Fault.SUBMISSION
