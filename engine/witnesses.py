"""Gathers what the witnesses of a run say: our own channel, and each report that can be read.

A test that the channel saw through several attempts or subtests has the worst outcome of those that
count.
"""

from collections.abc import Iterable, Mapping

from engine.evidence import CHANNEL, Evidence, Testimony
from engine.reports import Report, ReportedTest, Undecodable, decode_all
from engine.reports.document import milliseconds, readable, skip_reason
from engine.results import ObservedTest, Status, printable
from engine.sandbox import End, PhaseReport, Run


def gather(
    run: Run, expected: Iterable[str] | None, *, has_channel: bool, imports_submission: bool
) -> Evidence:
    """Collect what every witness of a run says."""
    decoded = decode_all(run.reports)
    reports = {name: report for name, report in decoded.items() if isinstance(report, Report)}
    witnesses = {CHANNEL: _from_channel(run)} if has_channel else {}
    return Evidence(
        run=run,
        end=run.end or End(exit_code=None),
        has_channel=has_channel,
        imports_submission=imports_submission,
        expected=None if expected is None else frozenset(map(printable, expected)),
        announced=None if run.collected is None else tuple(printable(test.nodeid) for test in run.collected),
        witnesses=witnesses | {name: _from_report(report) for name, report in reports.items()},
        reports=reports,
        unreadable={name: report for name, report in decoded.items() if isinstance(report, Undecodable)},
    )


def observed_tests(evidence: Evidence) -> tuple[ObservedTest, ...]:
    """Return each finished test, passed only if nobody says otherwise."""
    reference = evidence.reference
    return tuple(_observed(evidence, nodeid) for nodeid, test in reference.items() if test.finished)


def _observed(evidence: Evidence, nodeid: str) -> ObservedTest:
    first = evidence.reference[nodeid]
    status = evidence.status(nodeid)
    return ObservedTest(
        nodeid=nodeid,
        status=status,
        duration_ms=first.duration_ms,
        markers=first.markers or _markers(evidence, nodeid),
        message=None if status == "passed" else _message(evidence, nodeid),
    )


def _markers(evidence: Evidence, nodeid: str) -> tuple[str, ...]:
    if evidence.has_channel:
        return ()
    said = (tests[nodeid].markers for tests in evidence.witnesses.values() if nodeid in tests)
    return next(filter(None, said), ())


def _message(evidence: Evidence, nodeid: str) -> str | None:
    # Reports tell it best; the channel's own words are for runs that ended before there was one.
    names = sorted(evidence.witnesses, key=lambda name: name == CHANNEL)
    said = (evidence.witnesses[name].get(nodeid) for name in names)
    return next((testimony.message for testimony in said if testimony and testimony.message), None)


def _from_report(report: Report) -> dict[str, Testimony]:
    tests: dict[str, Testimony] = {}
    # Sorted by severity, so that of several entries for one test the worst is kept.
    for test in sorted(report.tests, key=lambda test: _SEVERITY[test.status]):
        tests[test.nodeid] = _reported(test)
    return {test.nodeid: tests[test.nodeid] for test in report.tests}


def _reported(test: ReportedTest) -> Testimony:
    return Testimony(
        status=test.status,
        duration_ms=test.duration_ms,
        message=test.message,
        markers=test.tags,
        certain=test.certain,
    )


def _from_channel(run: Run) -> dict[str, Testimony]:
    markers = {printable(test.nodeid): test.markers for test in run.collected or ()}
    phases: dict[str, list[PhaseReport]] = {}
    for phase in run.phases:
        phases.setdefault(printable(phase.nodeid), []).append(phase)
    return {nodeid: _witnessed(seen, markers.get(nodeid, ())) for nodeid, seen in phases.items()}


def _witnessed(phases: list[PhaseReport], markers: tuple[str, ...]) -> Testimony:
    attempts = _attempts(phases)
    # A plugin that repeats a failing test says so of each attempt that is to be forgotten. Attempts of
    # which nobody said that (a test that was selected twice) count all.
    counting = [attempt for attempt in attempts if not any(phase.outcome == "rerun" for phase in attempt)]
    last = counting or attempts[-1:]
    status = _worst(_attempt_status(attempt) for attempt in last)
    return Testimony(
        status=status,
        duration_ms=sum(map(_duration_ms, last)),
        message=None if status == "passed" else _channel_message(last),
        markers=markers,
        finished=bool(counting) and all(attempt[-1].when == "teardown" for attempt in last),
        attempts=len(attempts),
        subtests=sum(max(0, len(_calls(attempt)) - 1) for attempt in last),
    )


def _attempts(phases: list[PhaseReport]) -> list[list[PhaseReport]]:
    attempts: list[list[PhaseReport]] = []
    for phase in phases:
        if phase.when == "setup" or not attempts:
            attempts.append([])
        attempts[-1].append(phase)
    return attempts


def _attempt_status(attempt: list[PhaseReport]) -> Status:
    outcomes = {(phase.when == "call", phase.outcome) for phase in attempt}
    if (False, "failed") in outcomes:
        return "error"
    if (True, "failed") in outcomes:
        return "failed"
    if {(True, "skipped"), (False, "skipped")} & outcomes:
        return "skipped"
    # Without a call phase the test's own code never ran.
    return "passed" if outcomes == {(True, "passed"), (False, "passed")} else "error"


_SEVERITY: Mapping[Status, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}


def _worst(statuses: Iterable[Status]) -> Status:
    return max(statuses, key=_SEVERITY.__getitem__)


def _calls(attempt: list[PhaseReport]) -> list[PhaseReport]:
    return [phase for phase in attempt if phase.when == "call"]


def _duration_ms(attempt: list[PhaseReport]) -> float:
    # Subtests report before the test that contains them, whose time includes theirs.
    counting = [phase for phase in attempt if phase.when != "call"] + _calls(attempt)[-1:]
    return sum(milliseconds(phase.duration) for phase in counting)


def _channel_message(attempts: list[list[PhaseReport]]) -> str | None:
    texts = [
        skip_reason(phase.message) if phase.outcome == "skipped" else phase.message
        for attempt in attempts
        for phase in attempt
        if phase.outcome != "passed"
    ]
    return readable("\n\n".join(filter(None, texts)))
