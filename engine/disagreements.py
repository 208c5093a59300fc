"""Where the witnesses of a run contradict each other, though pytest ended with 0 or 1.

`DISAGREEMENTS` is a table in order: each row has a name and a kind, and the first with a kind that finds
something makes the run impossible to judge. A row without a kind is a warning that goes along with the
verdict. `find` returns what it found, in words, or nothing.
"""

from collections import Counter
from collections.abc import Callable

import msgspec

from engine.evidence import Evidence, some
from engine.results import BrokenKind


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which the witnesses can contradict each other."""

    name: str
    find: Callable[[Evidence], str]
    # None makes it a warning.
    kind: BrokenKind | None = None


def _never_collected(evidence: Evidence) -> str:
    if not evidence.has_channel or evidence.announced is not None or evidence.reports:
        return ""
    return f"pytest ended before it had collected any test{evidence.last_words()}"


def _never_announced(evidence: Evidence) -> str:
    if not evidence.has_channel or evidence.announced is not None:
        return ""
    return "there are reports of tests that pytest never announced"


def _cut_off(evidence: Evidence) -> str:
    unfinished = [nodeid for nodeid, test in evidence.channel.items() if not test.finished]
    if unfinished:
        return f"pytest ended in the middle of {some(unfinished)}{evidence.last_words()}"
    if evidence.reports or not _not_run(evidence):
        return ""
    return f"pytest ended without a report{evidence.progress()}{evidence.last_words()}"


def _session_over(evidence: Evidence) -> str:
    said_so = b"session-timeout:" in evidence.run.stdout.head + evidence.run.stdout.tail
    # Without a channel, what was not run may not have been announced either.
    missing = _not_run(evidence) or ("" if evidence.has_channel else _vanished(evidence))
    return f"the limit of the session ended pytest{evidence.progress()}" if said_so and missing else ""


def _not_run(evidence: Evidence) -> str:
    if evidence.announced is not None:
        return some(set(evidence.announced) - evidence.channel.keys(), "announced and never run")
    report = next(iter(evidence.reports.values()), None)
    if evidence.has_channel or report is None or report.collected is None:
        return ""
    missing = report.collected - len(report.tests) - report.unnamed
    return f"{missing} tests were collected and never run" if missing > 0 else ""


def _unannounced(evidence: Evidence) -> str:
    return some(evidence.channel.keys() - set(evidence.announced or ()), "ran and were never announced")


def _disk_was_full(evidence: Evidence) -> str:
    return "the reports could not be written" if evidence.end.disk_full and not evidence.reports else ""


def _no_report(evidence: Evidence) -> str:
    absent = all(report.reason == "missing" for report in evidence.unreadable.values())
    return evidence.unreadable_reports() if absent and not evidence.reports else ""


def _no_good_report(evidence: Evidence) -> str:
    return "" if evidence.reports else evidence.unreadable_reports()


def _vanished(evidence: Evidence) -> str:
    if evidence.expected is None:
        return ""
    return some(evidence.expected - _collected(evidence), "are there only without the submission")


def _report_lacks(evidence: Evidence) -> str:
    for name, report in evidence.reports.items():
        lacking = evidence.reference.keys() - evidence.witnesses[name].keys()
        if len(lacking) > report.unnamed:
            return some(lacking, f"are not in {name}")
    return ""


def _report_invents(evidence: Evidence) -> str:
    for name in evidence.reports:
        if invented := evidence.witnesses[name].keys() - evidence.reference.keys():
            return some(invented, f"are only in {name}")
    return ""


def _report_repeats(evidence: Evidence) -> str:
    for name, report in evidence.reports.items():
        if len(report.tests) != len(evidence.witnesses[name]):
            return f"{name} has more than one entry for a test"
    return ""


def _outcomes_differ(evidence: Evidence) -> str:
    disputed = (nodeid for nodeid in evidence.reference if _is_disputed(evidence, nodeid))
    return some(_contradiction(evidence, nodeid) for nodeid in disputed)


def _is_disputed(evidence: Evidence, nodeid: str) -> bool:
    return len({said.status == "passed" for said in evidence.certain(nodeid).values()}) > 1


def _contradiction(evidence: Evidence, nodeid: str) -> str:
    said = ", ".join(f"{name} says {test.status}" for name, test in evidence.certain(nodeid).items())
    return f"{nodeid} ({said})"


def _success_with_failures(evidence: Evidence) -> str:
    failures = evidence.with_status("failed", "error") if evidence.end.exit_code == 0 else ()
    return some(failures, "failed, though pytest ended with exit code 0")


# Warnings.


def _unexpected(evidence: Evidence) -> str:
    if evidence.expected is None:
        return ""
    return some(_collected(evidence) - evidence.expected, "are there only with the submission")


def _expected_unknown(evidence: Evidence) -> str:
    return "it is not known which tests there should be" if evidence.expected is None else ""


def _unsealed(evidence: Evidence) -> str:
    if evidence.end.imported:
        return some(evidence.end.imported, "of the submission ran inside the grader")
    return "" if evidence.end.sealed else "tests and submission were not kept apart by the kernel"


def _commands_ended(evidence: Evidence) -> str:
    count = evidence.end.command_limits
    return f"the limit of one command ended {count} of those that tests had started" if count else ""


def _mended(evidence: Evidence) -> str:
    return "; ".join(
        f"{name}: {warning}" for name, report in evidence.reports.items() for warning in report.warnings
    )


def _failures_vary(evidence: Evidence) -> str:
    varying = (nodeid for nodeid in evidence.reference if _varies(evidence, nodeid))
    return some(_contradiction(evidence, nodeid) for nodeid in varying)


def _varies(evidence: Evidence, nodeid: str) -> bool:
    # A test with subtests may fail and skip at once, and each report keeps another part of that.
    if evidence.reference[nodeid].subtests:
        return False
    return len({said.status == "skipped" for said in evidence.certain(nodeid).values()}) > 1


def _duplicates(evidence: Evidence) -> str:
    announced = evidence.announced or ()
    return some((nodeid for nodeid, count in Counter(announced).items() if count > 1), "announced twice")


def _reruns(evidence: Evidence) -> str:
    repeated = (nodeid for nodeid, test in evidence.channel.items() if test.attempts > 1)
    return some(repeated, "ran more than once")


def _collected_differs(evidence: Evidence) -> str:
    said = {report.collected for report in evidence.reports.values()} - {None}
    if evidence.announced is None or said <= {len(evidence.announced)}:
        return ""
    return f"{len(evidence.announced)} tests were announced, and a report counts {said}"


def _failure_unexplained(evidence: Evidence) -> str:
    unexplained = evidence.end.exit_code == 1 and not evidence.with_status("failed", "error")
    return "pytest ended with exit code 1, and no test failed" if unexplained else ""


def _exit_code_rewritten(evidence: Evidence) -> str:
    said = {report.exit_code for report in evidence.reports.values()} - {None, evidence.end.exit_code}
    return f"pytest ended with exit code {evidence.end.exit_code}, and a report says {said}" if said else ""


def _exhausted(evidence: Evidence) -> str:
    exhausted = evidence.exhausted()
    return exhausted[1] if exhausted else ""


def _stopped(evidence: Evidence) -> str:
    return f"signals stopped pytest {evidence.end.stopped} times" if evidence.end.stopped else ""


def _markers_unknown(evidence: Evidence) -> str:
    if evidence.has_channel:
        return ""
    marked = (nodeid for said in evidence.witnesses.values() for nodeid, test in said.items() if test.markers)
    skipped = evidence.with_status("skipped").difference(marked)
    return some(skipped, "were skipped, and no report has their markers")


def _collected(evidence: Evidence) -> frozenset[str]:
    return frozenset(evidence.reference if evidence.announced is None else evidence.announced)


DISAGREEMENTS: tuple[Disagreement, ...] = (
    Disagreement(name="collection_errors", kind=BrokenKind.COLLECTION_ERROR, find=Evidence.collection_errors),
    Disagreement(name="never_collected", kind=BrokenKind.INTERNAL_ERROR, find=_never_collected),
    Disagreement(name="never_announced", kind=BrokenKind.TAMPERED, find=_never_announced),
    Disagreement(name="session_over", kind=BrokenKind.SESSION_TIMEOUT, find=_session_over),
    Disagreement(name="cut_off", kind=BrokenKind.GRADER_KILLED, find=_cut_off),
    Disagreement(name="not_run", kind=BrokenKind.TAMPERED, find=_not_run),
    Disagreement(name="unannounced", kind=BrokenKind.TAMPERED, find=_unannounced),
    Disagreement(name="out_of_disk", kind=BrokenKind.OUT_OF_DISK, find=_disk_was_full),
    Disagreement(name="no_report", kind=BrokenKind.REPORT_MISSING, find=_no_report),
    Disagreement(name="no_good_report", kind=BrokenKind.REPORT_INVALID, find=_no_good_report),
    Disagreement(name="vanished", kind=BrokenKind.TAMPERED, find=_vanished),
    Disagreement(name="report_repeats", kind=BrokenKind.TAMPERED, find=_report_repeats),
    Disagreement(name="report_lacks", kind=BrokenKind.TAMPERED, find=_report_lacks),
    Disagreement(name="report_invents", kind=BrokenKind.TAMPERED, find=_report_invents),
    Disagreement(name="outcomes_differ", kind=BrokenKind.TAMPERED, find=_outcomes_differ),
    Disagreement(name="success_with_failures", kind=BrokenKind.TAMPERED, find=_success_with_failures),
    Disagreement(name="unexpected_tests", find=_unexpected),
    Disagreement(name="expected_unknown", find=_expected_unknown),
    Disagreement(name="unsealed", find=_unsealed),
    Disagreement(name="command_limit", find=_commands_ended),
    Disagreement(name="report_unreadable", find=Evidence.unreadable_reports),
    Disagreement(name="report_mended", find=_mended),
    Disagreement(name="failures_vary", find=_failures_vary),
    Disagreement(name="duplicate_ids", find=_duplicates),
    Disagreement(name="reruns", find=_reruns),
    Disagreement(name="collected_differs", find=_collected_differs),
    Disagreement(name="failure_unexplained", find=_failure_unexplained),
    Disagreement(name="exit_code_rewritten", find=_exit_code_rewritten),
    Disagreement(name="resources_exhausted", find=_exhausted),
    Disagreement(name="grader_stopped", find=_stopped),
    Disagreement(name="markers_unknown", find=_markers_unknown),
)
