"""Each way in which a run can contradict itself, and what it makes of the evaluation."""

import json
from collections.abc import Iterable, Mapping

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.disagreements import DISAGREEMENTS
from engine.integrity import Examination, examine, expected_ids
from engine.results import FAULTS, Broken, BrokenKind, Fault, Output, Status
from engine.sandbox import CollectedTest, End, PhaseReport, Run

A, B, C = (f"tests/test_checkpoint_1.py::test_{letter}" for letter in "abc")
JSON, CTRF = "pytest-report.json", "ctrf-report.json"

Statuses = Mapping[str, Status]
PASSED: Statuses = {A: "passed", B: "passed"}
MIXED: Statuses = {A: "passed", B: "failed", C: "skipped"}


def phases(nodeid: str, status: Status) -> tuple[PhaseReport, ...]:
    outcomes = {
        "passed": ("passed", "passed", "passed"),
        "failed": ("passed", "failed", "passed"),
        "skipped": ("passed", "skipped", "passed"),
        "error": ("passed", "passed", "failed"),
    }[status]
    whens = ("setup", "call", "teardown")
    return tuple(phase(nodeid, when, outcome) for when, outcome in zip(whens, outcomes, strict=True))


def phase(nodeid: str, when: str, outcome: str) -> PhaseReport:
    return msgspec.convert(
        {"nodeid": nodeid, "when": when, "outcome": outcome, "duration": 0.25, "message": "said so"},
        PhaseReport,
    )


def json_report(statuses: Statuses, **changes: object) -> bytes:
    def test(nodeid: str, status: Status) -> dict[str, object]:
        stages: dict[str, object] = {
            said.when: {"outcome": said.outcome, "duration": 0.25} for said in phases(nodeid, status)
        }
        return {"nodeid": nodeid, "outcome": status, **stages}

    tests = [test(nodeid, status) for nodeid, status in statuses.items()]
    code = int(any(status in ("failed", "error") for status in statuses.values()))
    summary = {"total": len(tests), "collected": len(tests)}
    return json.dumps({"exitcode": code, "tests": tests, "summary": summary, **changes}).encode()


def ctrf_report(statuses: Statuses, tags: Iterable[str] = ("error",)) -> bytes:
    def test(nodeid: str, status: Status) -> dict[str, object]:
        raw = {"error": "teardown_failed", "failed": "call_failed"}.get(status)
        shown = "failed" if status == "error" else status
        return {"name": nodeid, "status": shown, "rawStatus": raw, "duration": 1, "tags": list(tags)}

    tests = [test(nodeid, status) for nodeid, status in statuses.items()]
    return json.dumps({"results": {"tests": tests, "summary": {"tests": len(tests)}}}).encode()


def consistent(statuses: Statuses = PASSED) -> Run:
    """A run in which everybody says the same."""
    failed = any(status in ("failed", "error") for status in statuses.values())
    return Run(
        end=End(exit_code=int(failed), sealed=True),
        collected=tuple(CollectedTest(nodeid=nodeid, markers=("error",)) for nodeid in statuses),
        phases=tuple(said for nodeid, status in statuses.items() for said in phases(nodeid, status)),
        reports={JSON: json_report(statuses), CTRF: ctrf_report(statuses)},
    )


def changed(run: Run | None = None, **changes: object) -> Run:
    return msgspec.structs.replace(run or consistent(), **changes)


def ended(**changes: object) -> Run:
    """A consistent run with another end; exit code None means killed."""
    return changed(end=msgspec.structs.replace(End(exit_code=0, sealed=True), **changes))


def kind_of(examination: Examination) -> BrokenKind | None:
    return examination.broken.kind if examination.broken else None


def outcomes(examination: Examination) -> dict[str, Status]:
    return {test.nodeid: test.status for test in examination.tests}


@pytest.mark.parametrize("statuses", [PASSED, MIXED, {A: "error"}, {A: "skipped"}])
def test_one_story_is_believed(statuses: Statuses) -> None:
    """Where all agree there is neither breakage nor warning."""
    examination = examine(consistent(statuses), tuple(statuses))
    assert (examination.broken, examination.warnings) == (None, ())
    assert outcomes(examination) == statuses
    assert all(test.markers == ("error",) for test in examination.tests)
    assert [test.duration_ms for test in examination.tests] == [750.0] * len(statuses)


@pytest.mark.parametrize("statuses", [PASSED, MIXED, {A: "error"}])
def test_one_story_of_two_reports_is_believed(statuses: Statuses) -> None:
    """Without a channel, agreeing reports that have the expected tests are enough."""
    run = changed(consistent(statuses), collected=None, phases=())
    examination = examine(run, tuple(statuses), has_channel=False)
    assert (examination.broken, examination.warnings) == (None, ())
    assert outcomes(examination) == statuses
    assert all(test.markers == ("error",) for test in examination.tests)


def cut(run: Run, nodeid: str) -> tuple[PhaseReport, ...]:
    return tuple(said for said in run.phases if said.nodeid != nodeid)


FORGED = json_report(PASSED).replace(
    b'"tests": [', b'"tests": [' + json.dumps({"nodeid": A, "outcome": "failed"}).encode() + b", "
)
STAGES_LOST = json_report(PASSED).replace(b'"call"', b'"kall"')

# Name of the disagreement, a run in which it is the first to be found, and the ids that were expected.
CONTRADICTIONS: list[tuple[str, Run, tuple[str, ...] | None]] = [
    (
        "collection_errors",
        changed(
            reports={
                JSON: json_report(
                    PASSED, collectors=[{"nodeid": "tests/x.py", "outcome": "failed", "longrepr": "bad"}]
                )
            }
        ),
        None,
    ),
    ("never_collected", changed(collected=None, phases=(), reports={}), None),
    ("never_announced", changed(collected=None, phases=()), None),
    (
        "session_over",
        changed(phases=phases(A, "passed"), stdout=Output(tail=b"! session-timeout: 1.0 sec exceeded !")),
        None,
    ),
    ("cut_off", changed(phases=(*phases(A, "passed"), *phases(B, "passed")[:1])), None),
    ("cut_off", changed(phases=(*phases(A, "passed"), *phases(B, "passed")[:2]), reports={}), None),
    ("cut_off", changed(phases=phases(A, "passed"), reports={}), None),
    ("not_run", changed(phases=phases(A, "passed")), None),
    ("unannounced", changed(collected=(CollectedTest(nodeid=A),)), None),
    (
        "out_of_disk",
        changed(end=End(exit_code=1, disk_full=True, sealed=True), reports={JSON: b'{"exitcode": 0, "te'}),
        None,
    ),
    ("no_report", changed(reports={}), None),
    ("no_good_report", changed(reports={JSON: b"{", CTRF: b"[]"}), None),
    ("no_good_report", changed(reports={JSON: b"{"}), None),
    ("vanished", consistent(), (A, B, C)),
    ("report_repeats", changed(reports={JSON: FORGED, CTRF: ctrf_report(PASSED)}), (A, B)),
    ("report_lacks", changed(reports={JSON: json_report({A: "passed"}), CTRF: ctrf_report(PASSED)}), (A, B)),
    ("report_lacks", changed(reports={JSON: json_report(PASSED), CTRF: ctrf_report({B: "passed"})}), (A, B)),
    ("report_invents", changed(reports={JSON: json_report({**PASSED, C: "passed"})}), (A, B)),
    (
        "report_invents",
        changed(reports={JSON: json_report(PASSED), CTRF: ctrf_report({**PASSED, C: "passed"})}),
        (A, B),
    ),
    (
        "outcomes_differ",
        changed(reports={JSON: json_report({**PASSED, B: "failed"}), CTRF: ctrf_report(PASSED)}),
        (A, B),
    ),
    (
        "outcomes_differ",
        changed(reports={JSON: json_report(PASSED), CTRF: ctrf_report({**PASSED, B: "skipped"})}),
        (A, B),
    ),
    (
        "outcomes_differ",
        changed(
            consistent({**PASSED, B: "failed"}),
            reports={JSON: json_report(PASSED), CTRF: ctrf_report(PASSED)},
        ),
        (A, B),
    ),
    ("outcomes_differ", changed(reports={JSON: STAGES_LOST, CTRF: ctrf_report(PASSED)}), (A, B)),
    (
        "outcomes_differ",
        changed(
            phases=tuple(said for said in consistent().phases if (said.nodeid, said.when) != (A, "call"))
        ),
        None,
    ),
    ("success_with_failures", changed(consistent(MIXED), end=End(exit_code=0, sealed=True)), None),
]


@pytest.mark.parametrize(("name", "run", "expected"), CONTRADICTIONS, ids=[row[0] for row in CONTRADICTIONS])
def test_a_contradiction_is_never_a_verdict(name: str, run: Run, expected: tuple[str, ...] | None) -> None:
    """Each is found under its name and gives the kind that the table says."""
    broken = examine(run, expected).broken
    assert broken is not None
    assert broken.detail.startswith(f"{name}: ")
    assert broken.kind is next(row.kind for row in DISAGREEMENTS if row.name == name)


def tagged(statuses: Statuses) -> Run:
    return changed(
        consistent(statuses),
        collected=None,
        phases=(),
        reports={JSON: json_report(statuses), CTRF: ctrf_report(statuses, tags=())},
    )


# Name of the warning, a run that carries it, and the ids that were expected.
WARNED: list[tuple[str, Run, tuple[str, ...] | None]] = [
    ("unexpected_tests", consistent(), (A,)),
    ("expected_unknown", consistent(), None),
    ("unsealed", ended(sealed=False), (A, B)),
    ("unsealed", ended(imported=("main",)), (A, B)),
    ("command_limit", ended(command_limits=2), (A, B)),
    (
        "report_unreadable",
        changed(reports={CTRF: ctrf_report(PASSED), JSON: json_report(PASSED) * 2}),
        (A, B),
    ),
    ("report_unreadable", changed(reports={JSON: json_report(PASSED)}), (A, B)),
    ("report_mended", changed(reports={JSON: json_report(PASSED).replace(b"0.25", b"NaN")}), (A, B)),
    (
        "report_mended",
        changed(reports={JSON: json_report(PASSED, summary={"total": 7}), CTRF: ctrf_report(PASSED)}),
        (A, B),
    ),
    (
        "failures_vary",
        changed(
            consistent(MIXED), reports={JSON: json_report(MIXED), CTRF: ctrf_report({**MIXED, B: "skipped"})}
        ),
        tuple(MIXED),
    ),
    ("duplicate_ids", changed(collected=tuple(CollectedTest(nodeid=nodeid) for nodeid in (A, B, B))), (A, B)),
    ("reruns", changed(phases=(*consistent().phases, *phases(B, "passed"))), (A, B)),
    (
        "collected_differs",
        changed(reports={JSON: json_report(PASSED, summary={"total": 2, "collected": 5})}),
        (A, B),
    ),
    ("failure_unexplained", ended(exit_code=1), (A, B)),
    ("exit_code_rewritten", ended(exit_code=1), (A, B)),
    ("resources_exhausted", ended(oom_kills=2), (A, B)),
    ("resources_exhausted", ended(disk_full=True), (A, B)),
    ("resources_exhausted", ended(pids_exhausted=True), (A, B)),
    ("grader_stopped", ended(stopped=1), (A, B)),
]


@pytest.mark.parametrize(("name", "run", "expected"), WARNED, ids=[row[0] for row in WARNED])
def test_a_warning_goes_along_with_the_verdict(name: str, run: Run, expected: tuple[str, ...] | None) -> None:
    """It is named in the result and changes no outcome."""
    examination = examine(run, expected)
    assert examination.broken is None
    assert name in {warning.name for warning in examination.warnings}
    assert all(warning.detail for warning in examination.warnings)


def test_markers_that_no_report_has_are_warned_of() -> None:
    """Without a channel, a skipped test may be in another group than it looks."""
    examination = examine(tagged({A: "skipped", B: "passed"}), (A, B), has_channel=False)
    assert [warning.name for warning in examination.warnings] == ["markers_unknown"]
    assert A in examination.warnings[0].detail


def test_every_row_of_the_table_has_a_test() -> None:
    """A way to disagree that nobody tried is not known to work."""
    tried = {row[0] for row in CONTRADICTIONS} | {row[0] for row in WARNED} | {"markers_unknown"}
    assert tried == {row.name for row in DISAGREEMENTS}
    assert len({row.name for row in DISAGREEMENTS}) == len(DISAGREEMENTS)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ({"tampered": ("a link leads into the tests",)}, BrokenKind.TAMPERED),
        ({"tampered": ("x",), "limit": "session", "exit_code": None, "signal": 9}, BrokenKind.TAMPERED),
        ({"limit": "session"}, BrokenKind.SESSION_TIMEOUT),
        ({"limit": "session", "exit_code": None, "signal": 9}, BrokenKind.SESSION_TIMEOUT),
        ({"exit_code": None, "signal": 9}, BrokenKind.GRADER_KILLED),
        ({"exit_code": None, "signal": 11}, BrokenKind.GRADER_KILLED),
        ({"exit_code": None, "signal": 99}, BrokenKind.GRADER_KILLED),
        ({"exit_code": 137}, BrokenKind.GRADER_KILLED),
        ({"exit_code": None, "signal": 9, "oom_kills": 1}, BrokenKind.OUT_OF_MEMORY),
        ({"exit_code": None, "signal": 7, "disk_full": True}, BrokenKind.OUT_OF_DISK),
        ({"exit_code": None, "signal": 6, "pids_exhausted": True}, BrokenKind.OUT_OF_PIDS),
        ({"exit_code": 3, "disk_full": True}, BrokenKind.OUT_OF_DISK),
        ({"exit_code": 2}, BrokenKind.GRADER_KILLED),
        ({"exit_code": 3}, BrokenKind.INTERNAL_ERROR),
        ({"exit_code": 4}, BrokenKind.USAGE_ERROR),
        ({"exit_code": 5}, BrokenKind.NO_TESTS),
        ({"exit_code": 77}, BrokenKind.GRADER_KILLED),
        ({"exit_code": -1}, BrokenKind.GRADER_KILLED),
        ({"exit_code": None}, BrokenKind.DAEMON_ERROR),
    ],
)
def test_an_end_that_is_no_verdict_has_a_kind(end: dict[str, object], kind: BrokenKind) -> None:
    """However well the reports look, only exit codes 0 and 1 can be judged."""
    examination = examine(ended(**end), (A, B))
    assert kind_of(examination) is kind
    assert outcomes(examination) == PASSED


def test_a_limit_that_fires_before_any_test_is_not_the_submissions_fault() -> None:
    """Until tests begin nothing of the submission has run, so the machine is to blame."""
    late = Broken.of(BrokenKind.EVALUATION_TIMEOUT, "20 minutes")
    broken = examine(Run(broken=late), None).broken
    assert broken is not None
    assert (broken.kind, broken.fault) == (BrokenKind.EVALUATION_TIMEOUT, Fault.INFRASTRUCTURE)


def test_what_the_sandbox_knows_comes_first() -> None:
    """Its reason stands, with the tests that had finished on the channel."""
    known = Broken.of(BrokenKind.EVALUATION_TIMEOUT, "20 minutes")
    run = changed(end=None, broken=known, reports={}, phases=(*phases(A, "failed"), *phases(B, "passed")[:2]))
    examination = examine(run, (A, B))
    assert examination.broken == known
    assert outcomes(examination) == {A: "failed"}
    assert examination.tests[0].message == "said so"


def test_a_session_limit_before_any_test_is_not_the_submissions_fault() -> None:
    """Tests that cannot even be collected in time are the problem's."""
    run = changed(end=End(exit_code=None, signal=9, limit="session"), collected=None, phases=(), reports={})
    broken = examine(run, None).broken
    assert broken is not None
    assert (broken.kind, broken.fault) == (BrokenKind.COLLECTION_ERROR, Fault.PROBLEM)


@pytest.mark.parametrize(
    ("expected", "imports_submission", "fault"),
    [(None, False, Fault.PROBLEM), (None, True, Fault.SUBMISSION), ((A,), False, Fault.SUBMISSION)],
)
def test_a_collection_that_fails_only_with_the_submission_is_its_fault(
    expected: tuple[str, ...] | None, imports_submission: bool, fault: Fault
) -> None:
    """Raising at import is no way out of a statistic."""
    run = Run(end=End(exit_code=2, sealed=True))
    broken = examine(run, expected, imports_submission=imports_submission).broken
    assert broken is not None
    assert (broken.kind, broken.fault) == (BrokenKind.COLLECTION_ERROR, fault)


def test_reports_without_a_channel_are_no_way_around_it() -> None:
    """Where the channel had to speak and was silent, the best reports are not believed."""
    run = changed(collected=None, phases=())
    assert kind_of(examine(run, (A, B))) is BrokenKind.TAMPERED
    assert examine(run, (A, B), has_channel=False).broken is None


@pytest.mark.parametrize(
    ("reports", "kind"),
    [
        ({JSON: json_report(PASSED), CTRF: ctrf_report({A: "passed"})}, BrokenKind.TAMPERED),
        ({JSON: json_report(PASSED), CTRF: ctrf_report({A: "passed", B: "failed"})}, BrokenKind.TAMPERED),
        ({JSON: json_report(PASSED, summary={"collected": 3})}, BrokenKind.TAMPERED),
        ({CTRF: ctrf_report({A: "passed"})}, BrokenKind.TAMPERED),
        ({}, BrokenKind.REPORT_MISSING),
        ({CTRF: b"{"}, BrokenKind.REPORT_INVALID),
    ],
)
def test_reports_alone_must_agree(reports: dict[str, bytes], kind: BrokenKind) -> None:
    """Without a channel the two reports, their counts and the expected ids are compared."""
    run = changed(collected=None, phases=(), reports=reports)
    assert kind_of(examine(run, (A, B), has_channel=False)) is kind


def test_a_session_limit_is_known_from_the_output_without_a_channel() -> None:
    """pytest ends with 1 and says why; what is missing was not taken away."""
    run = changed(
        end=End(exit_code=1),
        collected=None,
        phases=(),
        reports={CTRF: ctrf_report({A: "passed"})},
        stdout=Output(tail=b"!!! session-timeout: 2.0 sec exceeded !!!"),
    )
    assert kind_of(examine(run, (A, B), has_channel=False)) is BrokenKind.SESSION_TIMEOUT


@pytest.mark.parametrize("has_channel", [True, False])
def test_a_submission_that_prints_of_a_session_limit_changes_nothing(has_channel: bool) -> None:
    """The words count only where tests are missing."""
    run = changed(stdout=Output(tail=b"session-timeout: 2.0 sec exceeded"))
    if not has_channel:
        run = changed(run, collected=None, phases=())
    assert examine(run, (A, B), has_channel=has_channel).broken is None


def attempt(*said: str) -> tuple[PhaseReport, ...]:
    return tuple(phase(A, *words.split()) for words in said)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (attempt("setup passed", "call passed", "teardown passed"), "passed"),
        (attempt("setup passed", "teardown passed"), "error"),
        (attempt("setup skipped", "teardown passed"), "skipped"),
        (attempt("setup failed", "teardown passed"), "error"),
        (attempt("setup passed", "call failed", "teardown failed"), "error"),
        (attempt("setup passed", "call failed", "call passed", "teardown passed"), "failed"),
        (attempt("setup passed", "call skipped", "call passed", "teardown passed"), "skipped"),
        (attempt("setup passed", "call skipped", "call failed", "call passed", "teardown passed"), "failed"),
        (attempt("setup passed", "call rerun", "setup passed", "call passed", "teardown passed"), "passed"),
        (attempt("setup passed", "call rerun", "setup passed", "call failed", "teardown passed"), "failed"),
        (attempt("setup rerun", "setup passed", "call passed", "teardown passed"), "passed"),
        (
            attempt("setup passed", "call passed", "teardown rerun", "setup failed", "teardown passed"),
            "error",
        ),
        (
            attempt(
                "setup passed",
                "call passed",
                "teardown passed",
                "setup passed",
                "call failed",
                "teardown passed",
            ),
            "failed",
        ),
        (
            attempt(
                "setup passed",
                "call failed",
                "teardown passed",
                "setup passed",
                "call passed",
                "teardown passed",
            ),
            "failed",
        ),
    ],
)
def test_phases_give_the_worst_outcome_that_counts(said: tuple[PhaseReport, ...], status: Status) -> None:
    """Subtests and repeated tests are as good as their worst part; forgotten attempts do not count."""
    run = Run(
        broken=Broken.of(BrokenKind.EVALUATION_TIMEOUT, "x"),
        collected=(CollectedTest(nodeid=A),),
        phases=said,
    )
    assert outcomes(examine(run, None)) == {A: status}


@pytest.mark.parametrize(
    "said",
    [attempt("setup passed"), attempt("setup passed", "call passed"), attempt("setup passed", "call rerun")],
)
def test_a_test_that_did_not_end_is_not_in_the_result(said: tuple[PhaseReport, ...]) -> None:
    """Nothing is said of a test in the middle of which pytest died."""
    run = Run(
        broken=Broken.of(BrokenKind.EVALUATION_TIMEOUT, "x"),
        collected=(CollectedTest(nodeid=A),),
        phases=said,
    )
    assert examine(run, None).tests == ()


def test_ids_with_lone_surrogates_match_over_all_witnesses() -> None:
    """The channel, both reports and the expected ids spell them alike."""
    odd = "tests/test_checkpoint_1.py::test_a[\udc80 :: ü \ud800]"
    examination = examine(consistent({odd: "passed"}), (odd,))
    assert examination.broken is None
    assert [warning.name for warning in examination.warnings] == ["report_mended"]
    assert outcomes(examination) == {"tests/test_checkpoint_1.py::test_a[\\udc80 :: ü \\ud800]": "passed"}


every_status: st.SearchStrategy[Status] = st.sampled_from(("passed", "failed", "skipped", "error"))
maps = st.dictionaries(st.sampled_from((A, B, C)), every_status, min_size=1)


@settings(deadline=None)
@given(maps, st.none() | maps, st.none() | maps, st.sampled_from((0, 1)), st.booleans())
def test_nothing_passes_that_anybody_denies(
    channel: dict[str, Status],
    json_says: dict[str, Status] | None,
    ctrf_says: dict[str, Status] | None,
    exit_code: int,
    has_channel: bool,
) -> None:
    """A test is passed in a result without breakage only if every witness has it, and as passed."""
    said = {JSON: json_says and json_report(json_says), CTRF: ctrf_says and ctrf_report(ctrf_says)}
    run = changed(
        consistent(channel),
        end=End(exit_code=exit_code, sealed=True),
        reports={name: data for name, data in said.items() if data},
    )
    if not has_channel:
        run = changed(run, collected=None, phases=())
    examination = examine(run, None, has_channel=has_channel)
    witnesses = [*([channel] if has_channel else []), *(says for says in (json_says, ctrf_says) if says)]
    for test in examination.tests:
        if test.status == "passed":
            assert all(says.get(test.nodeid, "passed") == "passed" for says in witnesses)
    if examination.broken is None:
        assert len({frozenset(says) for says in witnesses}) == 1
        assert len(witnesses) > has_channel


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(consistent(MIXED).phases), max_size=12),
    st.none() | st.lists(st.sampled_from((A, B, C)), max_size=4),
    st.none() | st.integers(-2, 140),
    st.none() | st.integers(0, 70),
    st.booleans(),
)
def test_no_run_however_odd_raises_or_passes_unseen(
    said: list[PhaseReport],
    announced: list[str] | None,
    exit_code: int | None,
    signal: int | None,
    has_channel: bool,
) -> None:
    """Any mixture gives an examination, and a pass on it had a passed call on the channel."""
    run = changed(
        end=End(exit_code=exit_code, signal=signal, sealed=True),
        collected=announced and tuple(CollectedTest(nodeid=nodeid) for nodeid in announced),
        phases=tuple(said),
    )
    examination = examine(run, (A, B), has_channel=has_channel)
    called = {seen.nodeid for seen in said if (seen.when, seen.outcome) == ("call", "passed")}
    passed = {test.nodeid for test in examination.tests if test.status == "passed"}
    assert passed <= called or not has_channel
    assert examination.broken is None or examination.broken.kind in FAULTS


def collection(*ids: str, **changes: object) -> Run:
    run = Run(end=End(exit_code=0), collected=tuple(CollectedTest(nodeid=nodeid) for nodeid in ids))
    return changed(run, **changes)


@pytest.mark.parametrize(
    ("runs", "ids"),
    [
        ([collection(A, B), collection(B, A)], (A, B)),
        ([collection(A, B), collection(A)], None),
        ([collection(A), collection(A, end=None)], None),
        ([collection(A), collection(A, end=End(exit_code=2))], None),
        ([collection(A), collection(A, broken=Broken.of(BrokenKind.DAEMON_ERROR, "x"))], None),
        ([collection(), collection()], None),
        ([], None),
    ],
)
def test_expected_ids_are_those_that_collections_agree_on(
    runs: list[Run], ids: tuple[str, ...] | None
) -> None:
    """What is unstable or cannot be collected is unknown, and never held against anybody."""
    assert expected_ids(runs) == ids
