"""How pytest ended, as far as that alone makes a run impossible to judge.

`ENDINGS` is a table of checks in order: the first that gives a reason wins. Whatever the submission
could have brought about is its own fault, or breaking the grader would be the cheapest way to leave a
statistic.
"""

import signal
from collections.abc import Callable

from engine.evidence import Evidence
from engine.results import Broken, BrokenKind, Fault


def _sandbox_said(evidence: Evidence) -> Broken | None:
    broken = evidence.run.broken
    if broken is None or broken.kind is not BrokenKind.EVALUATION_TIMEOUT or evidence.begun:
        return broken
    # Until tests begin, nothing of the submission has run: it was the machine that took so long.
    detail = f"{broken.detail}, before any test had begun"
    return Broken(kind=broken.kind, fault=Fault.INFRASTRUCTURE, detail=detail)


def _no_end(evidence: Evidence) -> Broken | None:
    if evidence.run.end is not None:
        return None
    return Broken.of(BrokenKind.DAEMON_ERROR, "the sandbox ended without its last word, the end frame")


def _seal_failed(evidence: Evidence) -> Broken | None:
    if evidence.end.seal_error is None:
        return None
    return Broken.of(BrokenKind.SEAL_FAILED, evidence.end.seal_error)


def _tampered(evidence: Evidence) -> Broken | None:
    if not evidence.end.tampered:
        return None
    return Broken.of(BrokenKind.TAMPERED, "; ".join(evidence.end.tampered))


def _session_limit(evidence: Evidence) -> Broken | None:
    if evidence.end.limit != "session":
        return None
    if not evidence.begun and evidence.has_channel:
        detail = "collecting the tests did not end within the limit of the session"
        return evidence.blame(BrokenKind.COLLECTION_ERROR, detail)
    return Broken.of(
        BrokenKind.SESSION_TIMEOUT, f"the limit of the session ended pytest{evidence.progress()}"
    )


def _killed(evidence: Evidence) -> Broken | None:
    number = _signal_number(evidence)
    if number is None:
        return None
    name = _signal_name(number)
    return _exhausted(evidence, f"pytest was killed by {name}") or Broken.of(
        BrokenKind.GRADER_KILLED,
        f"pytest was killed by {name}, which the engine did not send{evidence.progress()}",
    )


def _signal_number(evidence: Evidence) -> int | None:
    end = evidence.end
    if end.signal is not None:
        return end.signal
    # Where something stands between the launcher and pytest, it passes a signal on as 128 and more.
    code = end.exit_code
    return code - 128 if code is not None and 128 < code <= 128 + max(signal.Signals) else None


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"


def _exhausted(evidence: Evidence, what: str) -> Broken | None:
    exhausted = evidence.exhausted()
    return Broken.of(exhausted[0], f"{what}; {exhausted[1]}") if exhausted else None


_EXIT_CODES = {
    3: (BrokenKind.INTERNAL_ERROR, "pytest had an internal error"),
    4: (BrokenKind.USAGE_ERROR, "pytest refused its arguments or a conftest.py"),
    5: (BrokenKind.NO_TESTS, "pytest found no tests"),
}


def _never_started(evidence: Evidence) -> Broken | None:
    began = b"test session starts" in evidence.run.stdout.head
    if evidence.has_channel or began or evidence.reports or evidence.end.exit_code not in (1, 2):
        return None
    # Before pytest prints its first line nothing of the submission has run.
    detail = f"uvx did not get as far as pytest (exit code {evidence.end.exit_code}){evidence.last_words()}"
    return Broken.of(BrokenKind.TOOLCHAIN_UNRESOLVABLE, detail)


def _exit_code(evidence: Evidence) -> Broken | None:
    code = evidence.end.exit_code
    if code in (0, 1):
        return None
    if code is None:
        return Broken.of(BrokenKind.DAEMON_ERROR, "it is not known how pytest ended")
    if exhausted := _exhausted(evidence, f"pytest ended with exit code {code}"):
        return exhausted
    if code == 2:
        return _interrupted(evidence)
    if code in _EXIT_CODES:
        kind, detail = _EXIT_CODES[code]
        return evidence.blame(kind, f"{detail} (exit code {code}){evidence.last_words()}")
    kind = BrokenKind.GRADER_KILLED if evidence.begun else BrokenKind.INTERNAL_ERROR
    return Broken.of(
        kind, f"pytest ended with exit code {code}, which is none of its own{evidence.progress()}"
    )


def _interrupted(evidence: Evidence) -> Broken:
    errors = evidence.collection_errors()
    untold = not evidence.channel and "pytest-report.json" in evidence.unreadable
    if errors or untold or not evidence.begun:
        detail = errors or f"pytest could not collect the tests (exit code 2){evidence.last_words()}"
        return evidence.blame(BrokenKind.COLLECTION_ERROR, detail)
    # A signal of the submission and a pytest.exit() of the tests cannot be told apart.
    detail = f"pytest was interrupted (exit code 2){evidence.progress()}"
    return Broken.of(BrokenKind.GRADER_KILLED, detail)


ENDINGS: tuple[Callable[[Evidence], Broken | None], ...] = (
    _sandbox_said,
    _no_end,
    _seal_failed,
    _tampered,
    _session_limit,
    _killed,
    _never_started,
    _exit_code,
)
