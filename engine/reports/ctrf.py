"""Reads the file that pytest-json-ctrf writes: one entry a test, without phases.

`name` is the whole node id; older writers put only the test's own name there, and its file beside it.
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
    text_of,
)
from engine.results import Status

T = TypeVar("T")

_STATUSES: Mapping[str, Status] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "error",
}


class _Test(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    status: str
    raw_status: str | None = None
    duration: float | None = None
    stop: int | None = None
    file_path: str | None = None
    tags: tuple[str, ...] | None = None
    message: msgspec.Raw = msgspec.Raw()
    trace: msgspec.Raw = msgspec.Raw()


class _Summary(msgspec.Struct, frozen=True, kw_only=True):
    tests: int | None = None


class _Results(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    tests: tuple[T, ...]
    summary: _Summary = _Summary()


class _Content(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    results: _Results[T]


_DECODER = msgspec.json.Decoder(_Content[_Test])
_LOOSE_DECODER = msgspec.json.Decoder(_Content[msgspec.Raw])
_TEST_DECODER = msgspec.json.Decoder(_Test)


def decode(data: bytes) -> Report | Undecodable:
    """Read a report of pytest-json-ctrf."""
    document = read(data, _DECODER)
    if isinstance(document, Document):
        return _report(document, Entries(tests=tuple(map(_reported, document.content.results.tests))))
    loose = read(data, _LOOSE_DECODER)
    if isinstance(loose, Undecodable):
        return loose
    return _report(loose, read_one_by_one(loose.content.results.tests, _TEST_DECODER, _reported))


def _report(document: Document[_Content[T]], entries: Entries) -> Report:
    results = document.content.results
    return Report(
        tests=entries.tests,
        unnamed=entries.unnamed,
        warnings=document.repairs + entries.warnings + tuple(_count_warnings(results)),
    )


def _count_warnings(results: _Results[T]) -> Iterator[str]:
    total = results.summary.tests
    if total is not None and total != len(results.tests):
        yield f"its summary counts {total} tests, and it lists {len(results.tests)}"


def _reported(test: _Test) -> ReportedTest:
    status = _status(test)
    return ReportedTest(
        nodeid=_nodeid(test),
        status=status,
        duration_ms=milliseconds((test.duration or 0.0) / 1000),
        message=None if status == "passed" else _message(test),
        tags=tuple(dict.fromkeys(tag.partition("::")[0] for tag in test.tags or ())),
        certain=test.status in _STATUSES,
    )


def _status(test: _Test) -> Status:
    status = _STATUSES.get(test.status, "error")
    if status == "passed" and test.stop == 0:
        # The writer sets `stop` when the last phase ends: an interrupted test has none.
        return "error"
    if status == "failed" and (test.raw_status or "").startswith(("setup_", "teardown_")):
        return "error"
    return status


def _nodeid(test: _Test) -> str:
    # Parameters may hold anything, also "::".
    file, separator, _ = test.name.partition("[")[0].partition("::")
    if not test.file_path or (separator and file.endswith(".py")):
        return test.name
    return f"{test.file_path}::{test.name}"


def _message(test: _Test) -> str | None:
    if test.status == "passed":
        return "the test was interrupted: it has no end"
    texts = (text_of(test.message), text_of(test.trace))
    return readable(texts[0] or texts[1]) if test.status == "skipped" else readable(texts[1] or texts[0])
