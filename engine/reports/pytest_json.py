"""Reads the file that pytest-json-report writes: the phases of each test, exit code, collection errors.

Only the fields that are used are named, so that everything else is skipped without being built.
Messages stay raw bytes of the file until one is needed.
"""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from engine.reports.document import (
    Document,
    Entries,
    Report,
    ReportedTest,
    Undecodable,
    milliseconds,
    read,
    read_one_by_one,
    readable,
    skip_reason,
    text_of,
)
from engine.results import Status

T = TypeVar("T")

# Other words ("rerun", "subtests passed") hide the outcome that came before or after them.
_STATUSES: Mapping[str, Status] = {
    "passed": "passed",
    "xpassed": "passed",
    "failed": "failed",
    "error": "error",
    "skipped": "skipped",
    "xfailed": "skipped",
}


class _Phase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    outcome: str
    duration: float = 0.0
    longrepr: msgspec.Raw = msgspec.Raw()


class _Test(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    nodeid: str
    outcome: str
    setup: _Phase | None = None
    call: _Phase | None = None
    teardown: _Phase | None = None


class _Collector(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    nodeid: str
    outcome: str
    longrepr: msgspec.Raw = msgspec.Raw()


class _Summary(msgspec.Struct, frozen=True, kw_only=True):
    total: int | None = None
    collected: int | None = None
    deselected: int = 0


class _Content(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    tests: tuple[T, ...]
    exitcode: int
    summary: _Summary = _Summary()
    collectors: tuple[_Collector, ...] = ()


DECODER = msgspec.json.Decoder(_Content[_Test])
_LOOSE_DECODER = msgspec.json.Decoder(_Content[msgspec.Raw])
_TEST_DECODER = msgspec.json.Decoder(_Test)


def decode(data: bytes) -> Report | Undecodable:
    """Read a report of pytest-json-report."""
    document = read(data, DECODER)
    if isinstance(document, Document):
        return _report(document, Entries(tests=tuple(map(_reported, document.content.tests))))
    loose = read(data, _LOOSE_DECODER)
    if isinstance(loose, Undecodable):
        return loose
    return _report(loose, read_one_by_one(loose.content.tests, _TEST_DECODER, _reported))


def _report(document: Document[_Content[T]], entries: Entries) -> Report:
    content = document.content
    collected = content.summary.collected
    return Report(
        tests=entries.tests,
        unnamed=entries.unnamed,
        exit_code=content.exitcode,
        collected=None if collected is None else collected - content.summary.deselected,
        collection_errors=tuple(_collection_errors(content.collectors)),
        warnings=document.repairs + entries.warnings + tuple(_count_warnings(content)),
    )


def _count_warnings(content: _Content[T]) -> Iterator[str]:
    total = content.summary.total
    if total is not None and total != len(content.tests):
        yield f"its summary counts {total} tests, and it lists {len(content.tests)}"


def _collection_errors(collectors: tuple[_Collector, ...]) -> Iterator[str]:
    for collector in collectors:
        if collector.outcome == "failed":
            message = readable(text_of(collector.longrepr)) or "no message"
            yield f"{collector.nodeid or 'the session'}: {message}"


def _reported(test: _Test) -> ReportedTest:
    setup, call, teardown = test.setup, test.call, test.teardown
    status = _STATUSES.get(test.outcome)
    if (
        status == "passed"
        and setup is not None
        and call is not None
        and teardown is not None
        and setup.outcome == call.outcome == teardown.outcome == "passed"
    ):
        duration_ms = milliseconds(setup.duration + call.duration + teardown.duration)
        return ReportedTest(nodeid=test.nodeid, status="passed", duration_ms=duration_ms, has_call=True)
    phases = (phase for phase in (setup, call, teardown) if phase is not None)
    return ReportedTest(
        nodeid=test.nodeid,
        # Passed is never guessed: an interrupted test is called passed here though it never ended.
        status="error" if status is None or status == "passed" else status,
        duration_ms=milliseconds(sum(phase.duration for phase in phases)),
        message=_message(test) or _explanation(test),
        has_call=call is not None,
        certain=status is not None,
    )


def _message(test: _Test) -> str | None:
    phases = (("setup", test.setup), ("call", test.call), ("teardown", test.teardown))
    parts = (_part(name, phase) for name, phase in phases if phase is not None and phase.outcome != "passed")
    return readable("\n\n".join(filter(None, parts)))


def _part(name: str, phase: _Phase) -> str:
    text = text_of(phase.longrepr)
    if phase.outcome == "skipped":
        return skip_reason(text)
    return f"in {name}:\n{text}" if text and name != "call" else text


def _explanation(test: _Test) -> str | None:
    if test.outcome in ("passed", "xpassed"):
        return "the test was interrupted: not all of its phases ran and passed"
    if test.outcome not in _STATUSES:
        return f"the report says only {test.outcome[:100]!r}, which hides the outcome"
    return None
